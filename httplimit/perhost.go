package httplimit

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/aimd-go/aimd/internal/setting"
	"github.com/aimd-go/aimd/limiter"
)

// PerHost returns a Transport with a limiter for each host. base sends; nil means what http.DefaultTransport
// is now. newLimiter makes the limiter of a host at its first request, while other requests wait. host is the
// URL's host in lower case and with its port: "example.com:443". If newLimiter fails, so does the request. If
// c.Keys limiters are all in use, a request for another host fails and is not sent.
func PerHost(base http.RoundTripper, newLimiter func(host string) (*limiter.Limiter, error), c limiter.KeyedConfig, opts ...Option) (*Transport, error) {
	if newLimiter == nil {
		return nil, fmt.Errorf("httplimit: %w", setting.Nil("newLimiter"))
	}
	hosts, err := limiter.NewKeyed(func(host string) (*limiter.Limiter, error) {
		l, err := newLimiter(host)
		switch {
		case err != nil:
			return nil, fmt.Errorf("no limiter for host %q: %w", host, err)
		case l == nil:
			return nil, fmt.Errorf("no limiter for host %q: newLimiter returned nil", host)
		}
		return l, nil
	}, c)
	if err != nil {
		return nil, fmt.Errorf("httplimit: %w", err)
	}
	return &Transport{beneath: over(base), options: optionsOf(opts), hosts: hosts}, nil
}

func host(u *url.URL) string {
	h := strings.ToLower(u.Host)
	if u.Port() != "" {
		return h
	}
	h = strings.TrimSuffix(h, ":")
	switch u.Scheme {
	case "http":
		return h + ":80"
	case "https":
		return h + ":443"
	}
	return h
}
