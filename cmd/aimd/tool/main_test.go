package tool_test

import (
	"os"
	"testing"
)

// TestMain has the test's binary be the program of the example, if a test says so.
func TestMain(m *testing.M) {
	if os.Getenv("AIMD_EXAMPLE") != "" {
		ExampleMain()
	}
	m.Run()
}
