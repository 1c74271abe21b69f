package demo

import (
	"bytes"
	"encoding/xml"
	"flag"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/race"
)

var update = flag.Bool("update", false, "write the golden files")

// samples are those of a run with a window that swings around 32.
func samples(seconds float64, window bool) []race.Sample {
	var all []race.Sample
	for i := range int(seconds * 20) {
		s := race.Sample{At: time.Duration(i) * 50 * time.Millisecond, Accepted: 16 * i, Refused: i / 4, Attempts: 16*i + i/4, InFlight: 32}
		if window {
			s.Cwnd, s.Ssthresh = 31+2*math.Sin(float64(i)/9), 1024
			if i > 10 {
				s.Ssthresh = 29.7
			}
		}
		all = append(all, s)
	}
	return all
}

func example() Report {
	return Report{
		Title: "2000 objects of 64 KiB", Service: "A store <with limits>.", Optimum: "optimum 6.250 s",
		Operation: "object", Done: "stored",
		Command: "aimd demo --objects 2000", PerSecond: 320, Each: 100 * time.Millisecond,
		Results: []race.Result{
			{Strategy: "sdk-default", Operations: 2000, Attempts: 2132, Refused: 1901, Lost: 1784, Silent: 3, MakespanS: 2.15, OptimumS: 6.25, P99S: 2.1, Peak: 32, Reason: "quota exceeded", Samples: samples(2, false)},
			{Strategy: "tahoe", Factor: 0.9, Operations: 2000, Attempts: 2019, Refused: 19, MakespanS: 6.78, OptimumS: 6.25, P99S: 0.9, Peak: 32, Samples: samples(6, true)},
			{Strategy: "reno", Factor: 0.9, Operations: 1210, Attempts: 1220, Refused: 10, MakespanS: 4, OptimumS: 3.781, Interrupted: true, Samples: samples(4, true)},
		},
	}
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, example().Text(&b))
	if *update {
		require.NoError(t, os.WriteFile("testdata/table.txt", b.Bytes(), 0o644))
	}
	want, err := os.ReadFile("testdata/table.txt")
	require.NoError(t, err)
	assert.Equal(t, string(want), b.String())
}

// The last line is the result of aimd.New, whose law a reader may not know by its strategy's name.
func TestTheLastNoteIsTheResultOfAimdNew(t *testing.T) {
	r := example()
	assert.NotContains(t, strings.Join(r.notes(), "\n"), "aimd.New")
	r.Results = append([]race.Result{{Strategy: "probe", Operations: 2000, Lost: 3, MakespanS: 6.78}}, r.Results...)
	notes := r.notes()
	assert.Equal(t, "probe, the law of aimd.New: 1997 of 2000 objects stored in 6.78 s.", notes[len(notes)-1])
}

// A ratio is not printed for a run that lost work
func TestNoRatioWhereWorkWasLost(t *testing.T) {
	assert.Equal(t, "–", row(example().Results[0])[2].Text)
	assert.Equal(t, "1.08", row(example().Results[1])[2].Text)
}

func TestPage(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, example().Page().HTML(&b))
	html := b.String()
	assert.Equal(t, 2, strings.Count(html, `<svg class="figure"`))
	assert.Contains(t, html, "A store &lt;with limits&gt;.")
	assert.Contains(t, html, `<td class=" bad">1784</td>`)
	assert.Contains(t, html, "reno 0.9 (interrupted)")
	r := example()
	r.Results = nil
	assert.NoError(t, r.Page().HTML(io.Discard))
}

func TestFigures(t *testing.T) {
	var names []string
	for _, f := range example().figures() {
		names = append(names, f.Name)
		svg, err := f.SVG()
		require.NoError(t, err)
		assert.NoError(t, xml.Unmarshal(svg, new(struct{})))
		assert.Contains(t, string(svg), "time (s)")
		assert.Contains(t, string(svg), "tahoe 0.9")
	}
	assert.Equal(t, []string{"cwnd", "rate"}, names)
}

func TestFiguresWithoutAWindowOrSamples(t *testing.T) {
	r := example()
	r.Results = []race.Result{{Strategy: "backoff"}}
	figures := r.figures()
	require.Len(t, figures, 1, "no cwnd")
	_, err := figures[0].SVG()
	assert.NoError(t, err)
}
