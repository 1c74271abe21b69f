// Package client is the many clients of "Exponential Backoff or how not to crash a
// server": each sends requests at random moments, and deals with failures as its
// strategy says.
package client

import (
	"io"
	"time"

	"github.com/aimd-go/aimd/sim"
)

// Config is who sends how much where. All numbers must be positive.
type Config struct {
	// URL is what is asked for.
	URL string
	// Clients send one request at a time each.
	Clients int
	// Lambda is the mean time from the end of a client's operation to the begin of
	// its next, which is distributed exponentially.
	Lambda time.Duration
	// Timeout is the most time for an attempt.
	Timeout time.Duration
	// Strategy is what is done after a failure; see Strategies and Named.
	Strategy sim.Strategy
}

// Options are what a run needs beside that.
type Options struct {
	// Report is how often a line is written.
	Report time.Duration
	// JSON: the lines are JSON objects.
	JSON bool
	// Stdout gets the lines.
	Stdout io.Writer
}
