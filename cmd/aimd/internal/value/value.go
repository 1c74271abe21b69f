// Package value has settings that check what they are given: flags of the command line and fields of files alike.
package value

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
)

// Value is a setting that checks its values. The error of Set says which values are allowed;
// the caller adds the names of the setting and the value, as the flag library does.
type Value[T any] struct {
	to *T
	// kind stands for the value in the help.
	kind  string
	want  string
	parse func(string) (T, bool)
	show  func(T) string
}

// Set implements pflag.Value.
func (v *Value[T]) Set(s string) error {
	x, ok := v.parse(s)
	if !ok {
		return errors.New("want " + v.want)
	}
	*v.to = x
	return nil
}

// Type implements pflag.Value.
func (v *Value[T]) Type() string { return v.kind }

// String implements pflag.Value.
func (v *Value[T]) String() string {
	if v.to == nil { // the flag library compares with a zero Value
		return ""
	}
	return v.show(*v.to)
}

func within[T cmp.Ordered](parse func(string) (T, error), lo, hi T) func(string) (T, bool) {
	return func(s string) (T, bool) {
		x, err := parse(s)
		return x, err == nil && lo <= x && x <= hi // false for NaN
	}
}

// Whole is a whole number from lo to hi.
func Whole(to *int, lo, hi int) *Value[int] {
	return &Value[int]{to, "number", fmt.Sprintf("a whole number from %d to %d", lo, hi), within(strconv.Atoi, lo, hi), strconv.Itoa}
}

// Decimal is a number from lo to hi.
func Decimal(to *float64, lo, hi float64) *Value[float64] {
	parse := within(func(s string) (float64, error) { return strconv.ParseFloat(s, 64) }, lo, hi)
	show := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	return &Value[float64]{to, "number", fmt.Sprintf("a number from %g to %g", lo, hi), parse, show}
}

// Factor is a number greater than 0 and less than 1.
func Factor(to *float64) *Value[float64] {
	v := Decimal(to, math.SmallestNonzeroFloat64, math.Nextafter(1, 0))
	v.want = "a number greater than 0 and less than 1"
	return v
}

// Duration is a duration from lo to hi, as Go writes it.
func Duration(to *time.Duration, lo, hi time.Duration) *Value[time.Duration] {
	return &Value[time.Duration]{to, "duration", "a duration from " + ShowDuration(lo) + " to " + ShowDuration(hi) + ", like 100ms", within(time.ParseDuration, lo, hi), ShowDuration}
}

// OrNone allows 0 too, which turns the setting off.
func OrNone[T any](v *Value[T]) *Value[T] {
	parse := v.parse
	v.want += ", or 0 for none"
	v.parse = func(s string) (x T, ok bool) {
		if s == "0" || s == "0s" {
			return x, true
		}
		return parse(s)
	}
	return v
}

// zeros are the units of a duration that are zero.
var zeros = regexp.MustCompile(`(\D)(0m)?0s$`)

// ShowDuration leaves out the units that are zero: 1m, not 1m0s.
func ShowDuration(d time.Duration) string { return zeros.ReplaceAllString(d.String(), "$1") }

// Rounded is d in as many digits as are worth reading.
func Rounded(d time.Duration) string {
	unit := time.Nanosecond
	for unit*10_000 <= d {
		unit *= 10
	}
	return ShowDuration(d.Round(unit))
}

// Size is a number of bytes from lo to hi.
func Size(to *int64, lo, hi int64) *Value[int64] {
	want := "a size from " + ShowSize(lo) + " to " + ShowSize(hi) + ", in bytes, KiB, MB or another unit"
	return &Value[int64]{to, "size", want, within(parseSize, lo, hi), ShowSize}
}

var sizes = map[string]float64{
	"": 1, "B": 1, "K": 1 << 10, "KI": 1 << 10, "KIB": 1 << 10, "KB": 1e3,
	"M": 1 << 20, "MI": 1 << 20, "MIB": 1 << 20, "MB": 1e6, "G": 1 << 30, "GI": 1 << 30, "GIB": 1 << 30, "GB": 1e9,
}

func parseSize(s string) (int64, error) {
	unit := strings.TrimLeft(s, "0123456789.")
	x, err := strconv.ParseFloat(strings.TrimSuffix(s, unit), 64)
	factor, ok := sizes[strings.ToUpper(strings.TrimPrefix(unit, " "))]
	if err != nil || !ok || x*factor >= math.MaxInt64 {
		return 0, errors.New("no size")
	}
	return int64(x * factor), nil
}

// ShowSize is n in the largest unit in which it is whole.
func ShowSize(n int64) string {
	for _, unit := range []string{"GiB", "MiB", "KiB"} {
		if bytes := int64(sizes[strings.ToUpper(unit)]); n > 0 && n%bytes == 0 {
			return fmt.Sprintf("%d%s", n/bytes, unit)
		}
	}
	return fmt.Sprintf("%dB", n)
}

// Names are one or more of the allowed, with commas between them.
func Names(to *[]string, allowed []string) *Value[[]string] {
	parse := func(s string) (names []string, ok bool) {
		for name := range strings.SplitSeq(s, ",") {
			names = append(names, strings.TrimSpace(name))
		}
		return names, !slices.ContainsFunc(names, func(s string) bool { return !slices.Contains(allowed, s) })
	}
	show := func(all []string) string { return strings.Join(all, ",") }
	return &Value[[]string]{to, "names", "one or more of " + show(allowed) + ", with commas between them", parse, show}
}

// Globs are patterns of paths, one for each time that the setting is given. None could fit that has an element like "..".
func Globs(to *[]string) *Value[[]string] {
	parse := func(s string) ([]string, bool) {
		return append(*to, s), path.Clean("/"+s) == "/"+strings.TrimSuffix(strings.TrimPrefix(s, "/"), "/") && strings.Trim(s, "/") != "" && doublestar.ValidatePattern(s)
	}
	return &Value[[]string]{to, "pattern", "a pattern of a path like *.jpg, 2026/** or {a,b}/[0-9]*, without . and .. between slashes", parse, func(all []string) string { return strings.Join(all, " ") }}
}

// Choice is one of several words.
func Choice(to *string, words []string) *Value[string] {
	return Text(to, strings.Join(words, "|"), "one of "+strings.Join(words, ", "), func(s string) bool { return slices.Contains(words, s) })
}

// URL is the URL of an HTTP server, without a query and a password. want describes the allowed URLs.
func URL(to *string, want string) *Value[string] {
	return Text(to, "URL", want, func(s string) bool {
		u, err := url.Parse(s)
		if err == nil {
			_, err = net.LookupPort("tcp", u.Port()) // 65536 is not found
		}
		return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && !strings.ContainsAny(s, "?#") && u.User == nil
	})
}

// Address is the address at which a server listens.
func Address(to *string) *Value[string] {
	return Text(to, "host:port", "a host or none, and a port from 0 to 65535, like 127.0.0.1:8070; port 0 is any that is free", func(s string) bool {
		_, port, err := net.SplitHostPort(s)
		if err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		}
		return err == nil
	})
}

// Text is a text that the function allows. want describes the allowed texts, and kind stands for the value in the help.
func Text(to *string, kind, want string, allowed func(string) bool) *Value[string] {
	return &Value[string]{to, kind, want, func(s string) (string, bool) { return s, allowed(s) }, strings.Clone}
}

// Given is a text that is not empty. Who gives an empty one has a variable without a value, and means no default.
func Given(to *string, kind, want string) *Value[string] {
	return Text(to, kind, want, func(s string) bool { return s != "" })
}
