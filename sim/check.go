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

// Validate returns nil, or an error that joins an aimd.SettingError for each field that is wrong, in the order of
// the fields. Its Name is the field's path as in a scenario file: "server.outages[1].from".
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
			c.fail(tag.Get("yaml"), f, "%s with it", needed)
		}
	}
	if x, ok := v.Interface().(interface{ check(checker) }); ok {
		x.check(c)
	}
}

func (c checker) of(field, v string, allowed ...string) {
	var wrong *setting.Error
	if errors.As(setting.OneOf(field, v, allowed...), &wrong) {
		c.fail(field, strconv.Quote(v), "%s", wrong.Want)
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

// fail notes that a field has a wrong value; want says which values are allowed.
func (c checker) fail(field string, value any, want string, args ...any) {
	*c.errs = append(*c.errs, setting.Wrong(c.in(field).path, value, want, args...))
}

// when fails if something is wrong.
func (c checker) when(wrong bool, field string, value any, want string, args ...any) {
	if wrong {
		c.fail(field, value, want, args...)
	}
}

// wrong notes an error of one of our packages about a setting: fields has the fields of the settings
// that have another name here.
func (c checker) wrong(err error, fields map[string]string) {
	var s *setting.Error
	switch {
	case err == nil:
	case errors.As(err, &s):
		c.fail(cmp.Or(fields[s.Name], strings.ToLower(s.Name)), s.Value, "%s", s.Want)
	default:
		c.fail("", err, "another")
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
	const want = "clients.timeout with it: clients wait for a lost answer until then"
	forever := s.Clients.Timeout == 0
	c.when(forever && s.Server.Failures.Lost, "server.failures.lost", true, want)
	for i, o := range s.Server.Outages {
		c.when(forever && o.Kind == lostWord, fmt.Sprintf("server.outages[%d].kind", i), o.Kind, want)
	}
	names := map[string]bool{}
	for i, st := range s.Strategies {
		c.when(names[st.Name], fmt.Sprintf("strategies[%d].name", i), st.Name, "another name: a strategy before has that one")
		names[st.Name] = true
	}
}

func (s Server) check(c checker) {
	c.when(s.Reserve > 0 && s.Queue > 0, "reserve", s.Reserve, "no queue with it, which knows no priorities")
	n := s.Slowdown.Limit
	slows := n > 0
	c.when(slows && s.Spread.Kind != "" && s.Spread.Kind != constantWord, "slowdown.limit", n, "no spread with it: a slowdown has one time for all requests")
	c.when(slows && s.Knee.At > 0, "slowdown.limit", n, "no knee with it: choose one of them")
	c.when(slows && s.Blocks.Operations > 0, "slowdown.limit", n, "no blocks with it: a slowdown has one time for all requests")
	var before time.Duration
	for i, ch := range s.Capacity {
		c := c.in(fmt.Sprintf("capacity[%d]", i))
		c.when(ch.At < before, "at", ch.At, "%v or later: changes stand in the order of time", before)
		c.when(ch.Slots > 0 && s.Slots == 0, "slots", ch.Slots, "server.slots with it")
		c.when(ch.Service > 0 && slows, "service", ch.Service, "no slowdown with it, which has one time for all requests")
		before = ch.At
	}
	before = 0
	for i, o := range s.Outages {
		c := c.in(fmt.Sprintf("outages[%d]", i))
		c.when(o.For == 0, "for", o.For, "a duration from 1ns to %v", maxHorizon)
		c.when(o.From < before, "from", o.From, "%v or later, when the outage before has ended", before)
		before = o.end()
	}
}

func (r Rate) check(c checker) {
	most := r.PerSecond * r.Window.Seconds()
	slides := r.Window > 0 && r.PerSecond > 0
	c.when(slides && r.Burst > 1, "burst", r.Burst, "no window with it, which has no bucket")
	c.when(slides && (most < 1 || most > maxSlots), "window", r.Window, "one in which there are 1 to %d requests, at %v per second", maxSlots, r.PerSecond)
}

func (q Quota) check(c checker) {
	c.when(q.Limit == 0, "limit", 0, "a number that is more than 0")
	c.when(q.Per == 0, "per", "0s", "a duration that is more than 0")
}

func (f Failures) check(c checker) {
	c.when(f.Period > 0 && (f.For == 0 || f.For >= f.Period), "period", f.Period, "a for that is longer than 0 and shorter than the period")
}

func (s Spread) check(c checker) {
	switch {
	case s.Width == 0:
	case s.Kind == lognormalWord:
		c.bounds("width", reflect.ValueOf(s.Width), "0 3")
	case s.Kind == uniformWord:
		c.bounds("width", reflect.ValueOf(s.Width), "0 1")
	default:
		c.fail("width", s.Width, "kind uniform or lognormal with it")
	}
}

func (s Clients) check(c checker) {
	// So that the last client starts within the longest horizon.
	c.wrong(setting.Duration("stagger", &s.Stagger, 0, 0, maxHorizon/time.Duration(max(s.Count, 1))), nil)
	const none = "none with arrivals: %s"
	arrivals := s.withDefaults().Arrivals
	rated := arrivals == steadyWord || arrivals == poisson
	c.when(s.Rate > 0 && !rated, "rate", s.Rate, none, arrivals)
	c.when(s.Rate == 0 && rated, "rate", 0, "one with arrivals: %s", arrivals)
	c.when(s.Stagger > 0 && arrivals != onceWord && arrivals != closedWord, "stagger", s.Stagger, none, arrivals)
	c.when(s.Burst > 0 && (arrivals == closedWord || arrivals == periodicWord), "burst", s.Burst, none, arrivals)
	if arrivals == periodicWord {
		_, err := grid.New(beginning, grid.Settings{Period: s.Period})
		c.wrong(err, nil)
		c.when(s.Start != "" && s.onGrid(), "start", strconv.Quote(s.Start), "none with form: %s, which has a start of its own", s.withDefaults().Form)
	}
}

func (s Strategy) check(c checker) {
	c.when(s.Name == "", "name", `""`, "a name")
	_, err := budget.New(budget.Settings{Share: s.Budget})
	c.wrong(err, map[string]string{"Share": "budget"})
	c.when(s.Sense != 0 && s.Window.on(), "sense", s.Sense, "no window with it")
}

func (r Retry) check(c checker) {
	if b := r.Delays(); b != nil {
		c.wrong(backoff.Check(b), nil)
	}
}

func (w Window) check(c checker) {
	if w.Law != "" && w.Law != withoutIgnoredWord {
		c.of("law", w.Law, Laws()...)
	}
	c.when(w.Factor != 0 && w.Law != "" && !w.cuts(), "factor", w.Factor, "none with law: %s", w.Law)
	if law := w.MakeLaw(); law != nil {
		_, err := limiter.New[int](law, w.settings(nil))
		c.wrong(err, nil)
	}
}
