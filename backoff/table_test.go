package backoff_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	b "github.com/aimd-go/aimd/backoff"
)

// worked are the rows of the table in doc.go.
var worked = []struct {
	text    string
	backoff b.Backoff
}{
	{"Constant(time.Second)", b.Constant(time.Second)},
	{"Fibonacci{}", b.Fibonacci{}},
	{"Exponential{}", b.Exponential{}},
	{"Exponential{Jitter: Full()}", b.Exponential{Jitter: b.Full()}},
	{"Exponential{Jitter: Equal()}", b.Exponential{Jitter: b.Equal()}},
	{"Exponential{Jitter: Proportional(0.5)}", b.Exponential{Jitter: b.Proportional(0.5)}},
	{"Exponential{Jitter: Normal(0.1)}", b.Exponential{Jitter: b.Normal(0.1)}},
	{"Decorrelated{}", b.Decorrelated{}},
	{"Crash, blue:  Compound{100ms, 10min, 2.7, Normal(0.1)}", b.Compound{Min: 100 * time.Millisecond, Max: 10 * time.Minute, Factor: 2.7, Jitter: b.Normal(0.1)}},
	{"Crash, green: Compound{1s, 5min, 1.5, Normal(0.1)}", b.Compound{Min: time.Second, Max: 5 * time.Minute, Factor: 1.5, Jitter: b.Normal(0.1)}},
	{"Ethernet: Exponential{10ms, 1s, 2, Uniform(1, 2), CapLast}", b.Exponential{Min: 10 * time.Millisecond, Max: time.Second, Factor: 2, Jitter: b.Uniform(1, 2), CapLast: true}},
	{"Clojure: LastTry{1s, 2, 10s}", b.LastTry{Time: time.Second, Rate: 2, Max: 10 * time.Second}},
	{"SafeClients: WithJitter(LastTry{10s, 2, 300s + 1ns}, Proportional(0.5))", b.WithJitter(b.LastTry{Time: 10 * time.Second, Rate: 2, Max: 300*time.Second + 1}, b.Proportional(0.5))},
	{"Syncmusings: Exponential{50ms, 30s, 2, Proportional(0.6), CapLast}", b.Exponential{Min: 50 * time.Millisecond, Max: 30 * time.Second, Factor: 2, Jitter: b.Proportional(0.6), CapLast: true}},
}

// row is the delays in seconds before retries 1 to 10: the shortest and the longest that the random
// source can make of them. A normal deviate has no longest, there the middle stands with its first
// standard deviation.
func row(x b.Backoff) string {
	lo, hi := delays(x, fixed{0, -1}, 10), delays(x, fixed{1, 1}, 10)
	var cells []string
	for i := range lo {
		cell := short(lo[i])
		if lo[i] != hi[i] {
			cell += "-" + short(hi[i])
		}
		cells = append(cells, cell)
	}
	if len(cells) < 10 {
		cells = append(cells, "no more")
	}
	return strings.Join(cells, "  ")
}

func short(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'g', 3, 64) }

// The table of delays in the package comment is the code's.
func TestDocTable(t *testing.T) {
	var want strings.Builder
	for _, w := range worked {
		fmt.Fprintf(&want, "//\t%s\n//\t    %s\n", w.text, row(w.backoff))
	}
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	assert.Contains(t, string(doc), want.String())
}
