package viewer

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"iter"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

// files are the page. They are served as they are written, without a build.
//
//go:embed page
var files embed.FS

// policy lets the page load only its own files. A server may set a stricter policy that
// allows those.
const policy = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// asset is a file of the page.
type asset struct {
	body      []byte
	kind, tag string
}

var assets = map[string]asset{
	"":         load("index.html", "text/html; charset=utf-8"),
	"live.css": load("live.css", "text/css; charset=utf-8"),
	"data.js":  load("data.js", "text/javascript; charset=utf-8"),
	"chart.js": load("chart.js", "text/javascript; charset=utf-8"),
	"words.js": load("words.js", "text/javascript; charset=utf-8"),
	"live.js":  load("live.js", "text/javascript; charset=utf-8"),
	"icon.svg": load("icon.svg", "image/svg+xml"),
}

func load(name, kind string) asset {
	body, err := files.ReadFile("page/" + name)
	if err != nil {
		panic(err) // the files are part of the program
	}
	sum := sha256.Sum256(body)
	return asset{body, kind, `"` + hex.EncodeToString(sum[:8]) + `"`}
}

// Handler returns the handler of package live. It shows the flows, if not nil, among the
// limiters, and serves requests for the hosts too.
func Handler(limiters Limiters, flows Flows, hosts []string) http.Handler {
	if flows == nil {
		flows = func() iter.Seq2[string, *Flow] { return func(func(string, *Flow) bool) {} }
	}
	return &handler{watch: newWatch(limiters, flows), hosts: hosts, servers: map[*http.Server]chan struct{}{}}
}

type handler struct {
	watch *watch
	hosts []string

	mu    sync.Mutex
	pages int
	// servers has a channel for each server, closed when it shuts down.
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
	switch a, ok := assets[name]; {
	case name == "events":
		h.events(w, r)
	case r.URL.Path == "": // http.StripPrefix with no slash at its end
		asked, _, _ := strings.Cut(r.RequestURI, "?")
		w.Header().Set("Location", "./"+path.Base(asked)+"/")
		w.WriteHeader(http.StatusMovedPermanently)
	case ok:
		a.serve(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (a asset) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("Content-Type", a.kind)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-cache") // ask; the tag answers
	header.Set("Etag", a.tag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.body))
}
