package admission

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

// An outcome that does not exist kept the place of its place for ever.
func TestAPlaceIsGivenBackIfItsOutcomeDoesNotExist(t *testing.T) {
	c := controller(t, Fixed(1), Config{})
	p, err := c.Admit(t.Context(), tag.Tags{})
	require.NoError(t, err)
	require.Equal(t, 1, c.Snapshot().InFlight)
	require.Panics(t, func() { p.Done(99) })
	require.Zero(t, c.Snapshot().InFlight)
	require.EqualValues(t, 1, c.outcomes[window.Neutral])
}
