package main

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
)

// The measures of the figure, in its units. It is narrow, so that it can be read on a telephone.
const (
	figureWidth = 440
	figureLeft  = 218
	figureRight = 424
	figureTop   = 84
	figureLine  = 17
)

const figureHead = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="The time of aimd.New at each service, against the quickest other law that finishes">
<style>
text{font:12px 'Liberation Sans',Arial,Helvetica,sans-serif;fill:#24292f}
.name{font-size:11px}.ground{fill:#fff}.axis{stroke:#d0d7de}.name,.tick{fill:#57606a}.pair{stroke:#8c959f;stroke-width:2}
.ours{fill:#0072b2}.rest{fill:#fff;stroke:#57606a;stroke-width:1.5}.lost .ours{fill:#d55e00}.lost .name{fill:#b34700}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.ground{fill:#0d1117}.axis{stroke:#30363d}.name,.tick{fill:#9aa4ae}.pair{stroke:#6e7681}
.ours{fill:#56b4e9}.rest{fill:#0d1117;stroke:#9aa4ae}.lost .ours{fill:#ff9a3c}.lost .name{fill:#ffa657}}
</style>
<rect class="ground" width="100%%" height="100%%"/>
`

// draw is the figure: a line for each service, the greatest loss first, with a dot for our time and a ring for
// the quickest other law that finishes, on a logarithmic axis of time over the optimum.
func draw(rows []row) []byte {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(b.ratio(), a.ratio()) })
	most := 2.0
	for _, r := range rows {
		most = max(most, r.rest().Time)
		if us := r.ours(); us.Ends {
			most = max(most, us.Time)
		}
	}
	// x is the place of a time. A run without an end is at the right edge.
	x := func(c cell) float64 {
		if !c.Ends {
			return figureRight
		}
		return figureLeft + (figureRight-figureLeft)*math.Log(max(c.Time, 1))/math.Log(most*1.15)
	}
	var b bytes.Buffer
	bottom := figureTop + figureLine*len(rows)
	fmt.Fprintf(&b, figureHead, figureWidth, bottom+10)
	fmt.Fprintf(&b, `<circle class="ours" cx="14" cy="15" r="5"/><text x="24" y="19">aimd.New</text>`)
	fmt.Fprintf(&b, `<g class="lost"><circle class="ours" cx="104" cy="15" r="5"/></g><text x="114" y="19">aimd.New, over %v times the quickest other</text>`, tolerance)
	fmt.Fprintf(&b, `<circle class="rest" cx="14" cy="35" r="4"/><text x="24" y="39">the quickest other law that finishes</text>`)
	fmt.Fprintf(&b, "<text class=\"tick\" x=\"%d\" y=\"58\" text-anchor=\"end\">time over the optimum</text>\n", figureRight)
	for _, tick := range []float64{1, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000} {
		if at := x(cell{Time: tick, Ends: true}); tick <= most {
			fmt.Fprintf(&b, `<path class="axis" d="M%.1f %d V%d"/><text class="tick" x="%.1f" y="%d" text-anchor="middle">%v</text>`+"\n", at, figureTop-6, bottom, at, figureTop-11, tick)
		}
	}
	for i, r := range rows {
		class, y := "service", figureTop+figureLine*i+figureLine/2
		if r.lost() {
			class = "lost"
		}
		us, rest := x(r.ours()), x(r.rest())
		fmt.Fprintf(&b, `<g class="%s"><text class="name" x="%d" y="%d" text-anchor="end">%s</text><path class="pair" d="M%.1f %d H%.1f"/>`, class, figureLeft-12, y+4, r.Service, rest, y, us)
		fmt.Fprintf(&b, `<circle class="rest" cx="%.1f" cy="%d" r="4"/><circle class="ours" cx="%.1f" cy="%d" r="5"/></g>`+"\n", rest, y, us, y)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}
