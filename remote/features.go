package remote

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/atomic"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

// ErrFeatureOff: the feature of the request is off; the text names it. Limiters count it as neutral and
// final.
var ErrFeatureOff = errors.New("remote: feature is off")

// Features refuses the requests of features that a document has in features_off. A request belongs to the
// feature of its context's tags (tag.WithFeature); a request without a feature is never refused.
//
// It is an Applier and an attempt.Guard: with aimd.WithGuard(&features), Do, Each and the integrations
// (httplimit.Transport among them) ask it before each attempt waits for a slot. A program without a limiter
// calls Admit itself. It is safe for any number of goroutines. In the zero value no feature is off.
type Features struct {
	off atomic.Pointer[map[string]bool]
}

// Admit returns an error that matches ErrFeatureOff if the context's feature is off.
func (f *Features) Admit(ctx context.Context, _ int) error {
	feature := tag.FromContext(ctx).Feature
	if off := f.off.Load(); off != nil && (*off)[feature] {
		return featureOff(feature)
	}
	return nil
}

// Ended is there for attempt.Guard; how attempts end makes no difference.
func (f *Features) Ended(context.Context, window.Outcome) {}

// Check returns nil: a valid document fits.
func (f *Features) Check(Document) error { return nil }

// Apply refuses the features that the document has, and no others.
func (f *Features) Apply(d Document) {
	off := make(map[string]bool, len(d.FeaturesOff))
	for _, feature := range d.FeaturesOff {
		off[feature] = true
	}
	f.off.Store(&off)
}

// featureOff is the ErrFeatureOff of a feature.
type featureOff string

func (f featureOff) Error() string        { return fmt.Sprintf("%v: %q", ErrFeatureOff, string(f)) }
func (f featureOff) Is(target error) bool { return target == ErrFeatureOff }

// NotSent and Verdict are for guards and limiters: the service has not answered, and no retry helps.
func (f featureOff) NotSent() bool            { return true }
func (f featureOff) Verdict() attempt.Verdict { return attempt.Verdict{Outcome: window.Neutral} }
