package figure

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/plot"
)

func labels(all []plot.Tick) (labels []string) {
	for _, t := range all {
		if t.Label != "" {
			labels = append(labels, t.Label)
		}
	}
	return labels
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		high float64
		want []string
	}{
		{6.8, []string{"0", "1", "2", "3", "4", "5", "6"}},
		{18, []string{"0", "5", "10", "15"}},
		{0.75, []string{"0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7"}},
		{1300, []string{"0", "200", "400", "600", "800", "1000", "1200"}},
	} {
		assert.Equal(t, c.want, labels(ticks(8)(0, c.high)), "to %v", c.high)
	}
	assert.Equal(t, []string{" ", " "}, labels(unlabelled{plot.TickerFunc(ticks(2))}.Ticks(0, 1))[:2])
}
