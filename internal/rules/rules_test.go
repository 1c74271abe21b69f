// Package rules tests what holds for the whole repository: who imports whom, what documents
// and comments say, and how the modules require each other.
package rules

import (
	"fmt"
	"os"
	"testing"
)

// TestMain runs the tests in the folder of the root module.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
