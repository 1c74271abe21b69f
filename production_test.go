package aimd_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/live"
)

// A limiter for each customer, made when the first request of one comes, and let go of
// when none came for a while. httplimit.PerHost is the same for hosts.
func Example_perCustomer() {
	customers, err := limiter.NewKeyed(func(customer string) (*aimd.Limiter, error) {
		return aimd.New(aimd.WithName(customer), aimd.WithMaxWindow(64))
	}, limiter.KeyedConfig{Idle: time.Hour})
	if err != nil {
		log.Fatal(err)
	}
	lim, err := customers.For("acme")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(lim.Snapshot().Name, lim.Do(context.Background(), func(context.Context) error { return nil }))
	// Output: acme <nil>
}

// A page that shows the limiter at work, and its decisions in the log.
func Example_watched() {
	mux := http.NewServeMux()

	lim, err := aimd.New(aimd.WithName("photos"), aimd.WithObserver(limiter.Log(slog.Default(), 10)))
	if err != nil {
		log.Fatal(err)
	}
	mux.Handle("/debug/aimd/", live.Handler(live.Of(lim)))
	fmt.Println(lim.Snapshot().Name)
	// Output: photos
}

// What was learned outlives a restart, if it is no older than an hour.
func ExampleWithStateFile() {
	dir, err := os.MkdirTemp("", "aimd")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file, ctx := filepath.Join(dir, "photos.json"), context.Background()

	lim, err := aimd.New(aimd.WithStateFile(file, time.Hour))
	if err != nil {
		log.Fatal(err)
	}
	defer lim.Drain(ctx) // no new work, wait for what is in flight, write the file
	fmt.Println(lim.State().Cwnd)
	// Output: 20
}

// New settings while it works: nothing in flight or waiting is lost.
func ExampleLimiter_Reconfigure() {
	lim, err := aimd.New()
	if err != nil {
		log.Fatal(err)
	}

	rules := lim.Config().Rules
	rules.MaxWindow = 8
	fmt.Println(lim.Reconfigure(rules), lim.Snapshot().Cwnd)
	// Output: <nil> 8
}

// An http.Client that waits for its turn, and sends again what may be sent again.
func Example_client() {
	lim, err := aimd.New()
	if err != nil {
		log.Fatal(err)
	}
	client := httplimit.Client(lim)
	fmt.Println(client.Timeout)
	// Output: 0s
}

// TestWithVirtualTime is the README's: a test of what waits and backs off takes no time.
func TestWithVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim, err := aimd.New()
		require.NoError(t, err)
		start, calls := time.Now(), 0
		err = lim.Do(t.Context(), func(context.Context) error {
			if calls++; calls < 8 {
				return &httplimit.StatusError{StatusCode: 503}
			}
			return nil
		})
		require.NoError(t, err)
		require.Greater(t, time.Since(start), 50*time.Millisecond) // of the bubble's time
	})
}
