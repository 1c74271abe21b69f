package sim

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/aimd-go/aimd/internal/check"
	"github.com/aimd-go/aimd/setting"
)

// ruled is a struct of settings with rules among its fields. They are checked if each field is right.
type ruled interface{ check(checker) }

func problems(path string, settings any) (errs []error) {
	checker{"", &errs, 0}.below(path, settings)
	return errs
}

// checker collects the errors of the fields below one path.
type checker struct {
	path string
	errs *[]error
	// before is the number of errors that there were before.
	before int
}

func (c checker) below(field string, settings any) {
	c = c.in(field)
	v := reflect.ValueOf(settings)
	for i := range v.NumField() {
		c.field(v.Type().Field(i), v.Field(i))
	}
	if s, ok := settings.(ruled); ok && len(*c.errs) == c.before {
		s.check(c)
	}
}

// field checks a field by its tag "in", which has its bounds, as "1ms..1h", or its words, as "a|b". Without bounds a
// duration is from 0 to maxHorizon, and a whole number from 0 to maxNumber. What is zero has its default, and is right.
func (c checker) field(f reflect.StructField, v reflect.Value) {
	name, in := f.Tag.Get("yaml"), f.Tag.Get("in")
	if name == "-" {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		c.below(name, v.Interface())
	case reflect.Slice:
		for i := range v.Len() {
			c.below(fmt.Sprintf("%s[%d]", name, i), v.Index(i).Interface())
		}
	}
	if v.IsZero() {
		return
	}
	switch x := v.Interface().(type) {
	case time.Duration:
		lo, hi := bounds(in, 0, maxHorizon, time.ParseDuration)
		c.wrong(check.Duration(name, &x, 0, lo, hi))
	case int:
		lo, hi := bounds(in, 0, maxNumber, strconv.Atoi)
		c.wrong(check.Count(name, &x, 0, lo, hi))
	case float64:
		if in != "" {
			lo, hi := bounds(in, 0, 0, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })
			c.wrong(check.Number(name, &x, 0, lo, hi))
		}
	case string:
		if in != "" {
			c.wrong(check.OneOf(name, x, strings.Split(in, "|")...))
		}
	}
}

func bounds[T any](tag string, lo, hi T, parse func(string) (T, error)) (T, T) {
	from, to, ok := strings.Cut(tag, "..")
	if !ok {
		return lo, hi
	}
	return checked(parse(from)), checked(parse(to))
}

// needs says that a field has no effect without another one.
func needs[A, B comparable](c checker, field string, v A, other string, with B) {
	var none A
	var without B
	c.when(v != none && with == without, field, v, "%s with it", other)
}

func (c checker) in(field string) checker {
	return checker{strings.Trim(c.path+"."+field, "."), c.errs, len(*c.errs)}
}

// when notes a wrong value of a field if something is wrong; want says which values are allowed.
func (c checker) when(wrong bool, field string, value any, want string, args ...any) {
	if wrong {
		*c.errs = append(*c.errs, check.Wrong(c.in(field).path, value, want, args...))
	}
}

// wrong notes an error of one of our packages about a setting.
func (c checker) wrong(err error) {
	s := &setting.Error{Value: fmt.Sprint(err), Want: "another"}
	errors.As(err, &s)
	c.when(err != nil, strings.ToLower(s.Name), s.Value, "%s", s.Want)
}
