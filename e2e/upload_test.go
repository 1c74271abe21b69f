package e2e

import (
	"context"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	goroutines = 256
	objectSize = 64 << 10
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

// load is a bulk upload.
type load struct {
	goroutines, objects int
	// put uploads one object, and reports an error unless the store has it.
	put func(ctx context.Context, key string, body []byte) error

	began time.Time
	mu    sync.Mutex
	// All below is guarded by mu while it runs.
	// reported are the keys and MD5 sums of the objects that were reported as stored, failed the
	// errors of all others.
	reported map[string]string
	failed   map[string]error
	// done is when each object was reported, in order.
	done []time.Time
}

// run uploads all, and returns how long that took.
func (u *load) run(ctx context.Context) time.Duration {
	u.start(ctx)()
	return time.Since(u.began)
}

// start begins to upload, and returns a function that waits for the end.
func (u *load) start(ctx context.Context) (wait func()) {
	u.reported, u.failed = map[string]string{}, map[string]error{}
	work := make(chan int)
	var wg sync.WaitGroup
	u.began = time.Now()
	for range u.goroutines {
		wg.Go(func() {
			for i := range work {
				u.upload(ctx, i)
			}
		})
	}
	wg.Go(func() {
		defer close(work)
		for i := range u.objects {
			work <- i
		}
	})
	return wg.Wait
}

func (u *load) upload(ctx context.Context, i int) {
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
}

// count is how many objects were reported so far.
func (u *load) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.done)
}

// reached waits until that many objects were reported.
func (u *load) reached(t *testing.T, objects int) {
	t.Helper()
	eventually(t, func() bool { return u.count() >= objects }, "%d objects uploaded, %d wanted", u.count(), objects)
}

// requireStored requires that the store has each object that was reported as stored, and that
// every object was reported or failed.
func (u *load) requireStored(t *testing.T, store map[string]string) {
	t.Helper()
	require.Equal(t, u.objects, len(u.reported)+len(u.failed), "objects that were neither reported nor failed")
	lost := 0
	for key, sum := range u.reported {
		if store[key] != sum {
			lost++
			t.Logf("%s was reported with %s, and the store has %q", key, sum, store[key])
		}
	}
	require.Zero(t, lost, "objects reported and not stored")
}

// requireAll is requireStored, and requires that no object failed.
func (u *load) requireAll(t *testing.T, store map[string]string) {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(u.failed))[:min(3, len(u.failed))] {
		t.Logf("%s failed: %v", key, u.failed[key])
	}
	require.Empty(t, len(u.failed), "failed")
	u.requireStored(t, store)
	assert.Len(t, store, u.objects, "nothing else is in the store")
}

// regained is the time from the moment to the first second in which at least rate objects were
// reported.
func (u *load) regained(after time.Time, rate float64) (time.Duration, bool) {
	for i, at := range u.done {
		if at.Before(after) {
			continue
		}
		if n := i + int(rate); n < len(u.done) && u.done[n].Sub(at) <= time.Second {
			return at.Sub(after), true
		}
	}
	return 0, false
}

// rate is the mean number of objects per second between two moments.
func (u *load) rate(from, to time.Time) float64 {
	n := 0
	for _, at := range u.done {
		if at.After(from) && !at.After(to) {
			n++
		}
	}
	return float64(n) / to.Sub(from).Seconds()
}
