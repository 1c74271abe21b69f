//go:build unix

package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
)

// Blocks of files of 4 KiB and of 6 MiB in turn, to a store of 32 slots of 10 ms: whatever is large takes far longer than what is
// small, and the law is not to take that for load. On a quiet machine the tool takes at most 1.05 of its time under Reno: the
// medians of three runs in turn.
func TestUploadOfBlocksOfTwoSizes(t *testing.T) {
	small, large := amount(1500, 150), amount(50, 4)
	sizes, dir, files := []int{4 << 10, 6 << 20}, t.TempDir(), 0
	for block := range 4 {
		size, count := sizes[block%2], []int{small, large}[block%2]
		first := filepath.Join(dir, fmt.Sprintf("%d-%05d", block, 0))
		require.NoError(t, os.WriteFile(first, body(block, size), 0o600))
		for i := 1; i < count; i++ {
			require.NoError(t, os.Link(first, filepath.Join(dir, fmt.Sprintf("%d-%05d", block, i))))
		}
		files += count
	}
	attempt(t, func(t *testing.T) bool {
		ctx, took := begin(t), map[string][]float64{}
		for range 3 {
			for _, law := range []string{"reno", "probe"} {
				g := startSlowGateway(t, slots, 10*time.Millisecond)
				steward(ctx, t, g.address)
				p := startProcess(t, uploadCommand(t, dir, "p", "http://"+g.address, "--law", law))
				require.NoError(t, p.cmd.Wait(), "%v", &p.output)
				m := allStored.FindStringSubmatch(p.output.String())
				require.NotNil(t, m, "%v", &p.output)
				require.Equal(t, strconv.Itoa(files), m[1])
				span, err := time.ParseDuration(m[2])
				require.NoError(t, err)
				took[law] = append(took[law], span.Seconds())
				requests, err := strconv.Atoi(m[3])
				require.NoError(t, err)
				figures.log(t, "%s: %v, %d refused", law, span, requests-1-files)
				g.process.stop()
				require.NoError(t, os.RemoveAll(g.dir))
			}
		}
		of := median(took["probe"]) / median(took["reno"])
		figures.log(t, "%.2f of Reno's time", of)
		return of <= amount(1.05, 3)
	})
}

// blocks is the cost of four blocks in turn, to a store of 32 slots of 10 ms behind a link of so many MB/s. The span is in seconds.
func blocks(t *testing.T, law aimd.Config, mbps float64, small, large int) (c cost) {
	synctest.Test(t, func(t *testing.T) {
		l, err := aimd.New(law)
		require.NoError(t, err)
		defer l.Close()
		link, busy, attempts, mu, began := make(chan struct{}, 1), 0, 0, sync.Mutex{}, time.Now()
		var sizes []int
		for block := range 4 {
			n, size := small, 4<<10
			if block%2 == 1 {
				n, size = large, 6<<20
			}
			for range n {
				sizes = append(sizes, size)
			}
		}
		together(256, len(sizes), func(i int) {
			assert.NoError(t, l.Do(t.Context(), func(context.Context) error {
				mu.Lock()
				attempts++
				full := busy == slots
				if !full {
					busy++
				}
				mu.Unlock()
				if full {
					time.Sleep(time.Millisecond)
					return aimd.Refused(errors.New("SlowDown"))
				}
				for left := sizes[i]; left > 0; left -= 256 << 10 {
					link <- struct{}{}
					time.Sleep(time.Duration(float64(min(left, 256<<10)) / mbps * 1e3))
					<-link
				}
				time.Sleep(8*time.Millisecond + rand.N(4*time.Millisecond))
				mu.Lock()
				busy--
				mu.Unlock()
				return nil
			}))
		})
		c = cost{time.Since(began).Seconds(), float64(attempts) / float64(len(sizes))}
	})
	return c
}

// The same without a machine in it, behind a link. Of 60 runs the medians are 1.00 to 1.05 of Reno's time, and the worst run 1.4: this
// holds what they take today, with what chance adds.
func TestBlocksOfTwoSizesBehindALink(t *testing.T) {
	for _, c := range []struct{ mbps, small, large, most float64 }{
		{100, 1000, 40, 1.05}, {200, 1000, 40, 1.25}, {400, 1000, 40, 1.1}, {1000, 1000, 40, 1.05}, {100, 1000, 200, 1.25},
		{400, 1000, 200, 1.35}, {400, 10000, 200, 1.45},
	} {
		span := map[string][]float64{}
		for range 3 {
			for name, law := range laws {
				law.InitialWindow = 64 // as that of the tool
				span[name] = append(span[name], blocks(t, law, c.mbps, int(c.small), int(c.large)).span)
			}
		}
		of := median(span["probe"]) / median(span["reno"])
		figures.log(t, "%v MB/s, %v of 4 KiB and %v of 6 MiB: %.3f of Reno's time", c.mbps, c.small, c.large, of)
		assert.LessOrEqual(t, of, c.most)
	}
}
