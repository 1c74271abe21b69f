package e2e

import (
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
)

// narrow is a client short of CPU: it starts one request at a time, which takes a while. So it refuses itself more than a store
// refuses it.
type narrow struct {
	start time.Duration
	turn  chan struct{}
	base  http.RoundTripper
}

func (n *narrow) RoundTrip(r *http.Request) (*http.Response, error) {
	n.turn <- struct{}{}
	time.Sleep(n.start)
	<-n.turn
	return n.base.RoundTrip(r)
}

// upload is what the client uploads with, under a law.
func (n narrow) upload(t *testing.T, law aimd.Config, address string) upload {
	n.turn = make(chan struct{}, 1)
	return put(limited(address, &n, limiter(t, law)))
}

// laws are that of aimd.New, and the one that it is compared with.
var laws = map[string]aimd.Config{"reno": {Law: aimd.Reno(0.9)}, "probe": {}}

// A client short of CPU has few refused, as under Reno 0.9. It starts .6 to 1.5 of what the store has done, so it sees little
// load: 16 slots of 20 ms do one each 1.25 ms.
func TestUploadsShortOfCPU(t *testing.T) {
	const objects = 2000
	for _, start := range []time.Duration{600 * time.Microsecond, 800 * time.Microsecond, 1200 * time.Microsecond} {
		costs := map[string]cost{}
		for name, law := range laws {
			synctest.Test(t, func(t *testing.T) {
				s := &shelf{slots: 16, service: 20 * time.Millisecond, has: map[string]bool{}}
				costs[name] = s.through(t, narrow{start: start, base: s}.upload(t, law, "store.example"), goroutines, objects)
				figures.log(t, "a start each %v, %s: %v", start, name, costs[name])
				assert.Len(t, s.has, objects)
			})
		}
		assert.LessOrEqual(t, costs["probe"].attempts, costs["reno"].attempts+mostShort)
	}
}

// mostShort is how many more attempts for each upload than under Reno 0.9 are allowed.
const mostShort = 0.2

// The same at a real store, of twice the time.
func TestUploadsShortOfCPUToARealStore(t *testing.T) {
	beside(t)
	const size = 4 << 10
	objects := amount(2000, 1000)
	attempt(t, func(t *testing.T) bool {
		ctx, costs := begin(t), map[string]cost{}
		for name, law := range laws {
			g := startSlowGateway(t, 16, 40*time.Millisecond)
			steward(ctx, t, g.address)
			tr := &counted{base: newTransport(t, 0)}
			send := narrow{start: 1200 * time.Microsecond, base: tr}.upload(t, law, g.address)
			lost, began := atomic.NewInt64(0), time.Now()
			together(goroutines, objects, func(i int) {
				if send(ctx, strconv.Itoa(i), body(i, size)) != nil {
					lost.Inc()
				}
			})
			costs[name] = cost{ratio(time.Since(began), g.counts(t).optimum(objects, 16)), float64(tr.requests.Load()) / float64(objects)}
			require.Zero(t, lost.Load())
			require.Len(t, g.files(t), objects)
			figures.log(t, "%s: %v", name, costs[name])
		}
		return costs["probe"].attempts <= costs["reno"].attempts+amount(mostShort, 0.5)
	})
}
