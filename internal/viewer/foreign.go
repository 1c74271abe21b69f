package viewer

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// foreign is the reason to refuse a request that the page of another site may have sent, or
// nil. Scripts and styles are public, so other sites are refused the events only.
func (h *handler) foreign(r *http.Request, events bool) error {
	if events {
		// The check lets each GET pass, since a GET changes no state. This one reads.
		as := *r
		as.Method = http.MethodPost
		if err := new(http.CrossOriginProtection).Check(&as); err != nil {
			return fmt.Errorf("live: the request of another site's page: %w", err)
		}
	}
	if r.Context().Value(http.LocalAddrContextKey) == nil || ours(r.Host, h.hosts) { // nil: no listener, a test
		return nil
	}
	return fmt.Errorf("live: Host %q is not allowed, want an IP address, localhost, a name without a dot, or a host given to Handler", r.Host)
}

// ours reports whether other sites cannot have that host: a name that a stranger registered
// may lead to this server, and makes its pages ones of the same origin.
func ours(host string, hosts []string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]") // it has no port
	}
	if _, err := netip.ParseAddr(name); err == nil || !strings.Contains(name, ".") {
		return true
	}
	is := func(other string) bool { return strings.EqualFold(other, name) }
	return strings.HasSuffix(strings.ToLower(name), ".localhost") || slices.ContainsFunc(hosts, is)
}
