// Package check checks settings by the rule of package setting. All its errors are setting.Error, in the same
// words: the setting, the value, and the allowed values.
package check

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aimd-go/aimd/setting"
)

// Wrong returns a setting.Error about the setting with that value. want says which values are allowed, in the
// manner of fmt.Sprintf.
func Wrong(name string, value any, want string, args ...any) error {
	return &setting.Error{Name: name, Value: fmt.Sprint(value), Want: fmt.Sprintf(want, args...)}
}

// Nil returns a setting.Error about a required setting that is nil.
func Nil(name string) error { return &setting.Error{Name: name, Value: "nil"} }

// The functions that take a pointer set a zero to the fallback. Then all return a setting.Error unless the value
// is within the bounds, lo and hi among them.

// Duration checks a duration. A hi of math.MaxInt64 is no bound.
func Duration(name string, d *time.Duration, fallback, lo, hi time.Duration) error {
	return between(name, d, fallback, lo, hi, math.MaxInt64, "duration")
}

// Number checks a number; NaN is never allowed.
func Number(name string, x *float64, fallback, lo, hi float64) error {
	orDefault(x, fallback)
	if !(*x >= lo && *x <= hi) {
		return Wrong(name, *x, "a number from %s to %s", Plain(lo), Plain(hi))
	}
	return nil
}

// Share checks a part of a whole: greater than 0 and less than 1.
func Share(name string, x *float64, fallback float64) error {
	orDefault(x, fallback)
	if !(*x > 0 && *x < 1) {
		return Wrong(name, *x, "a number greater than 0 and less than 1")
	}
	return nil
}

// Count checks a whole number. A hi of math.MaxInt is no bound.
func Count(name string, n *int, fallback, lo, hi int) error {
	return between(name, n, fallback, lo, hi, math.MaxInt, "number")
}

func between[T int | time.Duration](name string, v *T, fallback, lo, hi, unbounded T, kind string) error {
	orDefault(v, fallback)
	switch {
	case *v >= lo && *v <= hi:
		return nil
	case hi == unbounded:
		return Wrong(name, *v, "a %s from %v", kind, lo)
	}
	return Wrong(name, *v, "a %s from %v to %v", kind, lo, hi)
}

// Optional checks a duration or a number; 0 means no limit: 0 or more.
func Optional[T time.Duration | int](name string, v T) error {
	if v >= 0 {
		return nil
	}
	if _, ok := any(v).(int); ok {
		return Wrong(name, v, "a number from 1, or 0 for none")
	}
	return Wrong(name, v, "a positive duration, or 0 for none")
}

// OneOf checks that the value is one of the two or more allowed values.
func OneOf[T comparable](name string, v T, allowed ...T) error {
	if slices.Contains(allowed, v) {
		return nil
	}
	words := make([]string, len(allowed))
	for i, a := range allowed {
		words[i] = fmt.Sprint(a)
	}
	last := len(words) - 1
	return Wrong(name, v, "%s or %s", strings.Join(words[:last], ", "), words[last])
}

// Plain is a number in full: 1048576, not 1.048576e+06.
func Plain(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

func orDefault[T comparable](v *T, fallback T) {
	var zero T
	if *v == zero {
		*v = fallback
	}
}
