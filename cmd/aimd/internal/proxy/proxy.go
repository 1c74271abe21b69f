package proxy

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	aimdprom "github.com/aimd-go/aimd/contrib/prometheus"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/live"
	"github.com/aimd-go/aimd/window"
)

// proxy is an http.Handler. It sends each request to the service once the limiter of its key admits it.
type proxy struct {
	settings
	target  *url.URL
	base    *http.Transport
	limited *httplimit.Transport
	client  http.RoundTripper
	reverse *httputil.ReverseProxy
	metrics *aimdprom.Collector
	log     *slog.Logger
}

func newProxy(s settings, log *slog.Logger) (*proxy, error) {
	target, err := url.Parse(s.to)
	if err != nil {
		return nil, err
	}
	p := &proxy{settings: s, target: target, log: log, base: http.DefaultTransport.(*http.Transport).Clone()}
	p.base.MaxIdleConns, p.base.MaxIdleConnsPerHost = 0, window.MaxWindow // the windows bound them
	p.base.ResponseHeaderTimeout = s.idle
	p.base.DisableCompression = true // a body passes as it is
	p.base.DialContext = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	p.metrics = aimdprom.New(p.limiters)
	observer := aimd.Log(log, 10)
	p.limited, err = httplimit.PerHost(flight{p.base}, func(key string) (*aimd.Limiter, error) {
		return aimd.New(aimd.Config{Name: name(key), Observer: observer, Rules: aimd.Rules{QueueBound: s.queue}})
	}, aimd.KeyedConfig{Keys: s.keys, Evicted: p.metrics.Evicted})
	if err != nil {
		return nil, err
	}
	p.limited.By = p.key
	p.client = p.limited.Client().Transport
	p.reverse = &httputil.ReverseProxy{
		Rewrite: p.rewrite, Transport: p, ErrorHandler: p.failed, FlushInterval: -1,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	return p, nil
}

// limiters yields the limiters under their own names.
func (p *proxy) limiters() iter.Seq2[string, *aimd.Limiter] {
	return func(yield func(string, *aimd.Limiter) bool) {
		for _, l := range p.limited.Limiters() {
			if !yield("", l) {
				return
			}
		}
	}
}

func (p *proxy) rewrite(r *httputil.ProxyRequest) {
	r.SetURL(p.target)
	if p.keepHost {
		r.Out.Host = r.In.Host
	}
}

// ServeHTTP passes the request on, and the answer back.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := p.refuse(r); err != nil {
		say(w, http.StatusBadRequest, err)
		return
	}
	w = &patient{w, *http.NewResponseController(w), p.idle}
	if err := p.keep(w, r); err != nil {
		say(w, http.StatusBadRequest, err)
		return
	}
	wait := newWait(r.Context(), p.hold)
	defer wait.end()
	p.reverse.ServeHTTP(w, r.WithContext(wait))
}

// admin serves the page of the limiters and, below /metrics, their metrics for Prometheus.
func (p *proxy) admin() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(p.metrics)
	metrics := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	mux := http.NewServeMux()
	mux.Handle("/", live.Handler(p.limiters, strings.Fields(p.host)...))
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if err := p.refuse(r); err != nil {
			say(w, http.StatusBadRequest, err)
			return
		}
		metrics.ServeHTTP(w, r)
	})
	return mux
}

// refuse says why a request is not for this proxy. It is no proxy for any target, and no page of another site
// reaches it by a name that leads here (DNS rebinding).
func (p *proxy) refuse(r *http.Request) error {
	if r.Method == http.MethodConnect || r.URL.Host != "" {
		return fmt.Errorf("this proxy is for one service: want a path, like /v1/models, not %s", cmp.Or(r.URL.Scheme, "CONNECT"))
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

// keep reads the body, if it is not too long, so that the request can be sent again. A program that sends a
// body slowly has no slot meanwhile.
func (p *proxy) keep(w http.ResponseWriter, r *http.Request) error {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength > p.buffer || r.Header.Get("Upgrade") != "" {
		return nil
	}
	r.Body = &slow{r.Body, *http.NewResponseController(w), p.idle}
	var kept strings.Builder
	n, err := io.Copy(&kept, io.LimitReader(r.Body, p.buffer+1))
	if err != nil {
		return fmt.Errorf("the body of the request: %w", err)
	}
	text := kept.String()
	if n > p.buffer {
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(strings.NewReader(text), r.Body), r.Body}
		return nil
	}
	r.ContentLength, r.TransferEncoding = n, nil
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
	r.Body, err = r.GetBody()
	return err
}

// key is the limiter of a request: a hash of the credential, since no credential is kept.
func (p *proxy) key(r *http.Request) string {
	if p.one {
		return ""
	}
	for _, name := range []string{cmp.Or(p.header, "Authorization"), "X-Api-Key", "Api-Key"} {
		if v := r.Header.Values(name); len(v) > 0 {
			sum := sha256.Sum256([]byte(name + "\x00" + credential(strings.Join(v, "\x00"))))
			return hex.EncodeToString(sum[:16])
		}
		if p.header != "" {
			break
		}
	}
	return ""
}

// credential is the part of a header's value that is the same in each request. That is all of a Bearer, a Basic or a
// bare key. Other schemes sign each request, and begin with who signs: "AWS4-HMAC-SHA256 Credential=ID/date/...",
// "SharedKey ID:signature", "Digest username=ID, ...".
func credential(value string) string {
	switch scheme, rest, _ := strings.Cut(value, " "); strings.ToLower(scheme) {
	case "bearer", "basic", "token", strings.ToLower(value):
	default:
		if i := strings.IndexAny(rest, ",/:"); i >= 0 {
			return scheme + rest[:i]
		}
	}
	return value
}

// name is a limiter's: the end of the hash tells keys apart, and says nothing of the credential.
func name(key string) string {
	if key == "" {
		return "all"
	}
	return "key " + key[len(key)-4:]
}

// RoundTrip sends a request by the limiter of its key. It returns the answer, or the last refusal if no other answer
// came in time.
func (p *proxy) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.client.RoundTrip(r)
	if err == nil && resp.StatusCode != http.StatusSwitchingProtocols {
		resp.Body = waitOf(r).watch(resp.Body, p.idle)
	}
	return resp, err
}

// flight is one attempt of a request: the time for which it is in flight is no wait.
type flight struct{ *http.Transport }

func (f flight) RoundTrip(r *http.Request) (*http.Response, error) {
	wait := waitOf(r)
	if err := wait.fly(); err != nil {
		return nil, err
	}
	resp, err := f.Transport.RoundTrip(r)
	wait.land(resp)
	return resp, err
}

// failed answers for a request without an answer.
func (p *proxy) failed(w http.ResponseWriter, r *http.Request, err error) {
	wait := waitOf(r)
	var limited *attempt.Error
	var network *net.OpError
	var late net.Error
	unsent := errors.As(err, &limited) && limited.NotSent()
	status := http.StatusBadGateway
	switch unreached := errors.As(err, &network); {
	case errors.Is(context.Cause(wait), context.Canceled):
		return // nobody is there to be answered
	case unreached && !network.Timeout():
	case !unreached && (unsent || wait.refusal != nil || errors.Is(err, errHold)):
		status = http.StatusTooManyRequests
		h := w.Header()
		for name, values := range wait.refusal {
			if name == "Retry-After" || strings.Contains(strings.ToLower(name), "ratelimit") {
				h[name] = values
			}
		}
		if h.Get("Retry-After") == "" {
			h.Set("Retry-After", strconv.Itoa(p.seconds(r)))
		}
	case errors.As(err, &late) && late.Timeout():
		status = http.StatusGatewayTimeout
	}
	say(w, status, fmt.Errorf("%s: %w", p.target.Host, err))
}

// say answers with a reason in one line, which has no query of the request.
func say(w http.ResponseWriter, status int, reason error) {
	var of *url.Error
	if errors.As(reason, &of) {
		reason = of.Err
	}
	line := strings.Join(strings.Fields(reason.Error()), " ")
	line = line[:min(len(line), 500)]
	w.Header().Set("Aimd-Reason", line)
	http.Error(w, "aimd proxy: "+line, status)
}

// seconds is the time after which the limiter of the request sends again, as far as it knows: 1 or more.
func (p *proxy) seconds(r *http.Request) int {
	var until time.Time
	for key, l := range p.limited.Limiters() {
		if key == p.key(r) {
			until = l.Snapshot().PausedUntil
		}
	}
	return int(min(max(1, math.Ceil(time.Until(until).Seconds())), 24*3600))
}

// patient bounds the time for which a program takes no byte.
type patient struct {
	http.ResponseWriter
	control http.ResponseController
	idle    time.Duration
}

// Unwrap is for http.ResponseController.
func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p *patient) Write(b []byte) (int, error) {
	_ = p.control.SetWriteDeadline(time.Now().Add(p.idle)) // a writer without deadlines has none
	return p.ResponseWriter.Write(b)
}

// slow bounds the time for which a program sends no byte.
type slow struct {
	io.ReadCloser
	control http.ResponseController
	idle    time.Duration
}

func (s *slow) Read(b []byte) (int, error) {
	_ = s.control.SetReadDeadline(time.Now().Add(s.idle))
	n, err := s.ReadCloser.Read(b)
	if err != nil {
		_ = s.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
