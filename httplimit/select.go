package httplimit

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aimd-go/aimd"
)

// PerHost returns a Transport.Of with a limiter for each [Host]. limiters.All has the present limiters, for
// metrics and for draining. If all of KeyedConfig.Keys limiters are in use, a request for another host fails.
//
// If many hosts take only a few requests at a time, as a crawler's sites do, make the limiters with an
// InitialWindow of 2: 354 pages of hosts with 2 to 5 slots had 95 refusals, and 354 refusals with the default of
// 20.
//
// It panics if limiters is nil.
func PerHost(limiters *aimd.Keyed[string]) func(*http.Request) (*aimd.Limiter, error) {
	return By(limiters, Host)
}

// By returns a Transport.Of with a limiter for each key, for services that limit by the credential, the tenant
// or the model instead of the host. A request's key joins the results of the names that are not empty, with a space
// between two. So names combine: By(limiters, Host, tenant).
//
// A name must be safe for several goroutines. By panics if limiters or a name is nil, and without names.
func By(limiters *aimd.Keyed[string], names ...func(*http.Request) string) func(*http.Request) (*aimd.Limiter, error) {
	if limiters == nil {
		panic("httplimit: the limiters are nil")
	}
	if len(names) == 0 {
		panic("httplimit: By: 0 names are not allowed, want 1 at least")
	}
	for _, name := range names {
		if name == nil {
			panic("httplimit: By: a name that is nil is not allowed")
		}
	}
	return func(req *http.Request) (*aimd.Limiter, error) {
		if req.URL == nil {
			return nil, errors.New("a request without a URL")
		}
		var key string
		for _, name := range names {
			key = strings.TrimSpace(key + " " + name(req))
		}
		l, err := limiters.For(key)
		if err != nil {
			return nil, fmt.Errorf("no limiter for %q: %w", key, err)
		}
		return l, nil
	}
}

// Host is a name for [By]: the host of the request's URL in lower case and with its port, as "example.com:443".
func Host(req *http.Request) string {
	h := strings.ToLower(req.URL.Host)
	if req.URL.Port() != "" {
		return h
	}
	h = strings.TrimSuffix(h, ":")
	switch req.URL.Scheme {
	case "http":
		return h + ":80"
	case "https":
		return h + ":443"
	}
	return h
}

// ReadWrite is a name for [By]: "read" for GET and HEAD, "write" for other methods. It is for a store that limits
// reads and writes separately: By(limiters, ReadWrite). For each host: By(limiters, Host, ReadWrite) has keys such as
// "example.com:443 read".
func ReadWrite(req *http.Request) string {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead:
		return "read"
	}
	return "write"
}
