package scenario

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Tolerance is how far a number may be off: by so much, or by such a share. The
// zero value: not at all, but for what is lost in print.
type Tolerance struct {
	Value float64
	// Share makes Value a share: 0.06 is 6%.
	Share bool
}

var errTolerance = errors.New("a number from 0 like 0.5, or a share like 6%")

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *Tolerance) UnmarshalText(b []byte) error {
	number, share := strings.CutSuffix(string(b), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !(v >= 0) || math.IsInf(v, 0) {
		return errTolerance
	}
	if share {
		v /= 100
	}
	*t = Tolerance{v, share}
	return nil
}

// String is what UnmarshalText reads.
func (t Tolerance) String() string {
	if t.Share {
		return strconv.FormatFloat(100*t.Value, 'g', 6, 64) + "%"
	}
	return strconv.FormatFloat(t.Value, 'g', -1, 64)
}

// Allows reports whether got is near enough to want.
func (t Tolerance) Allows(got, want float64) bool {
	off := t.Value
	if t.Share {
		off *= math.Abs(want)
	}
	return math.Abs(got-want) <= off+1e-9*math.Abs(want)
}
