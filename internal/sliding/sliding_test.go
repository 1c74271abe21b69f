package sliding_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/internal/sliding"
)

const start = 12 * time.Hour

func TestEventsLeaveWithTheirBucket(t *testing.T) {
	c := sliding.New(10*time.Second, 10)
	assert.Zero(t, c.Sum(start))
	assert.Zero(t, c.Within(start, 3))
	// Every third request is marked.
	counts := func(n int) sliding.Counts { return sliding.Counts{All: 3 * n, Marked: n} }
	for _, step := range []struct {
		at          time.Duration
		add         int
		sum, recent int // recent: the last 2 s
	}{
		{0, 1, 1, 1},
		{500 * time.Millisecond, 2, 3, 3},
		{2999 * time.Millisecond, 0, 3, 3},
		{3 * time.Second, 4, 7, 4},
		{2 * time.Second, 1, 8, 5}, // time runs backwards: as if it stood still
		{10 * time.Second, 0, 8, 0},
		{10999 * time.Millisecond, 0, 8, 0},
		{11 * time.Second, 0, 5, 0},
		{13999 * time.Millisecond, 1, 6, 1},
		{14 * time.Second, 0, 1, 1},
		{time.Hour, 0, 0, 0},
		{time.Hour, 3, 3, 3},
		{200 * 365 * 24 * time.Hour, 0, 0, 0},
	} {
		now := start + step.at
		for range step.add {
			for _, marked := range []bool{true, false, false} {
				c.Added(now, marked)
			}
		}
		require.Equal(t, counts(step.sum), c.Sum(now), "sum at %v", step.at)
		require.Equal(t, counts(step.sum), c.Within(now, 10), "all buckets at %v", step.at)
		require.Equal(t, counts(step.sum), c.Within(now, 99), "more buckets than there are at %v", step.at)
		require.Equal(t, counts(step.recent), c.Within(now, 2), "recent at %v", step.at)
	}
}

// FuzzCounter holds the counter against a list of all events: none leaves before the window is over, and
// none stays for more than a bucket longer.
func FuzzCounter(f *testing.F) {
	f.Add(uint8(4), []byte{0, 10, 200, 3, 255, 255, 1})
	f.Add(uint8(1), []byte{1, 1, 1, 90})
	f.Fuzz(func(t *testing.T, buckets uint8, steps []byte) {
		if len(steps) > 200 {
			return // each step looks at all before it
		}
		n := 1 + int(buckets%16)
		width := 50 * time.Millisecond
		c := sliding.New(time.Duration(n)*width, n)
		now := start
		var events []time.Duration
		for _, s := range steps {
			now += time.Duration(s) * 3 * time.Millisecond
			if s%2 == 0 {
				c.Added(now, false)
				events = append(events, now)
			}
			for k := 1; k <= n; k++ {
				within := func(d time.Duration) (sum int) {
					for _, e := range events {
						if (now - e) <= d {
							sum++
						}
					}
					return sum
				}
				got := c.Within(now, k).All
				// An event just as old as the span may have left with its bucket.
				require.GreaterOrEqual(t, got, within(time.Duration(k)*width-1))
				require.LessOrEqual(t, got, within(time.Duration(k+1)*width))
			}
			require.Equal(t, c.Within(now, n), c.Sum(now))
		}
	})
}
