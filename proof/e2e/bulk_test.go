package e2e

import (
	"context"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
)

const (
	goroutines = 256
	objectSize = 64 << 10
	// slots is the cap of most services here.
	slots = 32
)

// body is the content of object i.
func body(i, size int) []byte {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], uint64(i))
	b := make([]byte, size)
	_, _ = rand.NewChaCha8(seed).Read(b)
	return b
}

func sum(b []byte) string {
	h := md5.Sum(b)
	return hex.EncodeToString(h[:])
}

// bulk is an upload of objects of 64 KiB from 256 goroutines to a gateway with a cap.
type bulk struct {
	limiter *aimd.Limiter
	gateway *gateway
	// store is a client of the gateway for requests that are not measured.
	store   *s3.Client
	objects int
	put     upload
	took    time.Duration

	mu sync.Mutex
	// All below is guarded by mu while it runs. reported are the keys and MD5 sums of the objects that were
	// reported as stored, failed the errors of all others, done when each object was reported.
	reported map[string]string
	failed   map[string]error
	done     moments
}

func newBulk(ctx context.Context, t *testing.T, gatewaySlots, objects int) *bulk {
	t.Helper()
	u := &bulk{
		limiter: limiter(t, aimd.Config{}), gateway: startGateway(t, gatewaySlots), objects: objects,
		reported: map[string]string{}, failed: map[string]error{},
	}
	u.store = steward(ctx, t, u.gateway.address)
	return u
}

// run uploads all, requires that the limiter saw a success for each object, and returns what it saw.
func (u *bulk) run(ctx context.Context, t *testing.T) aimd.Snapshot {
	t.Helper()
	u.upload(ctx)
	u.requireAll(ctx, t)
	s := u.limiter.Snapshot()
	require.EqualValues(t, u.objects, s.Successes)
	return s
}

// upload uploads all.
func (u *bulk) upload(ctx context.Context) {
	began := time.Now()
	together(goroutines, u.objects, func(i int) {
		key, b := fmt.Sprintf("%05d", i), body(i, objectSize)
		err := u.put(ctx, key, b)
		u.mu.Lock()
		defer u.mu.Unlock()
		if err != nil {
			u.failed[key] = err
			return
		}
		u.reported[key] = sum(b)
		u.done = append(u.done, time.Now())
	})
	u.took = time.Since(began)
}

// reached waits until that many objects were reported.
func (u *bulk) reached(t *testing.T, objects int) {
	t.Helper()
	eventually(t, func() bool { return len(u.moments()) >= objects }, "%d objects uploaded, %d wanted", len(u.moments()), objects)
}

// moments is when objects were reported so far.
func (u *bulk) moments() moments {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.done
}

// requireAll requires that no upload failed, that the store has each object as it was reported and nothing
// else, and that no slot is taken at the end.
func (u *bulk) requireAll(ctx context.Context, t *testing.T) {
	t.Helper()
	require.Empty(t, u.failed)
	require.Len(t, u.reported, u.objects, "objects that were neither reported nor failed")
	require.Equal(t, u.reported, stored(ctx, t, u.gateway, u.store))
	requireIdle(t, u.limiter)
}

// each is the number of attempts for each object.
func (u *bulk) each() float64 { return float64(u.limiter.Snapshot().Attempts) / float64(u.objects) }

// moments are when something was done, in order.
type moments []time.Time

// between is how often it was done from a moment to another.
func (m moments) between(from, to time.Time) (n int) {
	for _, at := range m {
		if !at.Before(from) && at.Before(to) {
			n++
		}
	}
	return n
}

// regained is the time from the moment to the first second in which it was done at least n times more.
func (m moments) regained(from time.Time, n float64) (time.Duration, bool) {
	for i, at := range m {
		if last := i + int(n); !at.Before(from) && last < len(m) && m[last].Sub(at) <= time.Second {
			return at.Sub(from), true
		}
	}
	return 0, false
}
