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
// with 503 and a jittered Retry-After. Which is served first, and which refused first,
// goes by the tags of [ParseTags].
//
// The handler behind finds the tags in the request's context ([tag.FromContext]), and
// the permit ([admission.FromContext]), which tells how long the request waited and can
// be released early. A request holds its place until its handler returns or hijacks the
// connection, which may then live for days. A stream of events that idles most of the
// time would hold its place for as long as it is open: release its permit early.
//
// What an adaptive limit hears: an answer of 503, 504 or 429 is overload; a
// context whose deadline ran out, and an answer slower than HandlerConfig.Slow allows,
// a timeout; a client that went away, a panic, and any other status from 500
// say nothing; all else is a success.
//
// It is safe for any number of goroutines. Make one with [NewHandler].
type Handler struct {
	next       http.Handler
	controller *admission.Controller
	settings   HandlerConfig
}

// HandlerConfig is how a Handler does its work. Zero fields take the documented
// default.
type HandlerConfig struct {
	// Status is that of refusals: http.StatusServiceUnavailable (503) or
	// http.StatusTooManyRequests (429); 0 means 503.
	Status int
	// Bypass says which requests need no place, never wait, and are never refused. It
	// is for the probes of a load balancer: to refuse one takes the server out of
	// service when it is needed most. nil: none.
	Bypass func(*http.Request) bool
	// Tags says where a request's tags come from; nil: from its header, without those
	// that are malformed. To log these, call ParseTags here; its errors are short, and
	// one line each. Where clients may lie about themselves, make the tags from what
	// they have proved, such as the API key. The attempt can be believed: to lie about
	// it gains no more than to lie about criticality.
	Tags func(*http.Request) tag.Tags
	// Outcome says what the status of an answer of the handler behind says to an
	// adaptive limit; what is no valid outcome counts as Neutral. nil: as the
	// comment of Handler says. Set it where a 429 of the handler behind speaks of
	// one client's quota, not of the load: such a client could narrow the limit for
	// all.
	Outcome func(status int) window.Outcome
	// Slow is how long the handler behind may take until it begins its answer; what is
	// slower counts as a timeout for an adaptive limit, and goes on. Set it for a
	// service that gets slow instead of refusing, say, to five times what a request
	// takes without load. 0: none is too slow.
	Slow time.Duration
	// Refusal writes the answer to a refused request, for an API whose errors are
	// JSON or XML. The headers Retry-After and Retry-After-Ms are set when it is
	// called; status and body are its own affair. nil: a line of text.
	Refusal func(http.ResponseWriter, *http.Request, *admission.Shed)
}

func (s HandlerConfig) withDefaults() (HandlerConfig, error) {
	s.Status = cmp.Or(s.Status, http.StatusServiceUnavailable)
	if s.Tags == nil {
		s.Tags = headerTags
	}
	if s.Outcome == nil {
		s.Outcome = outcomeOf
	}
	return s, cmp.Or(
		setting.OneOf("status of refusals", s.Status, http.StatusServiceUnavailable, http.StatusTooManyRequests),
		setting.Optional("slow", s.Slow),
	)
}

// NewHandler returns a Handler in front of next, or an error that says what is
// wrong. Several Handlers may share a controller.
func NewHandler(next http.Handler, c *admission.Controller, s HandlerConfig) (*Handler, error) {
	s, err := s.withDefaults()
	switch {
	case next == nil:
		err = setting.Nil("handler")
	case c == nil:
		err = setting.Nil("controller")
	}
	if err != nil {
		return nil, fmt.Errorf("httplimit: %w", err)
	}
	return &Handler{next: next, controller: c, settings: s}, nil
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
	tags := h.settings.Tags(r)
	ctx := tag.NewContext(r.Context(), tags)
	if pass := h.settings.Bypass; pass != nil && pass(r) {
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
	switch o := h.settings.Outcome(s.status); {
	case errors.Is(ctx.Err(), context.Canceled):
		// Whatever was answered then: many handlers make a 503 of it.
		return window.Neutral
	case o.Overloaded():
		return o
	case errors.Is(ctx.Err(), context.DeadlineExceeded), h.settings.Slow > 0 && s.head > h.settings.Slow:
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
		http.Error(w, http.StatusText(h.settings.Status), h.settings.Status)
		return
	}
	setRetryAfter(w.Header(), shed.RetryAfter, rand.Float64())
	if h.settings.Refusal != nil {
		h.settings.Refusal(w, r, shed)
		return
	}
	http.Error(w, "overloaded, try again later", h.settings.Status)
}
