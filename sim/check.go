package sim

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/internal/budget"
	"github.com/aimd-go/aimd/internal/grid"
	"github.com/aimd-go/aimd/internal/setting"
	"github.com/aimd-go/aimd/limiter"
)

// Bounds of times and numbers, so that every run ends and fits into memory. Our choice; the tags of
// the fields have the others.
const (
	maxHorizon = 30 * 24 * time.Hour
	maxSlots   = 10_000_000 // or places
)

// FieldError says which field of a scenario is wrong, and why. An error about several fields
// joins one FieldError for each, in the order of the fields.
type FieldError struct {
	// Path names the field as in a scenario file: "server.outages[1].from".
	Path string
	// Problem is the value with the allowed values: "-1 is not allowed, want a number from 0 to 1".
	Problem string
}

// Error returns "path: problem".
func (e *FieldError) Error() string { return e.Path + ": " + e.Problem }

// Validate returns nil, or an error that joins a [FieldError] for each field that is wrong.
func (s Scenario) Validate() error { return validate(s, "") }

func validate(v any, path string) error {
	var errs []error
	checker{path, &errs}.fields(reflect.ValueOf(v))
	return errors.Join(errs...)
}

// checker collects the errors of the fields below one path.
type checker struct {
	path string
	errs *[]error
}

// fields checks each field of a struct that has a name in files by its tags: in:"0 720h" has the
// bounds of a number that is not 0, of:"a b" the words that a text may be, and needs:"slots" the field
// without which this one has no effect; a field with the tag as:"slots" serves as well. If each
// field is right, the struct's method check checks the rules among the fields.
func (c checker) fields(v reflect.Value) {
	before := len(*c.errs)
	for i := range v.NumField() {
		t := v.Type().Field(i)
		name, f := t.Tag.Get("yaml"), v.Field(i)
		switch {
		case name == "" || name == "-":
		case f.Kind() == reflect.Struct:
			c.in(name).fields(f)
		case f.Kind() == reflect.Slice:
			for i := range f.Len() {
				c.in(name + "[" + strconv.Itoa(i) + "]").fields(f.Index(i))
			}
		case t.Tag.Get("of") != "" && !f.IsZero():
			c.of(name, f.String(), strings.Fields(t.Tag.Get("of"))...)
		case t.Tag.Get("in") != "" && !f.IsZero():
			c.bounds(name, f, t.Tag.Get("in"))
		}
	}
	if len(*c.errs) > before {
		return
	}
	for i := range v.NumField() {
		tag, f := v.Type().Field(i).Tag, v.Field(i)
		if needed := tag.Get("needs"); needed != "" && !f.IsZero() && !given(v, needed) {
			c.fail(tag.Get("yaml"), "%v is not allowed without %s", f, needed)
		}
	}
	if x, ok := v.Interface().(interface{ check(checker) }); ok {
		x.check(c)
	}
}

func (c checker) of(field, v string, allowed ...string) {
	if err := setting.OneOf(field, v, allowed...); err != nil {
		var wrong *setting.Error
		errors.As(err, &wrong)
		c.fail(field, "%s", strings.Replace(wrong.Problem(), v, strconv.Quote(v), 1))
	}
}

// bounds allows the numbers between two bounds, which are with them.
func (c checker) bounds(field string, v reflect.Value, bounds string) {
	low, high, _ := strings.Cut(bounds, " ")
	switch x := v.Interface().(type) {
	case time.Duration:
		c.wrong(setting.Duration(field, &x, 0, *checked(time.ParseDuration(low)), *checked(time.ParseDuration(high))), nil)
	case int:
		c.wrong(setting.Count(field, &x, 0, *checked(strconv.Atoi(low)), *checked(strconv.Atoi(high))), nil)
	case float64:
		c.wrong(setting.Number(field, &x, 0, *checked(strconv.ParseFloat(low, 64)), *checked(strconv.ParseFloat(high, 64))), nil)
	}
}

// in is the checker of the fields below a field.
func (c checker) in(field string) checker {
	return checker{strings.Trim(c.path+"."+field, "."), c.errs}
}

func (c checker) fail(field, format string, args ...any) {
	*c.errs = append(*c.errs, &FieldError{c.in(field).path, fmt.Sprintf(format, args...)})
}

// when fails if something is wrong.
func (c checker) when(wrong bool, field, format string, args ...any) {
	if wrong {
		c.fail(field, format, args...)
	}
}

// inBackoff are the fields of a Retry whose settings have another name in package backoff.
var inBackoff = map[string]string{"Constant": "min", "Time": "min", "Rate": "factor"}

// wrong notes an error of one of our packages about a setting: fields has the fields of the settings
// that have another name here.
func (c checker) wrong(err error, fields map[string]string) {
	var s *setting.Error
	switch {
	case err == nil:
	case errors.As(err, &s):
		c.fail(cmp.Or(fields[s.Name], strings.ToLower(s.Name)), "%s", s.Problem())
	default:
		c.fail("", "%v", err)
	}
}

// given reports whether a field with that name, or one that serves as well, is set.
func given(in reflect.Value, name string) bool {
	for i := range in.NumField() {
		if tag := in.Type().Field(i).Tag; (tag.Get("yaml") == name || tag.Get("as") == name) && !in.Field(i).IsZero() {
			return true
		}
	}
	return false
}

func (s Scenario) check(c checker) {
	const need = "%v is not allowed without clients.timeout: clients wait for a lost answer until then"
	forever := s.Clients.Timeout == 0
	c.when(forever && s.Server.Failures.Lost, "server.failures.lost", need, true)
	for i, o := range s.Server.Outages {
		c.when(forever && o.Kind == lostWord, fmt.Sprintf("server.outages[%d].kind", i), need, o.Kind)
	}
	names := map[string]bool{}
	for i, st := range s.Strategies {
		c.when(names[st.Name], fmt.Sprintf("strategies[%d].name", i), "there are two strategies with the name %s", st.Name)
		names[st.Name] = true
	}
}

func (s Server) check(c checker) {
	c.when(s.Reserve > 0 && s.Queue > 0, "reserve", "%v is not allowed with a queue, which knows no priorities", s.Reserve)
	n := s.Slowdown.Limit
	slows := n > 0
	const one = ": a slowdown has one time for all requests"
	c.when(slows && s.Spread.Kind != "" && s.Spread.Kind != constantWord, "slowdown.limit", "%d is not allowed with a spread"+one, n)
	c.when(slows && s.Blocks.Operations > 0, "slowdown.limit", "%d is not allowed with blocks"+one, n)
	c.when(slows && s.Knee.At > 0, "slowdown.limit", "%d is not allowed with a knee: choose one of them", n)
	var before time.Duration
	for i, ch := range s.Capacity {
		c := c.in(fmt.Sprintf("capacity[%d]", i))
		c.when(ch.At < before, "at", "%v is not allowed after %v: changes stand in the order of time", ch.At, before)
		c.when(ch.Slots > 0 && s.Slots == 0, "slots", "%d is not allowed without server.slots", ch.Slots)
		c.when(ch.Rate > 0 && s.Rate.PerSecond == 0, "rate", "%v is not allowed without server.rate.per_second", ch.Rate)
		c.when(ch.Service > 0 && slows, "service", "%v is not allowed with a slowdown, which has one time for all requests", ch.Service)
		before = ch.At
	}
	before = 0
	for i, o := range s.Outages {
		c := c.in(fmt.Sprintf("outages[%d]", i))
		c.when(o.For == 0, "for", "0s is not allowed, want a duration from 1ns to %v", maxHorizon)
		c.when(o.From < before, "from", "%v is not allowed, the outage before ends at %v", o.From, before)
		before = o.end()
	}
}

func (r Rate) check(c checker) {
	most := r.PerSecond * r.Window.Seconds()
	slides := r.Window > 0 && r.PerSecond > 0
	c.when(slides && r.Burst > 1, "burst", "%v is not allowed with a window, which has no bucket", r.Burst)
	c.when(slides && (most < 1 || most > maxSlots), "window", "%v is not allowed with %v per second, want one in which there are 1 to %d requests", r.Window, r.PerSecond, maxSlots)
}

func (q Quota) check(c checker) {
	c.when(q.Limit == 0 || q.Per == 0, "", "%v per %v is not allowed, want a limit and a per that are more than 0", q.Limit, q.Per)
}

func (f Failures) check(c checker) {
	c.when(f.Period > 0 && (f.For == 0 || f.For >= f.Period), "period", "%v is not allowed with for: %v, want a for that is longer than 0 and shorter than the period", f.Period, f.For)
}

func (s Spread) check(c checker) {
	switch {
	case s.Width == 0:
	case s.Kind == lognormalWord:
		c.bounds("width", reflect.ValueOf(s.Width), "0 3")
	case s.Kind == uniformWord:
		c.bounds("width", reflect.ValueOf(s.Width), "0 1")
	default:
		c.fail("width", "%v is not allowed, only a uniform or lognormal spread has a width", s.Width)
	}
}

func (s Clients) check(c checker) {
	// So that the last client starts within the longest horizon.
	c.wrong(setting.Duration("stagger", &s.Stagger, 0, 0, maxHorizon/time.Duration(max(s.Count, 1))), nil)
	const with = "%v is not allowed with arrivals: %s"
	arrivals := s.withDefaults().Arrivals
	rated := arrivals == steadyWord || arrivals == poisson
	c.when(rated != (s.Rate > 0), "rate", with, s.Rate, arrivals)
	c.when(s.Stagger > 0 && arrivals != onceWord && arrivals != closedWord, "stagger", with, s.Stagger, arrivals)
	c.when(s.Burst.Operations > 0 && (arrivals == closedWord || arrivals == periodicWord), "burst.operations", with, s.Burst.Operations, arrivals)
	if arrivals == periodicWord {
		_, err := grid.New(beginning, grid.Settings{Period: s.Period})
		c.wrong(err, nil)
		c.when(s.Start != "" && s.onGrid(), "start", "%q is not allowed with form: %s, which has a start of its own", s.Start, s.withDefaults().Form)
	}
}

func (s Strategy) check(c checker) {
	c.when(s.Name == "", "name", "a strategy needs a name")
	_, err := budget.New(budget.Settings(s.Budget))
	c.in("budget").wrong(err, nil)
	c.when(s.Sense != 0 && s.Window.on(), "sense", "%v is not allowed with a window", s.Sense)
}

func (r Retry) check(c checker) {
	if b := r.Delays(); b != nil {
		c.wrong(backoff.Check(b), inBackoff)
	}
}

func (w Window) check(c checker) {
	if w.Law != "" && w.Law != withoutIgnoredWord {
		c.of("law", w.Law, Laws()...)
	}
	c.when(w.Factor != 0 && w.Law != "" && !w.cuts(), "factor", "%v is not allowed with law: %s, which has none", w.Factor, w.Law)
	if law := w.MakeLaw(); law != nil {
		_, err := limiter.New[int](law, w.settings(nil))
		c.wrong(err, nil)
	}
}
