package sim_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// A run makes much that the next run does not need: collected at five times as much it costs a fifth less.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
