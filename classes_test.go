package aimd_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
)

// "A limiter's Name is its class, unless its Config has a Name. For another class For returns an error that names
// the classes. No limiter is evicted."
func TestClasses(t *testing.T) {
	classes, err := aimd.NewClasses(map[string]aimd.Config{"read": {}, "write": {Name: "uploads", InitialWindow: 2}})
	require.NoError(t, err)
	for range 3 {
		_, err = classes.For("raed")
		require.EqualError(t, err, `aimd: class: "raed" is not allowed, want read, write`)
	}
	names := map[string]string{}
	for class, l := range classes.All() {
		names[class] = l.Snapshot().Name
	}
	assert.Equal(t, map[string]string{"read": "read", "write": "uploads"}, names)
	write, err := classes.For("write")
	require.NoError(t, err)
	assert.EqualValues(t, 2, write.Snapshot().Cwnd)

	for want, configs := range map[string]map[string]aimd.Config{
		"aimd: classes: none is not allowed, want one at least": nil,
		`aimd: class "b": InitialWindow: -1 is not allowed`:     {"a": {}, "b": {InitialWindow: -1}},
	} {
		_, err := aimd.NewClasses(configs)
		assert.ErrorContains(t, err, want)
	}
}
