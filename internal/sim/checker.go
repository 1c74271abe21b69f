package sim

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aimd-go/aimd/internal/check"
	"github.com/aimd-go/aimd/setting"
)

// settings is a struct of settings. It checks each of its fields and, if these are right, the rules among them.
type settings interface{ check(checker) }

func problems(path string, s settings) (errs []error) {
	s.check(checker{path, &errs, 0})
	return errs
}

// checker collects the errors of the fields below one path. A field that is zero has its default, and is right.
type checker struct {
	path string
	errs *[]error
	// before is the number of errors that there were before.
	before int
}

func (c checker) right() bool { return len(*c.errs) == c.before }

// below checks a field that has fields.
func (c checker) below(field string, s settings) { s.check(c.in(field)) }

// each checks the items of a list.
func each[T settings](c checker, field string, items []T) {
	for i, x := range items {
		c.below(fmt.Sprintf("%s[%d]", field, i), x)
	}
}

func (c checker) duration(field string, d, low, high time.Duration) {
	if d != 0 {
		c.wrong(check.Duration(field, &d, 0, low, high))
	}
}

// time checks a duration without other bounds.
func (c checker) time(field string, d time.Duration) { c.duration(field, d, 0, maxHorizon) }

func (c checker) count(field string, n, low, high int) {
	if n != 0 {
		c.wrong(check.Count(field, &n, 0, low, high))
	}
}

func (c checker) number(field string, x, low, high float64) {
	if x != 0 {
		c.wrong(check.Number(field, &x, 0, low, high))
	}
}

func (c checker) word(field, word string, allowed ...string) {
	if word != "" {
		c.wrong(check.OneOf(field, word, allowed...))
	}
}

// needs says that a field has no effect without another one.
func needs[A, B comparable](c checker, field string, v A, other string, with B) {
	var none A
	var without B
	c.when(v != none && with == without, field, v, "%s with it", other)
}

// in is the checker of the fields below a field.
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
