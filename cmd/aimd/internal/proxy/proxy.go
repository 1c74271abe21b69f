package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	answers "github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/contrib/aimdprom"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/live"
	"github.com/aimd-go/aimd/remote"
	"github.com/aimd-go/aimd/window"
)

// proxy is an http.Handler. It sends each request to the service once the limiter of its key admits it.
type proxy struct {
	// switched counts the connections of another protocol, which net/http does not know any more. It comes first to
	// be aligned on 32-bit machines.
	switched atomic.Int64
	settings
	target *url.URL
	// path is the path of the target, without a slash at its end.
	path string
	base *http.Transport
	// fresh is base, or a copy of it after net/http has locked itself out. maybe2: HTTP/2 may be spoken.
	fresh   atomic.Pointer[http.Transport]
	maybe2  bool
	limited *aimd.Keyed[string] // by key
	// answers are the rules of the file --answers.
	answers atomic.Pointer[[]rule]
	client  http.RoundTripper
	reverse *httputil.ReverseProxy
	metrics *aimdprom.Collector
	log     *slog.Logger
	memory  *memory
	// stopping: no new program should come. life is the context of all requests, which stop ends.
	stopping atomic.Bool
	life     context.Context
	stop     context.CancelCauseFunc
	// windows are the windows of an earlier run, by name; rules are the rules of the file --rules, which remote reads.
	windows   map[string]aimd.Snapshot
	rules     remote.Limiters
	remote    *remote.Client
	strangers strangers
	// pulses has the *pulse of each limiter, by its name.
	pulses sync.Map
	// leaves has the function of each limiter that hands its part of a shared window back.
	leaves sync.Map
}

func newProxy(s settings, log *slog.Logger) (*proxy, error) {
	target, err := url.Parse(s.to)
	if err != nil {
		return nil, err
	}
	p := &proxy{
		settings: s, target: target, path: strings.TrimSuffix(target.EscapedPath(), "/"), log: log,
		maybe2: target.Scheme == "https", base: http.DefaultTransport.(*http.Transport).Clone(), memory: &memory{most: s.memory, left: s.memory},
	}
	p.fresh.Store(p.base)
	p.life, p.stop = context.WithCancelCause(context.Background())
	p.base.MaxIdleConns, p.base.MaxIdleConnsPerHost = 0, window.MaxWindow // the windows bound them
	p.base.ResponseHeaderTimeout, p.base.MaxResponseHeaderBytes = s.idle, 1<<20
	p.base.DisableCompression = true // a body passes as it is
	// A connection of HTTP/2 whose other end is gone takes no other request: TCP would find out after a quarter of an hour.
	p.base.HTTP2 = &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second}
	p.base.DialContext = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	p.remote = remote.New(file(s.rulesFile), p.rules.Apply)
	p.limited, err = aimd.NewKeyed(p.limiter, aimd.KeyedConfig{Keys: s.keys, Evicted: p.evicted})
	if err != nil {
		return nil, err
	}
	p.metrics = aimdprom.New(p.limited.All) // a limiter has its key as its name
	of := httplimit.By(p.limited, func(r *http.Request) string { return waitOf(r).key })
	transport := &httplimit.Transport{Base: flight{p}, Of: of, ReadUsage: p.maxAmountRate > 0}
	if err := p.refreshed(); err != nil {
		return nil, err
	}
	if p.answersFile != "" {
		transport.Read = p.reads
	}
	p.client = transport.Client().Transport
	p.reverse = &httputil.ReverseProxy{
		Rewrite: p.rewrite, Transport: p, ErrorHandler: p.failed, ModifyResponse: p.inside, BufferPool: &buffers,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	return p, nil
}

// initialWindow is half of the library's: many services that programs ask take 8 requests at a time, and refuse each
// above. 200 requests to 8 slots take 1.145 attempts each, and 1.25 from 20 on.
const initialWindow = 10

// limiter makes the limiter with this name.
func (p *proxy) limiter(name string) (*aimd.Limiter, error) {
	c := aimd.Config{InitialWindow: min(initialWindow, cmp.Or(p.maxWindow, initialWindow)), Name: name, Observer: aimd.Log(p.log, 10),
		QueueBound: p.queue, MaxWait: p.hold, MaxRate: p.maxRate, MaxAmountRate: p.maxAmountRate, MaxWindow: p.maxWindow, Shadow: p.shadow,
	}
	if p.shadow {
		c.MaxAttempts = 1 // the program's own tries are as they are without a proxy
	}
	l, leave, err := p.shared.New(p.target.Host+" "+name, c, p.log)
	if err == nil {
		p.leaves.Store(l, leave)
		before := p.windows[name]
		if wrong := l.Restore(before.State, before.At); wrong != nil {
			p.log.Warn("a window of --state does not fit", "limiter", name, "err", wrong)
		}
		if p.rulesFile != "" {
			if wrong := p.rules.Add(l); wrong != nil {
				p.log.Warn("the rules do not fit", "limiter", name, "err", wrong)
			}
		}
		p.pulses.Store(name, &pulse{limiter: l, made: time.Now()})
	}
	return l, err
}

func (p *proxy) evicted(l *aimd.Limiter) {
	p.metrics.Evicted(l)
	if leave, ok := p.leaves.LoadAndDelete(l); ok {
		go leave.(func())()
	}
	s := l.Snapshot()
	if p.strangers.many(s.Attempts) {
		p.log.Warn("each request has a limiter of its own, so nothing is limited: want --key with what says who sends, or --one")
	}
	if last, ok := p.pulses.Load(s.Name); ok && last.(*pulse).limiter == l {
		p.pulses.CompareAndDelete(s.Name, last)
	}
}

// rewrite sends the request to the target, and otherwise as it came. httputil and net/url would clean the query, the
// escapes of the path and what names the program's own proxies, and copy the trailers before they have come.
func (p *proxy) rewrite(r *httputil.ProxyRequest) {
	r.SetURL(p.target)
	if p.keepHost {
		r.Out.Host = r.In.Host
	}
	if p.maxAmountRate > 0 {
		r.Out.Header.Del("Accept-Encoding") // a usage is read from a plain answer alone
	}
	out := r.Out.URL
	out.RawQuery, r.Out.Trailer = r.In.URL.RawQuery, r.In.Trailer
	path, _, _ := strings.Cut(r.In.RequestURI, "?")
	if path = p.path + path; out.EscapedPath() != path {
		if out.Opaque = path; strings.HasPrefix(path, "//") {
			out.Opaque = "//" + out.Host + path // what follows two slashes is a host there
		}
	}
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if v, ok := r.In.Header[name]; ok {
			r.Out.Header[name] = v
		}
	}
}

// ServeHTTP passes the request on, and the answer back.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := p.refuse(r); err != nil {
		say(w, r, http.StatusBadRequest, err)
		return
	}
	if strings.Contains(strings.ToLower(r.Header.Get("Upgrade")), "h2c") {
		r.Header.Del("Upgrade") // HTTP/2 would go around the limiter; without it both stay with HTTP/1
	}
	if r.ContentLength < 0 && r.Trailer == nil {
		r.Trailer = http.Header{} // for those that nobody announced
	}
	if r.Context().Value(errFiles) != nil {
		busy(w, r, errFiles)
		return
	}
	wait := newWait(r, p, p.limiterOf(r))
	defer wait.end()
	w = &patient{w, *http.NewResponseController(w), wait}
	switch err := wait.keep(w, r); {
	case errors.Is(err, errMemory), errors.Is(err, errStopped):
		busy(w, r, err)
		return
	case err != nil:
		say(w, r, http.StatusBadRequest, err)
		return
	}
	wait.begin()
	p.reverse.ServeHTTP(w, r.WithContext(wait))
}

// admin serves the page of the limiters and, below /metrics, their metrics for Prometheus.
func (p *proxy) admin() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(p.metrics)
	if p.rulesFile != "" {
		registry.MustRegister(aimdprom.Remote(p.remote.Snapshot))
	}
	metrics := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	mux := http.NewServeMux()
	mux.Handle("/", live.Handler(p.limited.All, strings.Fields(p.host)...))
	mux.HandleFunc("GET /healthz", p.healthz)
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if err := p.refuse(r); err != nil {
			say(w, r, http.StatusBadRequest, err)
			return
		}
		metrics.ServeHTTP(w, r)
	})
	return mux
}

// refuse says why a request is not for this proxy. It is no proxy for any target, and no page of another site
// reaches it by a name that leads here (DNS rebinding).
func (p *proxy) refuse(r *http.Request) error {
	if r.Method == http.MethodConnect || !strings.HasPrefix(r.RequestURI, "/") {
		return fmt.Errorf("this proxy is for one service: want a path, like /v1/models, not %s", cmp.Or(r.URL.Scheme, r.Method+" "+r.URL.Path))
	}
	if root := strings.TrimSuffix(p.target.Path, "/") + "/"; root != "/" && strings.Contains(r.URL.Path, "..") &&
		!strings.HasPrefix(path.Clean(root+dots.Replace(r.URL.Path))+"/", root) {
		return fmt.Errorf("the dots of the path lead out of %s, the path of --to", root)
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if strings.Contains(host, ".") && net.ParseIP(host) == nil && !strings.EqualFold(host, p.host) {
		return errors.New("the Host of the request is not this proxy's: want an IP address, a name without a dot, or the name that --host gives")
	}
	return nil
}

// dots makes a path into what services read in it that resolve dots: some take a backslash for a slash, or leave out what
// follows a semicolon.
var dots = strings.NewReplacer(`\`, "/", "..;", "../")

// RoundTrip sends a request by the limiter of its key. It returns the answer, or the last refusal if no other answer
// came in time.
func (p *proxy) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.client.RoundTrip(r)
	if err == nil {
		waitOf(r).watch(resp)
	}
	return resp, err
}

// failed answers for a request without an answer.
func (p *proxy) failed(w http.ResponseWriter, r *http.Request, err error) {
	wait := waitOf(r)
	var late interface{ Timeout() bool }
	status := http.StatusBadGateway
	switch {
	case errors.Is(context.Cause(wait), context.Canceled):
		panic(http.ErrAbortHandler) // the program has gone, or has closed its side: net/http would say 200
	case wait.refusal != nil, wait.failed.IsZero() && wait.answer == nil:
		status = http.StatusTooManyRequests
		h := w.Header()
		for name, values := range wait.refusal {
			if strings.Contains(strings.ToLower(name), "ratelimit") {
				h[name] = values
			}
		}
		asked, _ := answers.RetryAfter(wait.refusal, time.Now())
		h.Set("Retry-After", strconv.Itoa(wait.pulse().seconds(asked)))
	case errors.As(err, &late) && late.Timeout():
		status = http.StatusGatewayTimeout
	}
	if errors.Is(err, aimd.ErrWait) || errors.Is(err, aimd.ErrQuota) {
		err = fmt.Errorf("the wait would be longer than --hold: %w", err)
	}
	say(w, r, status, fmt.Errorf("%s: %w", p.target.Host, err))
}
