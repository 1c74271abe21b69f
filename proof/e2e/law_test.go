package e2e

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/atomic"
)

// counted counts the requests of a client.
type counted struct {
	requests atomic.Int64
	base     http.RoundTripper
}

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	c.requests.Inc()
	return c.base.RoundTrip(r)
}

// A store of 32 slots refuses 1 to 3% of the uploads whatever the load. Below the SDKs the limiter loses nothing, and takes at most
// 1.1 of the time of minio-go as it comes, with no machine in it: the medians of three jobs.
func TestFewRefusalsByChanceBelowSDKs(t *testing.T) {
	const objects = 2000
	for _, percent := range []int{1, 2, 3} {
		span, attempts, lost := map[string][]float64{}, map[string][]float64{}, map[string]int{}
		for range 3 {
			for _, name := range []string{"minio-go", "awslimit", "miniolimit"} {
				synctest.Test(t, func(t *testing.T) {
					s := &shelf{slots: slots, service: service, refuses: float64(percent) / 100, has: map[string]bool{}}
					c := s.upload(t, asTheyCome[name], 2*slots, objects)
					span[name], attempts[name] = append(span[name], c.span), append(attempts[name], c.attempts)
					lost[name] += objects - len(s.has)
				})
			}
		}
		for name := range span {
			of := median(span[name]) / median(span["minio-go"])
			figures.log(t, "%d%%, %s: %v, %.2f of minio-go, %d lost", percent, name, cost{median(span[name]), median(attempts[name])}, of, lost[name])
			assert.LessOrEqual(t, of, 1.1)
			if name != "minio-go" {
				assert.Zero(t, lost[name])
			}
		}
	}
}

// The same at real stores on loopback. The three go at the same time, each at a store of its own: other work on the machine slows
// all. On a machine that is not quiet what is held is that nothing is lost, and that fewer attempts are made than as it comes.
func TestFewRefusalsByChanceAtARealStore(t *testing.T) {
	const size, service = 4 << 10, 200 * time.Millisecond
	objects := amount(2000, 500)
	for _, percent := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d%%", percent), func(t *testing.T) {
			beside(t)
			attempt(t, func(t *testing.T) bool {
				ctx, costs, mu, all := begin(t), map[string]cost{}, sync.Mutex{}, sync.WaitGroup{}
				for _, name := range []string{"minio-go", "awslimit", "miniolimit"} {
					g := startSlowGateway(t, slots, service, "-refuse", fmt.Sprint(float64(percent)/100))
					steward(ctx, t, g.address)
					tr := &counted{base: newTransport(t, 0)}
					send := asTheyCome[name](t, g.address, tr)
					all.Go(func() {
						lost, began := atomic.NewInt64(0), time.Now()
						together(2*slots, objects, func(i int) {
							if send(ctx, strconv.Itoa(i), body(i, size)) != nil {
								lost.Inc()
							}
						})
						took, has := time.Since(began), g.files(t)
						assert.Len(t, has, objects-int(lost.Load()))
						for key, got := range has {
							i, err := strconv.Atoi(key)
							assert.NoError(t, err)
							assert.Equal(t, sum(body(i, size)), got)
						}
						if name != "minio-go" {
							assert.Zero(t, lost.Load())
						}
						mu.Lock()
						defer mu.Unlock()
						costs[name] = cost{ratio(took, g.counts(t).optimum(objects, slots)), float64(tr.requests.Load()) / float64(objects)}
						figures.log(t, "%s: %v, %d lost", name, costs[name], lost.Load())
					})
				}
				all.Wait()
				bare := costs["minio-go"]
				bare.span *= amount(1.1, 10)
				return costs["awslimit"].within(bare) && costs["miniolimit"].within(bare)
			})
		})
	}
}
