package httplimit

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aimd-go/aimd/internal/setting"
	"github.com/aimd-go/aimd/limiter"
)

// Option is a setting of [PerHost]. A wrong value is an error of PerHost that
// names the setting, the value and what is allowed.
type Option func(*settings) error

// settings are what options set; zero is the default.
type settings struct {
	keyed limiter.KeyedConfig
}

// WithIdle sets how long a host's limiter is kept while no request comes for
// it: a positive duration; 0 means limiter.DefaultIdle, the default. A limiter with requests
// in flight or waiting is kept anyhow.
func WithIdle(d time.Duration) Option {
	return func(s *settings) error {
		s.keyed.Idle = d
		return setting.Duration("idle time", &s.keyed.Idle, limiter.DefaultIdle, 1, math.MaxInt64)
	}
}

// WithMaxHosts sets for how many hosts there are limiters at once: a number from
// 1; 0 means limiter.DefaultKeys, the default. For one host more, the limiter goes whose host
// was not sent to for the longest; if all of them have requests in flight or
// waiting, the request fails with a NotSentError.
func WithMaxHosts(hosts int) Option {
	return func(s *settings) error {
		s.keyed.Keys = hosts
		return setting.Count("hosts", &s.keyed.Keys, limiter.DefaultKeys, 1, math.MaxInt)
	}
}

// PerHost returns a Transport with a limiter for each host, since each has a
// limit of its own. base does the sending; nil means what http.DefaultTransport
// is now.
//
// newLimiter makes a host's limiter at its first request. host is that of the
// request's URL in lower case and with its port: "example.com:443". Requests
// to all hosts wait while it runs, so it should be quick; its error is that of
// the request, and the next request asks again. The limiters of idle hosts are
// let go, and with them what they learned; there are never more limiters than
// WithMaxHosts says, whatever hosts the requests name.
func PerHost(base http.RoundTripper, newLimiter func(host string) (*limiter.Limiter, error), opts ...Option) (*Transport, error) {
	if newLimiter == nil {
		return nil, fmt.Errorf("httplimit: %w", setting.Nil("newLimiter"))
	}
	var s settings
	for _, o := range opts {
		if err := o(&s); err != nil {
			return nil, fmt.Errorf("httplimit: %w", err)
		}
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
	}, s.keyed)
	if err != nil {
		return nil, fmt.Errorf("httplimit: %w", err)
	}
	return &Transport{base: orDefault(base), hosts: hosts}, nil
}

// host is the URL's host in lower case and with its port.
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
