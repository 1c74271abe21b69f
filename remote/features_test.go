package remote_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/remote"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

func off(features ...string) remote.Document {
	return remote.Document{Format: 1, Version: 1, FeaturesOff: features}
}

// "Maintain a remotely configured client feature blacklist" (Safe Client Behaviour).
func TestFeatures(t *testing.T) {
	var f remote.Features
	ctx := func(feature string) context.Context { return tag.WithFeature(t.Context(), feature) }
	require.NoError(t, f.Admit(ctx("a"), 1), "the zero value holds nothing back")
	require.NoError(t, f.Check(off("a", "b")))
	f.Apply(off("a", "b"))
	err := f.Admit(ctx("a"), 1)
	require.ErrorIs(t, err, remote.ErrFeatureOff)
	require.EqualError(t, err, `remote: feature is off: "a"`)
	require.Equal(t, attempt.Verdict{Outcome: window.Neutral}, attempt.Classify(fmt.Errorf("wrapped: %w", err)))
	require.Error(t, f.Admit(ctx("b"), 1))
	require.NoError(t, f.Admit(ctx("A"), 1))
	require.NoError(t, f.Admit(ctx("ab"), 1))
	require.NoError(t, f.Admit(t.Context(), 1), "what says nothing is not held back")
	f.Apply(off("b"))
	require.NoError(t, f.Admit(ctx("a"), 1))
	f.Ended(ctx("b"), window.Success)
	require.Error(t, f.Admit(ctx("b"), 1))
}
