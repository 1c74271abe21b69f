// Command rivals is aimd with other ways to adapt a window, to compare with: congestion
// controls of TCP, and the ones of libraries and tools. Each is written from its source with
// the published defaults, as a law of this library's limiter, which counts the requests in
// flight, queues and retries for all alike.
//
// A law is in the table if its admission test holds it to numbers that its source published. They are the numbers of
// its project's tests, for CUBIC the tables of its RFC, for Loki its reference of settings. All laws of the table are
// admitted, and the constants are as in the sources at the commits that the test names. Not held are the numbers of
// modes that are off by default: two of AzCopy's nine tables (benchmarks), and failsafe-go's bounds that decay or
// remember. Nor are Lance's closed loop with its burst, and zenvark's fleet in Redis. Not admitted, for their sources
// publish no numbers of the law: polars' rate limiter, and niks3, which has only bounds. A law sees the requests in
// flight at an answer, where some sources count at the send.
//
//	go run . sim run law-100-a-second --strategies probe,cubic,vegas
package main

import (
	"os"
	"time"

	"github.com/aimd-go/aimd/cmd/aimd/tool"
	"github.com/aimd-go/aimd/window"
)

// rivals are the laws, each with the first window and the bounds of its source.
var rivals = []struct {
	name               string
	law                window.NewLaw
	first, least, most float64
}{
	{"cubic", newCubic, 10, 1, 1 << 20},
	{"vegas", newVegas, 10, 1, 1 << 20},
	{"gradient2", newGradient2, 20, 20, 200},
	{"netflix-aimd", newNetflixAIMD, 10, 1, 1 << 20},
	{"arc", newARC, 1, 1, 200},
	{"netflix-aimd-own", newNetflixAIMD, 20, 20, 200},
	{"netflix-vegas", newNetflixVegas, 20, 1, 1000},
	{"aws-adaptive", newAWSAdaptive, 10, 0, 1 << 20},
	{"loki", newLoki, 10, 0, 1 << 20},
	{"scrapy", newScrapy, 1, 0, 8},
	{"inspect", newInspect, 20, 10, 100},
	{"aibrix", newAibrix, 128, 1, 128},
	{"dialogue", newDialogue, 20, 1, 1e6},
	{"azcopy", newAzCopy, 4, 1, 3000},
	{"s3-transfer", newS3Transfer, 32, 1, 1 << 20},
	{"failsafe", newFailsafe, 20, 1, 200},
	{"lance", newLance, 100, 0, 1 << 20},
	{"llm-d", newLLMD, 100, 5, 100},
	{"tower", newTower, 10, 1, 100},
	{"zenvark", newZenvark, 10, 1, 1000},
	{"desync", newDesync, 10, 1, 128},
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "matrix" {
		os.Exit(matrix(os.Args[2:], os.Stdout, os.Stderr))
	}
	if len(os.Args) > 1 && os.Args[1] == "sweep" {
		os.Exit(sweepCommand(os.Args[2:], os.Stdout, os.Stderr))
	}
	tool.Main(laws())
}

func laws() map[string]window.NewLaw {
	all := map[string]window.NewLaw{}
	for _, r := range rivals {
		all[r.name] = func(s window.Settings) window.Law {
			return &bounded{Law: r.law(s), first: r.first, least: r.least, most: r.most}
		}
	}
	return all
}

// bounded is a law with its own first window, which it has from the first answer on, and
// with its own bounds.
type bounded struct {
	window.Law
	first, least, most float64
	begun              bool
}

func (b *bounded) Answered(now time.Duration, s window.State, a window.End) window.State {
	if !b.begun {
		b.begun, s.Cwnd = true, b.first
	}
	s = b.Law.Answered(now, s, a)
	s.Cwnd = min(max(s.Cwnd, b.least), b.most)
	return s
}

// timed is embedded by laws that read the clock: all laws here.
type timed struct{}

func (timed) Timed() bool { return true }

// seconds of a round trip, never 0: a clock may stand still.
func seconds(d time.Duration) float64 { return max(d, time.Microsecond).Seconds() }

// full reports whether the window limits the client. RFC 9438, section 5.8, lets the window
// of an idle client stay.
func full(s window.State, a window.End) bool { return float64(a.Flying) > s.Cwnd-1 }
