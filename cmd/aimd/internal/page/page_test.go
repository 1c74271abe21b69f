package page_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/aimd-go/aimd/cmd/aimd/internal/figure"
	"github.com/aimd-go/aimd/cmd/aimd/internal/page"
	"github.com/aimd-go/aimd/cmd/aimd/internal/table"
)

func example() page.Page {
	f := figure.New("one", "A <caption>", 2*vg.Inch)
	line, _ := figure.Nth(0)
	curve := &plotter.Line{XYs: plotter.XYs{{X: 0, Y: 1}, {X: 10, Y: 4}}, LineStyle: line}
	f.Plot("").Add(curve)
	f.Legend.Add("<a>", curve)
	return page.Page{
		Title: "A <page>", Verdict: []string{"all is <well>"},
		Chapters: []page.Chapter{{Sections: []page.Section{{
			Figures: []figure.Figure{*f}, Summary: "all <rows>",
			Table: table.Table{Columns: []table.Column{{Head: "strategy", Left: true}, {Head: "lost"}}, Rows: [][]table.Cell{{{Text: "reno"}, {Text: "7", Around: "6–8", Bad: true}}}},
		}}}},
	}
}

func html(t *testing.T, p page.Page) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, p.HTML(&b))
	return b.String()
}

// "one self-contained HTML page": no address but those of the texts that it links to.
func TestThePageNeedsNothingElse(t *testing.T) {
	got := html(t, example())
	assert.NotRegexp(t, `(?i)\bsrc\s*=|href="[^#]`, got)
	assert.NotRegexp(t, `(?i)url\(|@import|<link|<iframe|fetch\(|XMLHttp`, got)
	for _, url := range regexp.MustCompile(`https?://[^"'\s<]*`).FindAllString(got, -1) {
		assert.Contains(t, []string{"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}, url, "only names of XML")
	}
	for _, text := range []string{
		"A &lt;page&gt;", "all is &lt;well&gt;", "all &lt;rows&gt;", "A &lt;caption&gt;",
		`<td class=" bad">7<small>6–8</small></td>`, `prefers-color-scheme: dark`, ">&lt;a&gt;<",
	} {
		assert.Contains(t, got, text)
	}
	assert.NotContains(t, got, "ZgotmplZ")
}

func TestContentsTickEachSection(t *testing.T) {
	p := example()
	p.Chapters = append(p.Chapters, page.Chapter{
		Title: "A text", Source: page.Source{Title: "The text", Author: "Somebody", Year: "2014", URL: "https://example.org/text"},
		Sections: []page.Section{
			{Name: "thing", Title: "A thing", Summary: "All", Numbers: table.Table{Columns: []table.Column{{Head: "number"}, {Head: "ours"}}, Rows: [][]table.Cell{{{Text: "time"}, {Text: "48.9"}}}}},
			{Name: "other", Title: "Another thing", Unmet: 1},
		},
	})
	got := html(t, p)
	nav := got[strings.Index(got, "<nav"):strings.Index(got, "</nav>")]
	assert.Contains(t, nav, `<li>✓ <a href="#thing">A thing</a>`)
	assert.Contains(t, nav, `<li><span class="bad">✗</span> <a href="#other">Another thing</a>`)
	assert.Contains(t, got, `<h3 id="thing">`)
	assert.Contains(t, got, `<a href="https://example.org/text">The text</a>, Somebody, 2014`)
	assert.Contains(t, got, `<td class="">48.9</td>`)
	assert.Contains(t, got, "<summary>All</summary>")
}
