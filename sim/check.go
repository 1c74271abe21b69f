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
	"github.com/aimd-go/aimd/internal/grid"
	"github.com/aimd-go/aimd/internal/setting"
	"github.com/aimd-go/aimd/limiter"
)

// Bounds of times and whole numbers, so that every run ends and fits into memory. Our choice; the tags of the
// fields have other bounds.
const (
	maxHorizon = 30 * 24 * time.Hour
	maxNumber  = 10_000_000
	anyTime    = "0s 720h"
	anyNumber  = "0 10000000"
)

// Validate returns nil, or an error that joins an aimd.SettingError for each field of the scenario and of the
// strategies that is wrong, in the order of the fields. Its Name is the field's path as in a scenario file:
// "server.outages[1].from", "strategies[0].retry.min".
func (s Scenario) Validate(strategies ...Strategy) error {
	err := validate("", s)
	for i, st := range strategies {
		err = append(err, validate(fmt.Sprintf("strategies[%d]", i), st)...)
	}
	return errors.Join(err...)
}

func validate(path string, v any) (errs []error) {
	checker{path, &errs}.fields(reflect.ValueOf(v))
	return errs
}

// checker collects the errors of the fields below one path.
type checker struct {
	path string
	errs *[]error
}

// fields checks each field of a struct that has a name in files: a field that is not zero has to be within its
// bounds, as in:"0 1", and be one of its words, as of:"a b". If each field is right, needs:"slots" names the
// field without which a field has no effect, and the struct's method check has the rules among fields.
func (c checker) fields(v reflect.Value) {
	before := len(*c.errs)
	each := func(do func(name string, tag reflect.StructTag, f reflect.Value)) {
		for i := range v.NumField() {
			tag := v.Type().Field(i).Tag
			if name := tag.Get("yaml"); name > "-" && !v.Field(i).IsZero() {
				do(name, tag, v.Field(i))
			}
		}
	}
	set := map[string]bool{}
	each(func(name string, tag reflect.StructTag, f reflect.Value) {
		set[name] = true
		switch words := strings.Fields(tag.Get("of")); {
		case f.Kind() == reflect.Slice:
			for i := range f.Len() {
				c.in(name + "[" + strconv.Itoa(i) + "]").fields(f.Index(i))
			}
		case f.Kind() == reflect.Struct:
			c.in(name).fields(f)
		case len(words) > 0:
			c.wrong(setting.OneOf(name, f.String(), words...))
		default:
			c.bounds(name, f.Interface(), tag.Get("in"))
		}
	})
	if len(*c.errs) > before {
		return
	}
	each(func(name string, tag reflect.StructTag, f reflect.Value) {
		needed := tag.Get("needs")
		c.when(needed != "" && !set[needed], name, f, "%s with it", needed)
	})
	if x, ok := v.Interface().(interface{ check(checker) }); ok {
		x.check(c)
	}
}

// bounds allows the numbers between two bounds, which are with them. Without bounds a duration and a whole
// number have the bounds of this package.
func (c checker) bounds(field string, v any, bounds string) {
	switch x := v.(type) {
	case time.Duration:
		low, high, _ := strings.Cut(cmp.Or(bounds, anyTime), " ")
		c.wrong(setting.Duration(field, &x, 0, *checked(time.ParseDuration(low)), *checked(time.ParseDuration(high))))
	case int:
		low, high, _ := strings.Cut(cmp.Or(bounds, anyNumber), " ")
		c.wrong(setting.Count(field, &x, 0, *checked(strconv.Atoi(low)), *checked(strconv.Atoi(high))))
	case float64:
		if low, high, given := strings.Cut(bounds, " "); given {
			c.wrong(setting.Number(field, &x, 0, *checked(strconv.ParseFloat(low, 64)), *checked(strconv.ParseFloat(high, 64))))
		}
	}
}

// in is the checker of the fields below a field.
func (c checker) in(field string) checker {
	return checker{strings.Trim(c.path+"."+field, "."), c.errs}
}

// when notes a wrong value of a field if something is wrong; want says which values are allowed.
func (c checker) when(wrong bool, field string, value any, want string, args ...any) {
	if wrong {
		*c.errs = append(*c.errs, setting.Wrong(c.in(field).path, value, want, args...))
	}
}

// wrong notes an error of one of our packages about a setting.
func (c checker) wrong(err error) {
	s := &setting.Error{Value: fmt.Sprint(err), Want: "another"}
	errors.As(err, &s)
	c.when(err != nil, strings.ToLower(s.Name), s.Value, "%s", s.Want)
}

func (s Scenario) check(c checker) {
	const want = "clients.timeout with it: clients wait for a lost answer until then"
	forever := s.Clients.Timeout == 0
	c.when(forever && s.Server.Failures.Lost, "server.failures.lost", true, want)
	for i, o := range s.Server.Outages {
		c.when(forever && o.Kind == lostWord, fmt.Sprintf("server.outages[%d].kind", i), o.Kind, want)
	}
}

func (s Server) check(c checker) {
	c.when(s.Reserve > 0 && s.Queue > 0, "reserve", s.Reserve, "no queue with it, which knows no priorities")
	c.when(s.Jam > 0 && s.Queue > 0, "jam", s.Jam, "no queue with it")
	const one = "no %s with it: it is one time for all requests"
	steep := s.Knee.steep()
	c.when(steep && s.Spread.Kind != "" && s.Spread.Kind != constantWord, "knee.factor", s.Knee.Factor, one, "spread")
	c.when(steep && s.Blocks.Operations > 0, "knee.factor", s.Knee.Factor, one, "blocks")
	var before time.Duration
	for i, ch := range s.Capacity {
		c := c.in(fmt.Sprintf("capacity[%d]", i))
		c.when(ch.At < before, "at", ch.At, "%v or later: changes stand in the order of time", before)
		c.when(ch.Slots > 0 && s.Slots == 0, "slots", ch.Slots, "server.slots with it")
		c.when(ch.Service > 0 && steep, "service", ch.Service, "no server.knee.factor with it, which has one time for all requests")
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

func (k Knee) check(c checker) {
	c.when(k.Factor > 0 && k.Slope > 0, "factor", k.Factor, "no slope with it: choose one of them")
}

func (r Rate) check(c checker) {
	most := r.PerSecond * r.Window.Seconds()
	c.when(r.Window > 0 && r.Burst > 1, "burst", r.Burst, "no window with it, which has no bucket")
	c.when(r.PerSecond > 0 && r.Window > 0 && (most < 1 || most > maxNumber), "window", r.Window, "one in which there are 1 to %d requests, at %v per second", maxNumber, r.PerSecond)
}

func (b Block) check(c checker) {
	c.when(b.For > 0 && b.Requests == 0 && !b.Refused, "requests", 0, "a number from 1 to %d, or refused", maxNumber)
}

func (q Quota) check(c checker) {
	c.when(q.Limit == 0, "limit", 0, "a number that is more than 0")
	c.when(q.Per == 0, "per", "0s", "a duration that is more than 0")
}

func (f Failures) check(c checker) {
	c.when(f.Period > 0 && (f.For == 0 || f.For >= f.Period), "period", f.Period, "a for that is longer than 0 and shorter than the period")
}

func (s Spread) check(c checker) {
	bounds, known := map[string]string{uniformWord: "0 1", lognormalWord: "0 3"}[s.Kind]
	c.when(s.Width != 0 && !known, "width", s.Width, "kind uniform or lognormal with it")
	c.bounds("width", s.Width, bounds)
}

func (s Clients) check(c checker) {
	// So that the last client starts within the longest horizon.
	c.wrong(setting.Duration("stagger", &s.Stagger, 0, 0, maxHorizon/time.Duration(max(s.Count, 1))))
	const none = "none with arrivals: %s"
	arrivals := s.withDefaults().Arrivals
	rated := arrivals == steadyWord || arrivals == poisson
	c.when(s.Rate > 0 && !rated, "rate", s.Rate, none, arrivals)
	c.when(s.Rate == 0 && rated, "rate", 0, "one with arrivals: %s", arrivals)
	c.when(s.Stagger > 0 && arrivals != onceWord && arrivals != closedWord, "stagger", s.Stagger, none, arrivals)
	c.when(s.Burst > 0 && (arrivals == closedWord || arrivals == periodicWord), "burst", s.Burst, none, arrivals)
	if arrivals == periodicWord {
		_, err := grid.New(beginning, grid.Settings{Period: s.Period})
		c.wrong(err)
		c.when(s.Start != "" && s.onGrid(), "start", strconv.Quote(s.Start), "none with form: %s, which has a start of its own", s.withDefaults().Form)
	}
}

func (s Strategy) check(c checker) {
	c.when(!(s.Budget >= 0 && s.Budget < 1), "budget", s.Budget, "a number from 0 to less than 1")
	if s.Retry != nil {
		c.in("retry").wrong(backoff.Check(*s.Retry))
	}
	c.when(s.Sense != 0 && s.Window.on(), "sense", s.Sense, "no window with it")
}

func (w Window) check(c checker) {
	law := w.MakeLaw()
	switch {
	case w.Law == "" && law == nil:
		c.when(true, "law", `""`, "one: the other fields are about it")
		return
	case law == nil:
		c.wrong(setting.OneOf("law", w.Law, Laws()...))
		return
	}
	cuts := w.Law == "" || w.Law == "tahoe" || w.Law == "reno" || w.Law == withoutIgnoredWord
	c.when(w.Factor != 0 && !cuts, "factor", w.Factor, "none with law: %s", w.Law)
	_, err := limiter.NewGate(law, w.settings(nil))
	c.wrong(err)
}
