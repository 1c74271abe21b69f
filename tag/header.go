package tag

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/check"
)

const (
	headerClient        = "Aimd-Client"
	headerClientVersion = "Aimd-Client-Version"
	headerFeature       = "Aimd-Feature"
	headerCriticality   = "Aimd-Criticality"
	headerAttempt       = "Aimd-Attempt"
)

const (
	// longestName is the most characters of a name: a module's path fits. Our choice.
	longestName = 128
	// mostAttempts is the highest number of an attempt that is sent. Our choice.
	mostAttempts = 999_999
)

// SetHeader replaces the tags in the header: the criticality always, the others unless they are empty or 0.
// A character that a name may not contain becomes "_", and a long name is cut.
//
// It follows Safe Client Behaviour's "Tag requests with client name and version, feature that triggered
// the request, severity of failing the request, retry or initial request". Each header is given once or
// not at all; in the notation of RFC 9110:
//
//	Aimd-Client         = name
//	Aimd-Client-Version = name
//	Aimd-Feature        = name
//	Aimd-Criticality    = "critical-plus" / "critical" / "sheddable-plus" / "sheddable"
//	Aimd-Attempt        = %x31-39 *5DIGIT                    ; 1 to 999999, 1: the initial request
//	name                = 1*128( %x21-7E except DQUOTE "," ";" "\" )
//
// gRPC metadata has the same names in lower case. In a browser, CORS has to allow them to a page from
// elsewhere.
func SetHeader(h http.Header, t Tags) {
	set := func(name, value string) {
		delete(h, name)
		if value != "" {
			h[name] = []string{value}
		}
	}
	set(headerClient, clean(t.Client))
	set(headerClientVersion, clean(t.Version))
	set(headerFeature, clean(t.Feature))
	criticality, _ := t.Criticality.MarshalText() // empty for one that does not exist
	set(headerCriticality, string(criticality))
	attempt := ""
	if t.Attempt > 0 {
		attempt = strconv.Itoa(min(t.Attempt, mostAttempts))
	}
	set(headerAttempt, attempt)
}

// AddHeader adds the tags that the header lacks, so that a gateway relays tags unchanged. It adds no version to
// another client's name. The higher of two attempts stays.
func AddHeader(h http.Header, t Tags) {
	if _, ok := h[headerClient]; ok {
		t.Client, t.Version = "", ""
	}
	var attempt int
	if v := h[headerAttempt]; len(v) == 1 && parseAttempt(v[0], &attempt) == nil && attempt < t.Attempt {
		delete(h, headerAttempt)
	}
	ours := make(http.Header, 5)
	SetHeader(ours, t)
	for name, value := range ours {
		if _, ok := h[name]; !ok {
			h[name] = value
		}
	}
}

// FromHeader returns the tags in a header. A tag that is malformed, or given more than once, counts as
// missing, and the error names it. The client says them about itself, without proof.
func FromHeader(h http.Header) (Tags, error) {
	var t Tags
	var errs []error
	read := func(header string, parse func(string) error) {
		switch values := h[header]; len(values) {
		case 0:
		case 1:
			if err := parse(values[0]); err != nil {
				errs = append(errs, fmt.Errorf("tag: %s: %w", header, err))
			}
		default:
			errs = append(errs, fmt.Errorf("tag: %s: given %d times, want once", header, len(values)))
		}
	}
	read(headerClient, func(v string) error { return parseName(v, &t.Client) })
	read(headerClientVersion, func(v string) error { return parseName(v, &t.Version) })
	read(headerFeature, func(v string) error { return parseName(v, &t.Feature) })
	read(headerCriticality, func(v string) error { return t.Criticality.UnmarshalText([]byte(shown(v))) })
	read(headerAttempt, func(v string) error { return parseAttempt(v, &t.Attempt) })
	return t, errors.Join(errs...)
}

// wantName is what isName allows, longestName being the number.
const wantName = `1 to %d visible ASCII characters other than " , ; \`

func isName(v string) bool { return v != "" && len(v) <= longestName && clean(v) == v }

func parseName(v string, to *string) error {
	if !isName(v) {
		return fmt.Errorf("%q is not allowed, want "+wantName, shown(v), longestName)
	}
	*to = v
	return nil
}

func parseAttempt(v string, to *int) error {
	if len(v) > 6 || v == "" || v[0] == '0' || strings.Trim(v, "0123456789") != "" {
		return fmt.Errorf("%q is not allowed, want a number from 1 to %d", shown(v), mostAttempts)
	}
	*to, _ = strconv.Atoi(v)
	return nil
}

func shown(v string) string { return v[:min(len(v), 40)] }

// clean is the text as a name, with "_" for characters that a name may not contain.
func clean(text string) string {
	if strings.IndexFunc(text, forbidden) >= 0 {
		text = strings.Map(func(r rune) rune {
			if forbidden(r) {
				return '_'
			}
			return r
		}, text)
	}
	return text[:min(len(text), longestName)]
}

// forbidden reports whether a name may not contain the character: it is not visible ASCII, or it
// separates or quotes in the headers of RFC 9110.
func forbidden(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`",;\`, r) }

// NewTagger returns an http.RoundTripper that adds the headers of [SetHeader] to each request. They have the
// client's name and version, and from the request's context the feature, the criticality and attempt.Number. It is
// safe for any number of goroutines.
//
// Without a name, name and version are the context's. base sends; nil means the present http.DefaultTransport. The
// error names the name that is not allowed.
//
// Headers that a request has already stay, see [AddHeader]. A client that retries stands above the tagger. A client
// of package httplimit may stand below: it numbers the attempts itself.
func NewTagger(base http.RoundTripper, client, version string) (http.RoundTripper, error) {
	for _, n := range []struct{ setting, value string }{{"client", client}, {"version", version}} {
		if n.value != "" && !isName(n.value) {
			return nil, fmt.Errorf("tag: %w", check.Wrong(n.setting, strconv.Quote(shown(n.value)), wantName, longestName))
		}
	}
	if client == "" && version != "" {
		return nil, fmt.Errorf("tag: %w", check.Wrong("version", strconv.Quote(version)+" without a client", "none"))
	}
	return &tagger{cmp.Or(base, http.DefaultTransport), client, version}, nil
}

type tagger struct {
	base            http.RoundTripper
	client, version string
}

// CloseIdleConnections is for http.Client.
func (t *tagger) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func (t *tagger) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	tagged := req.WithContext(ctx) // a copy: a RoundTripper changes no request
	if tagged.Header = req.Header.Clone(); tagged.Header == nil {
		tagged.Header = make(http.Header)
	}
	AddHeader(tagged.Header, t.tags(ctx))
	return t.base.RoundTrip(tagged)
}

// tags are the tags of a request. A request that is made while a retry is served is a retry too.
func (t *tagger) tags(ctx context.Context) Tags {
	tags := FromContext(ctx)
	if t.client != "" {
		tags.Client, tags.Version = t.client, t.version
	}
	tags.Attempt = max(tags.Attempt, attempt.Number(ctx))
	return tags
}
