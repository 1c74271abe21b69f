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

// NewTagger returns an http.RoundTripper that adds the headers of [SetTags] to each request: the client's
// name and version, and from the request's context its feature and criticality (package tag) and the
// attempt's number (attempt.Number). It is safe for any number of goroutines.
//
// Without a name, name and version are the context's, if it has any. base sends; nil means what
// http.DefaultTransport is now. The error names the name that is not allowed.
//
// Headers that a request has already stay, see [AddTags]. Clients that retry stand above the tagger, except a
// retrier ([NewRetrier]) and a [Client], which number the attempts by themselves.
func NewTagger(base http.RoundTripper, client, version string) (http.RoundTripper, error) {
	for _, n := range []struct{ setting, value string }{{"client", client}, {"version", version}} {
		if n.value != "" && !isName(n.value) {
			return nil, fmt.Errorf("httplimit: %w", setting.Wrong(n.setting, strconv.Quote(shown(n.value)), wantName, longestName))
		}
	}
	if client == "" && version != "" {
		return nil, fmt.Errorf("httplimit: %w", setting.Wrong("version", strconv.Quote(version)+" without a client", "none"))
	}
	return &tagger{over(base), client, version}, nil
}

type tagger struct {
	beneath
	client, version string
}

// RoundTrip sends the request with its tags.
func (t *tagger) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	tagged := req.WithContext(ctx) // a copy: a RoundTripper changes no request
	if tagged.Header = req.Header.Clone(); tagged.Header == nil {
		tagged.Header = make(http.Header)
	}
	AddTags(tagged.Header, t.tags(ctx))
	return t.base.RoundTrip(tagged)
}

// tags are the tags of a request. One that is made in the service of a retry is a retry too.
func (t *tagger) tags(ctx context.Context) tag.Tags {
	tags := tag.FromContext(ctx)
	if t.client != "" {
		tags.Client, tags.Version = t.client, t.version
	}
	tags.Attempt = max(tags.Attempt, attempt.Number(ctx))
	return tags
}
