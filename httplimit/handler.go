package httplimit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/aimd-go/aimd/admission"
	"github.com/aimd-go/aimd/internal/setting"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

// Handler is an http.Handler in front of another: it lets through as many
// requests at a time as its [admission.Controller] admits, and refuses the rest
// with 503 and a jittered Retry-After. Who is served first, and who is refused
// first, goes by the tags of [ParseTags].
//
// The handler behind finds the tags in the request's context
// ([tag.FromContext]), and with [admission.FromContext] the permit, which tells
// how long the request waited and can be released early. It holds its place
// until it returns, or hijacks the connection: that is its own from there on,
// may live for days, and is not a request in service any more. A stream of
// events that idles most of the time would hold a place for as long as it is
// open: release its permit early.
//
// What an adaptive limit hears: an answer of 503, 504 or 429 is overload; a
// context whose deadline ran out, and an answer slower than [WithSlow] allows,
// a timeout; a client that went away, a panic, and any other status from 500
// say nothing; all else is a success.
//
// It is safe for any number of goroutines. Make one with [NewHandler].
type Handler struct {
	next       http.Handler
	controller *admission.Controller
	settings   handlerSettings
}

// HandlerOption is a setting of [NewHandler]; 0 and nil mean the default. A wrong
// value is an error of NewHandler that names the setting, the value and what is
// allowed.
type HandlerOption func(*handlerSettings) error

type handlerSettings struct {
	status  int
	bypass  func(*http.Request) bool
	tags    func(*http.Request) tag.Tags
	outcome func(status int) window.Outcome
	slow    time.Duration
	refusal func(http.ResponseWriter, *http.Request, *admission.Shed)
}

// WithStatus sets the status of refusals: http.StatusServiceUnavailable (503),
// the default, or http.StatusTooManyRequests (429).
func WithStatus(status int) HandlerOption {
	return func(s *handlerSettings) error {
		s.status = cmp.Or(status, http.StatusServiceUnavailable)
		return setting.OneOf("status of refusals", s.status, http.StatusServiceUnavailable, http.StatusTooManyRequests)
	}
}

// WithBypass sets which requests pass by: they need no place, never wait, and
// are never refused. It is for the probes of a load balancer: one that is
// refused takes the server out of service when it is needed most. Default: none.
func WithBypass(pass func(*http.Request) bool) HandlerOption {
	return func(s *handlerSettings) error {
		s.bypass = pass
		return nil
	}
}

// WithTags sets where a request's tags come from. Default: from its header,
// what is malformed there left out and told to nobody; to log it, call ParseTags
// here, its errors are short and in one line each. Where clients may lie about
// themselves, make the tags from what they have proved, such as the API key.
// Retries are best believed: who lies about them has no gain that a lie about
// criticality would not bring.
func WithTags(of func(*http.Request) tag.Tags) HandlerOption {
	return func(s *handlerSettings) error {
		if of != nil {
			s.tags = of
		}
		return nil
	}
}

// WithOutcome sets what the status of an answer of the handler behind says to an
// adaptive limit; what is no valid outcome counts as Neutral. Default: as the
// comment of [Handler] says. Set it where a 429 of the handler behind speaks of one
// client's quota, not of the load: such a client could narrow the limit for all.
func WithOutcome(of func(status int) window.Outcome) HandlerOption {
	return func(s *handlerSettings) error {
		if of != nil {
			s.outcome = of
		}
		return nil
	}
}

// WithSlow sets how long the handler behind may take until it begins its
// answer; what is slower counts as a timeout for an adaptive limit. It is what
// makes an adaptive limit of use for a service that gets slow rather than
// refuse: say, five times what it takes without load. The request goes on.
// Default: none is too slow.
func WithSlow(d time.Duration) HandlerOption {
	return func(s *handlerSettings) error {
		s.slow = d
		return setting.Optional("slow", d)
	}
}

// WithRefusal sets what writes the answer to a refused request, for an API whose
// errors are JSON or XML. The headers Retry-After and Retry-After-Ms are
// set when it is called; status and body are its own affair. Default: a line
// of text.
func WithRefusal(write func(http.ResponseWriter, *http.Request, *admission.Shed)) HandlerOption {
	return func(s *handlerSettings) error {
		s.refusal = write
		return nil
	}
}

// NewHandler returns a Handler in front of next, or an error that says what is
// wrong. Several Handlers may share a controller.
func NewHandler(next http.Handler, c *admission.Controller, opts ...HandlerOption) (*Handler, error) {
	if next == nil {
		return nil, fmt.Errorf("httplimit: %w", setting.Nil("handler"))
	}
	if c == nil {
		return nil, fmt.Errorf("httplimit: %w", setting.Nil("controller"))
	}
	h := &Handler{next: next, controller: c, settings: handlerSettings{
		status:  http.StatusServiceUnavailable,
		tags:    headerTags,
		outcome: outcomeOf,
	}}
	for _, o := range opts {
		if err := o(&h.settings); err != nil {
			return nil, fmt.Errorf("httplimit: %w", err)
		}
	}
	return h, nil
}

// headerTags are the well-formed tags of the request's header.
func headerTags(r *http.Request) tag.Tags {
	t, _ := ParseTags(r.Header)
	return t
}

// outcomeOf is what an answer's status says of the load.
func outcomeOf(status int) window.Outcome {
	switch status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return window.Overload
	case http.StatusGatewayTimeout:
		return window.Timeout
	}
	if status >= http.StatusInternalServerError {
		return window.Neutral
	}
	return window.Success
}

// ServeHTTP serves the request if it is admitted, and refuses it if not.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tags := h.settings.tags(r)
	ctx := tag.NewContext(r.Context(), tags)
	if pass := h.settings.bypass; pass != nil && pass(r) {
		h.serve(w, r, ctx)
		return
	}
	p, err := h.controller.Admit(ctx, tags)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	s := service{ResponseWriter: w, permit: p, outcome: window.Neutral}
	// Also on a panic, http.ErrAbortHandler among them, and runtime.Goexit: the
	// place is given back, and they go on.
	defer s.end()
	h.serve(s.writer(), r, admission.NewContext(ctx, p))
	s.outcome = h.judge(&s, r.Context())
}

// serve lets the handler behind serve a request in the context.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request, ctx context.Context) {
	inner := r.WithContext(ctx)
	defer func() {
		// What a server and its log look for in the request that they made: the
		// files of a form to be removed, and the pattern that matched.
		r.MultipartForm, r.Pattern = inner.MultipartForm, inner.Pattern
	}()
	h.next.ServeHTTP(w, inner)
}

// judge is how a request ended whose handler returned.
func (h *Handler) judge(s *service, ctx context.Context) window.Outcome {
	s.begin(http.StatusOK) // a handler that writes nothing answers that
	switch o := h.settings.outcome(s.status); {
	case errors.Is(ctx.Err(), context.Canceled):
		// Whatever was answered then: many handlers make a 503 of it.
		return window.Neutral
	case o.Overloaded():
		return o
	case errors.Is(ctx.Err(), context.DeadlineExceeded), h.settings.slow > 0 && s.head > h.settings.slow:
		return window.Timeout
	case ctx.Err() != nil, !o.Valid():
		return window.Neutral
	default:
		return o
	}
}

// refuse answers a request that was not admitted.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var shed *admission.Shed
	if !errors.As(err, &shed) {
		// The request's context ended: nobody reads this, except where a
		// deadline ran out and not the client.
		http.Error(w, http.StatusText(h.settings.status), h.settings.status)
		return
	}
	setRetryAfter(w.Header(), shed.RetryAfter, rand.Float64())
	if h.settings.refusal != nil {
		h.settings.refusal(w, r, shed)
		return
	}
	http.Error(w, "overloaded, try again later", h.settings.status)
}
