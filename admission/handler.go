package admission

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/aimd-go/aimd/internal/check"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

type handler struct {
	next       http.Handler
	controller *Controller
	settings   HandlerConfig
}

// HandlerConfig has the settings of a handler of [NewHandler]. Zero fields take the documented default.
type HandlerConfig struct {
	// Status is the status of refusals: 503 or 429; 0 means 503.
	Status int
	// Bypass selects requests that need no place, never wait, and are never refused, such as a load balancer's
	// probes. A refused probe takes the server out of service when it is needed most. nil selects no request.
	Bypass func(*http.Request) bool
	// Tags returns a request's tags; nil reads the well-formed tags of its header. If clients may lie about
	// themselves, make the tags from a proof, such as the API key.
	Tags func(*http.Request) tag.Tags
	// Outcome reads a status of the handler behind, for an adaptive limit; an invalid outcome counts as Neutral.
	// nil is the rule of NewHandler. Set Outcome if a 429 of the handler means one client's quota.
	Outcome func(status int) window.Outcome
	// Slow is the time that the handler behind may take until it begins its answer; 0 sets no limit. A slower
	// answer is a timeout for an adaptive limit: set five times the time of a request without load, say.
	Slow time.Duration
	// Refusal writes the status and the body of a refusal, for an API whose errors are JSON or XML.
	// Retry-After and Retry-After-Ms are set already. nil writes a line of text.
	Refusal func(http.ResponseWriter, *http.Request, *Shed)
}

func (s HandlerConfig) withDefaults() (HandlerConfig, error) {
	s.Status = cmp.Or(s.Status, http.StatusServiceUnavailable)
	if s.Tags == nil {
		s.Tags = fromHeader
	}
	if s.Outcome == nil {
		s.Outcome = outcomeOf
	}
	return s, cmp.Or(
		check.OneOf("Status", s.Status, http.StatusServiceUnavailable, http.StatusTooManyRequests),
		check.Optional("Slow", s.Slow),
	)
}

// NewHandler returns an http.Handler in front of next. It admits as many requests at a time as the [Controller]
// does, and refuses other requests with 503. The tags of [tag.FromHeader] decide which requests are served first,
// and which are refused first.
//
// next finds the tags ([tag.FromContext]) and the place ([FromContext]) in the request's context. The
// handler of a stream that is mostly idle should release the place early.
//
// For an adaptive limit, an answer of 503, 504 or 429 is overload. A deadline that ran out, and an answer slower
// than HandlerConfig.Slow, are timeouts. A client that left, a panic, and any other status from 500 are neutral.
// Other ends are successes.
//
// It is safe for any number of goroutines. Several may share a controller.
func NewHandler(next http.Handler, c *Controller, s HandlerConfig) (http.Handler, error) {
	s, err := s.withDefaults()
	switch {
	case next == nil:
		err = check.Nil("handler")
	case c == nil:
		err = check.Nil("controller")
	}
	if err != nil {
		return nil, fmt.Errorf("admission: %w", err)
	}
	return &handler{next: next, controller: c, settings: s}, nil
}

func fromHeader(r *http.Request) tag.Tags {
	t, _ := tag.FromHeader(r.Header)
	return t
}

func outcomeOf(status int) window.Outcome {
	switch {
	case status == http.StatusServiceUnavailable, status == http.StatusTooManyRequests:
		return window.Overload
	case status == http.StatusGatewayTimeout:
		return window.Timeout
	case status >= http.StatusInternalServerError:
		return window.Neutral
	}
	return window.Success
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
	s := service{ResponseWriter: w, place: p, outcome: window.Neutral}
	// Also after a panic, http.ErrAbortHandler among them, and runtime.Goexit.
	defer s.end()
	h.serve(s.writer(), r, NewContext(ctx, p))
	s.outcome = h.judge(&s, r.Context())
}

func (h *handler) serve(w http.ResponseWriter, r *http.Request, ctx context.Context) {
	inner := r.WithContext(ctx)
	defer func() {
		// The server and its log look for these in the request that they made.
		r.MultipartForm, r.Pattern = inner.MultipartForm, inner.Pattern
	}()
	h.next.ServeHTTP(w, inner)
}

func (h *handler) judge(s *service, ctx context.Context) window.Outcome {
	s.begin(http.StatusOK) // the answer of a handler that does not write
	switch o := h.settings.Outcome(s.status); {
	case errors.Is(ctx.Err(), context.Canceled):
		// Whatever was answered: many handlers answer 503 then.
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

func (h *handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var shed *Shed
	if !errors.As(err, &shed) {
		// The request's context ended. If that was a deadline, the client reads this.
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

// setRetryAfter says in the header when to come back. Retry-After has whole seconds: rounded up, all delays
// from 1.1 s to 2 s would become one. So u, a random number from [0, 1), rounds up or down by the odds that
// keep the mean, never to 0. Retry-After-Ms has milliseconds, as with Azure, and answer.RetryAfter reads it first.
func setRetryAfter(h http.Header, d time.Duration, u float64) {
	h.Set("Retry-After", strconv.Itoa(wholeSeconds(d, u)))
	h.Set("Retry-After-Ms", strconv.FormatInt(int64((d+time.Millisecond-1)/time.Millisecond), 10))
}

func wholeSeconds(d time.Duration, u float64) int {
	return max(1, int(d.Seconds()+u))
}
