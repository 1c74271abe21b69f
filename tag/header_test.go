package tag_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/tag"
)

// base is an http.RoundTripper made of a function.
type base func(*http.Request) (*http.Response, error)

func (f base) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// closer counts how often its idle connections are closed.
type closer chan struct{}

func (c closer) RoundTrip(*http.Request) (*http.Response, error) { return done() }
func (c closer) CloseIdleConnections()                           { c <- struct{}{} }

func done() (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}, nil
}

func request(ctx context.Context) *http.Request {
	return httptest.NewRequestWithContext(ctx, http.MethodGet, "http://service.example/", nil)
}

// "Tag requests with client name and version, feature that triggered the request, severity of failing the
// request, retry or initial request" (Safe Client Behaviour).
func TestTagsHaveAHeaderEach(t *testing.T) {
	h := http.Header{}
	tags := tag.Tags{Client: "github.com/acme/photos", Version: "2.1.0-rc.1+7", Feature: "thumbnails", Criticality: tag.SheddablePlus, Attempt: 3}
	tag.SetHeader(h, tags)
	assert.Equal(t, http.Header{
		"Aimd-Client": {"github.com/acme/photos"}, "Aimd-Client-Version": {"2.1.0-rc.1+7"}, "Aimd-Feature": {"thumbnails"},
		"Aimd-Criticality": {"sheddable-plus"}, "Aimd-Attempt": {"3"},
	}, h)
	got, err := tag.FromHeader(h)
	require.NoError(t, err)
	assert.Equal(t, tags, got)

	tag.SetHeader(h, tag.Tags{Criticality: tag.CriticalPlus + 1})
	assert.Empty(t, h, "what was there is replaced, and what does not exist not sent")
	got, err = tag.FromHeader(h)
	require.NoError(t, err)
	assert.Zero(t, got)
}

func TestTagsAreMadeFitForAHeader(t *testing.T) {
	h := http.Header{}
	tag.SetHeader(h, tag.Tags{Client: "a b\r\nc", Feature: "größe;" + strings.Repeat("x", 200), Attempt: 12_345_678})
	got, err := tag.FromHeader(h)
	require.NoError(t, err)
	assert.Equal(t, tag.Tags{Client: "a_b__c", Feature: "gr__e_" + strings.Repeat("x", 122), Attempt: 999_999}, got)
}

func TestMalformedTagsCountAsNotGiven(t *testing.T) {
	for _, c := range []struct {
		header, value, err string
	}{
		{"Aimd-Client", "", `Aimd-Client: "" is not allowed, want 1 to 128 visible ASCII characters other than " , ; \`},
		{"Aimd-Client", "a b", `Aimd-Client: "a b" is not allowed`},
		{"Aimd-Client", "a,b", `Aimd-Client: "a,b" is not allowed`},
		{"Aimd-Client-Version", "\x7f", `Aimd-Client-Version: "\x7f" is not allowed`},
		{"Aimd-Feature", "ü", `Aimd-Feature: "ü" is not allowed`},
		{"Aimd-Feature", "\xff", `Aimd-Feature: "\xff" is not allowed`},
		{"Aimd-Feature", strings.Repeat("x", 129), `Aimd-Feature: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" is not allowed`},
		{"Aimd-Criticality", "Critical", `Aimd-Criticality: criticality: "Critical" is not allowed, want sheddable, sheddable-plus, critical or critical-plus`},
		{"Aimd-Attempt", "0", `Aimd-Attempt: "0" is not allowed, want a number from 1 to 999999`},
		{"Aimd-Attempt", "01", `Aimd-Attempt: "01" is not allowed`},
		{"Aimd-Attempt", "+1", `Aimd-Attempt: "+1" is not allowed`},
		{"Aimd-Attempt", "1000000", `Aimd-Attempt: "1000000" is not allowed`},
		{"Aimd-Attempt", "", `Aimd-Attempt: "" is not allowed`},
	} {
		h := http.Header{}
		tag.SetHeader(h, tag.Tags{Client: "photos", Version: "1", Feature: "f", Criticality: tag.Sheddable, Attempt: 2})
		good, err := tag.FromHeader(h)
		require.NoError(t, err)
		h[c.header] = []string{c.value}
		got, err := tag.FromHeader(h)
		assert.ErrorContains(t, err, "tag: "+c.err)
		assert.NotEqual(t, good, got)
		delete(h, c.header)
		want, err := tag.FromHeader(h)
		require.NoError(t, err)
		assert.Equal(t, want, got, "%s: %q: the others are good all the same", c.header, c.value)
	}
	got, err := tag.FromHeader(http.Header{"Aimd-Criticality": {"sheddable", "critical-plus"}, "Aimd-Client": {"a"}})
	assert.EqualError(t, err, "tag: Aimd-Criticality: given 2 times, want once")
	assert.Equal(t, tag.Tags{Client: "a"}, got)
}

func TestTaggerTellsAboutEveryRequest(t *testing.T) {
	var header http.Header
	tagger, err := tag.NewTagger(base(func(r *http.Request) (*http.Response, error) {
		header = r.Header
		return done()
	}), "photos", "2.1")
	require.NoError(t, err)
	send := func(ctx context.Context, set ...string) tag.Tags {
		t.Helper()
		req := request(ctx)
		for i := 0; i < len(set); i += 2 {
			req.Header.Set(set[i], set[i+1])
		}
		before := req.Header.Clone()
		_, err := tagger.RoundTrip(req)
		require.NoError(t, err)
		require.Equal(t, before, req.Header, "a RoundTripper changes no request")
		got, err := tag.FromHeader(header)
		require.NoError(t, err)
		return got
	}
	ctx := t.Context()
	assert.Equal(t, tag.Tags{Client: "photos", Version: "2.1"}, send(ctx))
	ctx = tag.WithFeature(tag.WithCriticality(ctx, tag.Sheddable), "nightly")
	assert.Equal(t, tag.Tags{Client: "photos", Version: "2.1", Feature: "nightly", Criticality: tag.Sheddable}, send(ctx))
	assert.Equal(t, "mine", send(ctx, "Aimd-Feature", "mine").Feature, "what the request has already stays")
	lim := attempttest.Limiter(t, aimd.Config{})
	require.NoError(t, lim.Do(ctx, func(ctx context.Context) error {
		assert.Equal(t, 1, send(ctx).Attempt, "Do says which it is")
		return nil
	}))

	// In the service of a request of somebody else.
	ctx = tag.NewContext(ctx, tag.Tags{Client: "browser", Version: "7", Feature: "album", Criticality: tag.CriticalPlus, Attempt: 3})
	assert.Equal(t, tag.Tags{Client: "photos", Version: "2.1", Feature: "album", Criticality: tag.CriticalPlus, Attempt: 3},
		send(ctx), "its feature and criticality, our name")
}

// What a gateway relays stays as its client said it, as long as it is true.
func TestAddTags(t *testing.T) {
	ours := tag.Tags{Client: "gateway", Version: "3", Feature: "relay", Criticality: tag.Sheddable, Attempt: 2}
	for _, c := range []struct {
		name string
		has  http.Header
		want tag.Tags
	}{
		{"nothing", http.Header{}, ours},
		{"a client without a version", http.Header{"Aimd-Client": {"tv"}}, tag.Tags{Client: "tv", Feature: "relay", Criticality: tag.Sheddable, Attempt: 2}},
		{"a version", http.Header{"Aimd-Client-Version": {"4"}}, tag.Tags{Client: "gateway", Version: "4", Feature: "relay", Criticality: tag.Sheddable, Attempt: 2}},
		{"a feature and a criticality", http.Header{"Aimd-Feature": {"album"}, "Aimd-Criticality": {"critical-plus"}},
			tag.Tags{Client: "gateway", Version: "3", Feature: "album", Criticality: tag.CriticalPlus, Attempt: 2}},
		{"an initial request, which is now a retry", http.Header{"Aimd-Attempt": {"1"}}, ours},
		{"a later retry", http.Header{"Aimd-Attempt": {"3"}}, tag.Tags{Client: "gateway", Version: "3", Feature: "relay", Criticality: tag.Sheddable, Attempt: 3}},
		{"none of it is to be sent", http.Header{"Aimd-Client": nil, "Aimd-Feature": nil, "Aimd-Criticality": nil, "Aimd-Attempt": nil}, tag.Tags{}},
	} {
		tag.AddHeader(c.has, ours)
		got, err := tag.FromHeader(c.has)
		require.NoError(t, err)
		assert.Equal(t, c.want, got, c.name)
	}
	malformed := http.Header{"Aimd-Attempt": {"many"}}
	tag.AddHeader(malformed, ours)
	assert.Equal(t, "many", malformed.Get("Aimd-Attempt"), "left alone")
}

func TestTaggerOfNobody(t *testing.T) {
	var got http.Header
	tagger, err := tag.NewTagger(base(func(req *http.Request) (*http.Response, error) {
		got = req.Header
		return done()
	}), "", "")
	require.NoError(t, err)
	req := request(tag.NewContext(t.Context(), tag.Tags{Client: "a", Version: "b"}))
	req.Header = nil
	_, err = tagger.RoundTrip(req)
	require.NoError(t, err)
	assert.Equal(t, http.Header{"Aimd-Client": {"a"}, "Aimd-Client-Version": {"b"}, "Aimd-Criticality": {"critical"}}, got)
	(&http.Client{Transport: tagger}).CloseIdleConnections() // the base has none
	closed := make(closer, 1)
	tagger, err = tag.NewTagger(closed, "", "")
	require.NoError(t, err)
	(&http.Client{Transport: tagger}).CloseIdleConnections()
	assert.Len(t, closed, 1)
	_, err = tag.NewTagger(nil, "", "2.1")
	assert.EqualError(t, err, `tag: version: "2.1" without a client is not allowed, want none`, "it would be the version of whoever the context names")

	_, err = tag.NewTagger(nil, "my program", "")
	assert.EqualError(t, err, `tag: client: "my program" is not allowed, want 1 to 128 visible ASCII characters other than " , ; \`)
	_, err = tag.NewTagger(nil, "", "1;2")
	assert.ErrorContains(t, err, `tag: version: "1;2" is not allowed`)
}

// FuzzParseTags: whatever comes, what is read is what the grammar allows, and it comes back the same when
// it is written and read again.
func FuzzParseTags(f *testing.F) {
	f.Add("photos", "2.1", "thumbnails", "critical", "1", false)
	f.Add("a b", "\x00", strings.Repeat("x", 130), "urgent", "01", true)
	f.Fuzz(func(t *testing.T, client, version, feature, criticality, attempt string, twice bool) {
		h := http.Header{}
		for name, v := range map[string]string{
			"Aimd-Client": client, "Aimd-Client-Version": version, "Aimd-Feature": feature,
			"Aimd-Criticality": criticality, "Aimd-Attempt": attempt,
		} {
			h[name] = []string{v}
			if twice {
				h[name] = []string{v, v}
			}
		}
		got, err := tag.FromHeader(h)
		if twice {
			require.Error(t, err)
			require.Zero(t, got)
		}
		for _, name := range []string{got.Client, got.Version, got.Feature} {
			require.LessOrEqual(t, len(name), 128)
			require.NotContains(t, name, " ")
		}
		require.True(t, tag.Sheddable <= got.Criticality && got.Criticality <= tag.CriticalPlus)
		require.True(t, got.Attempt >= 0 && got.Attempt < 1_000_000)
		require.Less(t, len(fmt.Sprint(err)), 2000, "an error does not grow with what a client sends")

		again := http.Header{}
		tag.SetHeader(again, got)
		back, err := tag.FromHeader(again)
		require.NoError(t, err)
		require.Equal(t, got, back)
	})
}

// FuzzSetTags: whatever a program has for tags, the headers are well formed.
func FuzzSetTags(f *testing.F) {
	f.Add("photos", "2.1", "thumbnails", int8(0), 1)
	f.Add("a\r\nb", "ü", strings.Repeat("ü", 100), int8(7), -1)
	f.Fuzz(func(t *testing.T, client, version, feature string, criticality int8, attempt int) {
		h := http.Header{}
		tag.SetHeader(h, tag.Tags{Client: client, Version: version, Feature: feature, Criticality: tag.Criticality(criticality), Attempt: attempt})
		got, err := tag.FromHeader(h)
		require.NoError(t, err)
		require.Equal(t, client == "", got.Client == "")
		require.Equal(t, attempt > 1, got.Attempt > 1)
	})
}

func ExampleNewTagger() {
	// The server, here in the same program, reads what it is told.
	server := base(func(req *http.Request) (*http.Response, error) {
		tags, err := tag.FromHeader(req.Header)
		fmt.Printf("%+v %v\n", tags, err)
		return done()
	})

	tagger, err := tag.NewTagger(server, "photos", "2.1")
	if err != nil {
		panic(err)
	}
	client := &http.Client{Transport: tagger}
	ctx := tag.WithCriticality(tag.WithFeature(context.Background(), "thumbnails"), tag.SheddablePlus)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://photos.example/", nil)
	if err != nil {
		panic(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		panic(err)
	}
	resp.Body.Close()
	// Output: {Client:photos Version:2.1 Feature:thumbnails Criticality:sheddable-plus Attempt:0} <nil>
}

func TestCriticalityHasANameEachAndAnOrder(t *testing.T) {
	for c := tag.Sheddable; c <= tag.CriticalPlus; c++ {
		text, err := c.MarshalText()
		require.NoError(t, err)
		back := tag.CriticalPlus + 1
		require.NoError(t, back.UnmarshalText(text))
		assert.Equal(t, c, back)
	}
	err := new(tag.Criticality).UnmarshalText([]byte("urgent"))
	assert.EqualError(t, err, `criticality: "urgent" is not allowed, want sheddable, sheddable-plus, critical or critical-plus`)
	_, err = tag.Criticality(7).MarshalText()
	assert.EqualError(t, err, "criticality: 7 is not allowed, want a number from -2 to 1")
	c := tag.Sheddable
	require.Error(t, c.UnmarshalText([]byte("x")))
	assert.Equal(t, tag.Sheddable, c, "a wrong name changes nothing")
	assert.Equal(t, "Criticality(7)", tag.Criticality(7).String())
}

func ExampleWithCriticality() {
	ctx := tag.NewContext(context.Background(), tag.Tags{Client: "photos", Version: "2.1"})
	background := tag.WithCriticality(tag.WithFeature(ctx, "thumbnails"), tag.SheddablePlus)
	fmt.Printf("%+v\n", tag.FromContext(background))
	// Output: {Client:photos Version:2.1 Feature:thumbnails Criticality:sheddable-plus Attempt:0}
}

func ExampleCriticality_UnmarshalText() {
	var c tag.Criticality // from a flag, or a file of settings
	fmt.Println(c.UnmarshalText([]byte("sheddable-plus")), c, c < tag.Critical)
	fmt.Println(c.UnmarshalText([]byte("urgent")))
	// Output:
	// <nil> sheddable-plus true
	// criticality: "urgent" is not allowed, want sheddable, sheddable-plus, critical or critical-plus
}

// A handler decides by what the server found in the request's headers.
func ExampleFromContext() {
	ctx := tag.NewContext(context.Background(), tag.Tags{Client: "photos", Attempt: 2})
	tags := tag.FromContext(ctx)
	fmt.Println(tags.Client, tags.Criticality, tags.Attempt)
	// Output: photos critical 2
}
