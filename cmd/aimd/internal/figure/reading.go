package figure

import (
	"encoding/json"
	"fmt"
	"html"
	"image/color"
	"strings"

	"gonum.org/v1/plot/vg"
)

// Reading is what a script needs to tell the values under the pointer, in the
// coordinates of the SVG, whose y grows upwards within its group.
type Reading struct {
	X      string        `json:"x"`
	Height float64       `json:"h"`
	Panels []panelFrame  `json:"panels"`
	Curves []curveToRead `json:"curves"`
}

type panelFrame struct {
	X axisFrame `json:"x"`
	Y axisFrame `json:"y"`
}

// axisFrame is where an axis is, and what it says there.
type axisFrame struct {
	From   float64  `json:"from"`
	To     float64  `json:"to"`
	Min    float64  `json:"min"`
	Max    float64  `json:"max"`
	Log    bool     `json:"log,omitempty"`
	Labels []string `json:"labels,omitempty"`
}

type curveToRead struct {
	Text  string `json:"text"`
	Style string `json:"style"`
}

// reading is the figure's, as the value of an attribute.
func (f Figure) reading(frames []vg.Rectangle) (string, error) {
	r := Reading{X: f.X, Height: f.height().Points()}
	for i, p := range f.Panels {
		at := frames[i]
		r.Panels = append(r.Panels, panelFrame{
			axisFrame{at.Min.X.Points(), at.Max.X.Points(), p.plot.X.Min, p.plot.X.Max, p.x.Log, p.x.Labels},
			axisFrame{at.Min.Y.Points(), at.Max.Y.Points(), p.plot.Y.Min, p.plot.Y.Max, p.y.Log, p.y.Labels},
		})
	}
	for _, c := range f.Legend {
		if c.Width < vg.Points(5) { // wider ones are areas
			r.Curves = append(r.Curves, curveToRead{c.Text, c.style()})
		}
	}
	b, err := json.Marshal(r)
	return html.EscapeString(string(b)), err
}

// style is what the SVG says of the curve's path.
func (c Curve) style() string {
	r, g, b, _ := c.Color.RGBA()
	s := fmt.Sprintf("fill:none;stroke:#%02X%02X%02X;stroke-width:%.5g", r>>8, g>>8, b>>8, c.Width.Points())
	if c.Color == color.Color(Black) {
		s = own.Replace(s)
	}
	var dashes []string
	for _, d := range c.Dashes {
		dashes = append(dashes, fmt.Sprintf("%.5g", d.Points()))
	}
	if len(dashes) > 0 {
		s += ";stroke-dasharray:" + strings.Join(dashes, ",")
	}
	return s
}
