package live

import (
	"cmp"
	"crypto/rand"
	"embed"
	"fmt"
	"iter"
	"net"
	"net/http"
	"net/netip"
	"path"
	"slices"
	"strings"
	"sync"
)

// files are the page. They are served as they are written, without a build.
//
//go:embed page
var files embed.FS

// policy lets the page load only its own files. A server may set a stricter policy that
// allows those.
const policy = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// kinds are the types of the files. The system's own list may have others.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
	".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// Handler returns a handler that serves the page of the limiters. It works below any prefix that ends in a slash:
// every path that ends in a slash is the page. In the same folder are the page's other files, and events, its
// server-sent events.
//
// GET events?every=250ms reports the limiters at that interval: 100ms to 1s, default 250ms. At most 16 pages are
// served at a time, with at most 50 limiters; the page shows the number of limiters left out. http.Server.Shutdown
// does not wait for open pages.
//
// Hosts are further names of the page's host, without a port: see the package's section on who may look. The
// handler is safe for any number of goroutines. Handler panics if limiters is nil.
func Handler(limiters Limiters, hosts ...string) http.Handler {
	return Compare(limiters, func() iter.Seq2[string, Flow] { return func(func(string, Flow) bool) {} }, hosts...)
}

// Compare is Handler with a page that also shows clients without a limiter, to be compared with the limiters.
// The function yields the present clients by name; it is called as Limiters are. Compare panics if a function is nil.
func Compare(limiters Limiters, clients func() iter.Seq2[string, Flow], hosts ...string) http.Handler {
	if limiters == nil || clients == nil {
		panic("live: limiters or clients are nil, want a function")
	}
	return &handler{
		watch: &watch{limiters: limiters, clients: clients, run: rand.Text()}, hosts: hosts,
		pages: make(chan struct{}, most), servers: map[*http.Server]chan struct{}{},
	}
}

type handler struct {
	watch *watch
	hosts []string
	pages chan struct{} // has an item for each open page

	mu sync.Mutex
	// servers has a channel for each server, closed when it shuts down. Guarded by mu.
	servers map[*http.Server]chan struct{}
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, fmt.Sprintf("method %s is not allowed, want GET or HEAD", r.Method), http.StatusMethodNotAllowed)
		return
	}
	_, name := path.Split(r.URL.Path)
	if err := h.foreign(r, name == "events"); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	switch {
	case name == "events":
		h.events(w, r)
	case r.URL.Path == "": // http.StripPrefix with no slash at its end
		asked, _, _ := strings.Cut(r.RequestURI, "?")
		w.Header().Set("Location", "./"+path.Base(asked)+"/")
		w.WriteHeader(http.StatusMovedPermanently)
	default:
		h.file(w, r, cmp.Or(name, "index.html"))
	}
}

func (h *handler) file(w http.ResponseWriter, r *http.Request, name string) {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("Content-Type", kinds[path.Ext(name)])
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-cache") // ask; the tag answers
	header.Set("Etag", `"`+h.watch.run+`"`)
	http.ServeFileFS(w, r, files, "page/"+name)
}

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

// ours reports whether other sites cannot have that host. A name that a stranger registered may lead to this
// server, and then its pages have the same origin.
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
