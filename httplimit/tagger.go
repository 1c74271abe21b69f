package httplimit

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/setting"
	"github.com/aimd-go/aimd/tag"
)

// Tagger is an http.RoundTripper that tells the server about each request, in
// the headers of [SetTags]: which client sends it, and from the request's context (package
// tag) its feature and its criticality, and which attempt it is
// (attempt.Number, attempt.WithRetry).
//
// What the headers of a request say already stays, see [AddTags]. What retries stands
// above the Tagger, so that each attempt comes by here; a [Retrier] and the Transport of
// [Client] may stand below it too, and number the attempts. It is safe for any number of
// goroutines. Make one with [NewTagger].
type Tagger struct {
	beneath
	client, version string
}

// NewTagger returns a Tagger for a program with that name and version, which may be
// empty. Without a name, name and version are those of the context, if it has
// any. base does the sending; nil means what http.DefaultTransport is now. The error
// says what is wrong with a name.
func NewTagger(base http.RoundTripper, client, version string) (*Tagger, error) {
	for _, n := range []struct{ setting, value string }{{"client", client}, {"version", version}} {
		if n.value != "" && !isName(n.value) {
			return nil, fmt.Errorf("httplimit: %w", setting.Wrong(n.setting, strconv.Quote(shown(n.value)), wantName, longestName))
		}
	}
	if client == "" && version != "" {
		return nil, fmt.Errorf("httplimit: %w", setting.Wrong("version", strconv.Quote(version)+" without a client", "none"))
	}
	return &Tagger{over(base), client, version}, nil
}

// RoundTrip sends the request with its tags.
func (t *Tagger) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	tagged := req.WithContext(ctx) // a copy: a RoundTripper changes no request
	if tagged.Header = req.Header.Clone(); tagged.Header == nil {
		tagged.Header = make(http.Header)
	}
	AddTags(tagged.Header, t.tags(ctx))
	return t.base.RoundTrip(tagged)
}

// tags are those of a request with the context. A request that is made in the
// service of one that was a retry is no better than that; so the attempt is the
// higher of the two numbers.
func (t *Tagger) tags(ctx context.Context) tag.Tags {
	tags := tag.FromContext(ctx)
	if t.client != "" {
		tags.Client, tags.Version = t.client, t.version
	}
	tags.Attempt = max(tags.Attempt, attempt.Number(ctx))
	return tags
}
