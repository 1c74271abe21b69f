package report

import (
	"bytes"
	"encoding/xml"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/measure"
)

// samples are those of a run with a window that swings around 32.
func samples(seconds float64, window bool) []measure.Sample {
	var all []measure.Sample
	for i := range int(seconds * 20) {
		s := measure.Sample{At: time.Duration(i) * 50 * time.Millisecond, Accepted: 16 * i, Refused: i / 4, Attempts: 16*i + i/4, InFlight: 32}
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
		Operation: "object", Operations: "objects", Done: "stored", P99: "p99: of each object.",
		Command: "aimd demo --objects 2000", Slots: 32, PerSecond: 320, Span: 500 * time.Millisecond,
		Results: []measure.Result{
			{Strategy: "sdk-default", Operations: 2000, Attempts: 2132, Refused: 1901, Lost: 1784, Silent: 3, MakespanS: 2.15, OptimumS: 6.25, P99S: 2.1, Peak: 32, Reason: "quota exceeded", Samples: samples(2, false)},
			{Strategy: "tahoe", Factor: 0.9, Operations: 2000, Attempts: 2019, Refused: 19, MakespanS: 6.78, OptimumS: 6.25, P99S: 0.9, Peak: 32, Samples: samples(6, true)},
			{Strategy: "reno", Factor: 0.9, Operations: 1210, Attempts: 1220, Refused: 10, MakespanS: 4, OptimumS: 3.781, Interrupted: true, Samples: samples(4, true)},
		},
	}
}

func TestTable(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, example().Table(&b))
	want, err := os.ReadFile("testdata/table.txt")
	require.NoError(t, err)
	assert.Equal(t, string(want), b.String())
}

func TestTableWhereTheOptimumIsNotKnown(t *testing.T) {
	r := example()
	r.Results = r.Results[1:2]
	r.Results[0].OptimumS = 0
	var b bytes.Buffer
	require.NoError(t, r.Table(&b))
	assert.Regexp(t, `│ +\? │`, b.String())
}

func TestHTMLNeedsNothingElse(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, example().HTML(&b))
	html := b.String()
	assert.Equal(t, 3, strings.Count(html, "<svg "))
	assert.NotRegexp(t, `(?i)(src|href)\s*=`, html)
	assert.NotRegexp(t, `(?i)url\(|@import|<script|<link|<iframe`, html)
	for _, url := range regexp.MustCompile(`https?://[^"'\s<]*`).FindAllString(html, -1) {
		assert.Contains(t, []string{"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}, url, "only names of XML")
	}
	assert.Contains(t, html, "A store &lt;with limits&gt;.")
	assert.Contains(t, html, `<td class="lost">1784</td>`)
	assert.Contains(t, html, "reno 0.9 (interrupted)")
}

func TestHTMLOfNothing(t *testing.T) {
	r := example()
	r.Results = nil
	assert.NoError(t, r.HTML(io.Discard))
}

func TestFigures(t *testing.T) {
	dir := t.TempDir()
	files, err := example().Figures(dir)
	require.NoError(t, err)
	var names []string
	for _, f := range files {
		names = append(names, filepath.Base(f))
	}
	assert.Equal(t, []string{"cwnd.svg", "cwnd.png", "rate.svg", "rate.png", "rate-log.svg", "rate-log.png"}, names)
	for _, f := range files {
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		if strings.HasSuffix(f, ".png") {
			c, err := png.DecodeConfig(bytes.NewReader(b))
			require.NoError(t, err)
			assert.Equal(t, 1200, c.Width)
			continue
		}
		assert.NoError(t, xml.Unmarshal(b, new(struct{})), f)
		assert.Contains(t, string(b), "time (s)")
		assert.Contains(t, string(b), "tahoe 0.9")
	}
}

func TestFiguresWithoutAWindowOrSamples(t *testing.T) {
	r := example()
	r.Results = []measure.Result{{Strategy: "backoff"}}
	files, err := r.Figures(t.TempDir())
	require.NoError(t, err)
	assert.Len(t, files, 4, "no cwnd")
}
