package delay_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/internal/delay"
)

// docs/design.md, rule 5: "From its sixth overload in a row on, it backs off".
func TestBackoffs(t *testing.T) {
	for failures, want := range map[int]int{0: 0, 5: 0, 6: 1, 12: 7} {
		assert.Equal(t, want, delay.Backoffs(failures, true))
		assert.Equal(t, failures, delay.Backoffs(failures, false))
	}
}
