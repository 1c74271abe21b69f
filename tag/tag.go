// Package tag has the tags of a request: its client, its feature, its criticality, and the number of its attempt.
// "Expose information to server. Tag requests with client name and version, feature that triggered the request,
// severity of failing the request, retry or initial request" ([Safe Client Behaviour], 2018).
//
// The tags travel in the context. [NewTagger] and contrib/grpclimit put them on the wire and
// take them from it; throttle, admission and remote decide by them.
//
// [Safe Client Behaviour]: https://www.usenix.org/conference/srecon18asia/presentation/goh
package tag

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/aimd-go/aimd/internal/check"
)

// Tags describe a request. The zero value is an unknown client, no feature, Critical, and an unknown attempt.
type Tags struct {
	// Client and Version name the program that sends: "backup", "1.4.2".
	Client, Version string
	// Feature is the part of the program that caused the request: "thumbnails".
	Feature string
	// Criticality is the severity of a failure of the request.
	Criticality Criticality
	// Attempt is the attempt's number within its operation: 1 is the initial request, 2 the first retry;
	// 0: not known.
	Attempt int
}

type key struct{}

// NewContext returns a context with these tags, which replace earlier tags.
func NewContext(ctx context.Context, t Tags) context.Context {
	return context.WithValue(ctx, key{}, t)
}

// FromContext returns the context's tags, or the zero Tags.
func FromContext(ctx context.Context) Tags {
	t, _ := ctx.Value(key{}).(Tags)
	return t
}

// WithCriticality returns a context with that criticality, its other tags kept.
func WithCriticality(ctx context.Context, c Criticality) context.Context {
	t := FromContext(ctx)
	t.Criticality = c
	return NewContext(ctx, t)
}

// WithFeature returns a context with that feature, its other tags kept.
func WithFeature(ctx context.Context, feature string) context.Context {
	t := FromContext(ctx)
	t.Feature = feature
	return NewContext(ctx, t)
}

// Criticality is the severity of a failure of the request: the four levels of the SRE book, chapter "Handling
// Overload". Less critical requests are shed first. The zero value is Critical, so that a request without a
// criticality is neither preferred nor dropped first. The values are consecutive, from Sheddable to CriticalPlus.
type Criticality int8

const (
	// Sheddable may fail often: work that can be done any time later.
	Sheddable Criticality = iota - 2
	// SheddablePlus may fail sometimes: background and batch work that is tried again.
	SheddablePlus
	// Critical is for interactive requests, which a user notices. The default.
	Critical
	// CriticalPlus must not fail: other requests depend on it.
	CriticalPlus
)

var names = [...]string{"sheddable", "sheddable-plus", "critical", "critical-plus"}

func (c Criticality) valid() bool { return Sheddable <= c && c <= CriticalPlus }

// String returns the name: "critical-plus".
func (c Criticality) String() string {
	if !c.valid() {
		return fmt.Sprintf("Criticality(%d)", int8(c))
	}
	return names[c-Sheddable]
}

// MarshalText returns the name, or an error if there is no such criticality.
func (c Criticality) MarshalText() ([]byte, error) {
	if !c.valid() {
		return nil, check.Wrong("criticality", int8(c), "a number from %d to %d", Sheddable, CriticalPlus)
	}
	return []byte(c.String()), nil
}

// UnmarshalText reads a name, or returns an error that lists the names and does not change c.
func (c *Criticality) UnmarshalText(text []byte) error {
	i := slices.Index(names[:], string(text))
	if i < 0 {
		return check.Wrong("criticality", strconv.Quote(string(text)), "sheddable, sheddable-plus, critical or critical-plus")
	}
	*c = Sheddable + Criticality(i)
	return nil
}
