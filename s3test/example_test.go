package s3test_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/s3test"
)

// upload stands for code of your own: it puts n objects, all at once.
func upload(ctx context.Context, client *http.Client, url string, n int) error {
	var all sync.WaitGroup
	errs := make(chan error, n)
	for i := range n {
		all.Go(func() { errs <- put(ctx, client, fmt.Sprintf("%s/bucket/%d", url, i)) })
	}
	all.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func put(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, url, strings.NewReader("an object"))
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return httplimit.Check(resp)
}

// A store on loopback that serves four requests at a time, and refuses more with S3's SlowDown.
func ExampleStore() {
	var stored atomic.Int64
	store := s3test.Store{Slots: 4, Service: time.Millisecond, Next: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		stored.Inc()
	})}
	store.Start()
	defer store.Close()

	lim, err := aimd.New(aimd.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lim.Close()
	client := (&httplimit.Transport{Base: store.Client().Transport, Limiter: httplimit.One(lim)}).Client()
	if err := upload(context.Background(), client, store.URL, 40); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(stored.Load(), "stored, four at a time:", store.Peak() <= 4)
	// Output: 40 stored, four at a time: true
}

// The same takes no time on the clock of testing/synctest, and here the store is down for a minute.
func TestAnUploadOutlastsAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		store := s3test.Store{InMemory: true, Slots: 4, Service: 100 * time.Millisecond, Next: http.NotFoundHandler()}
		store.Script = func(w http.ResponseWriter, r *http.Request) bool {
			if down := time.Since(start) < time.Minute; down {
				s3test.Refuse(w, r)
				return true
			}
			s3test.Answer(w, r, http.StatusOK, "")
			return true
		}
		store.Start()
		defer store.Close()
		lim, err := aimd.New(aimd.Config{})
		require.NoError(t, err)
		defer lim.Close()
		base := &http.Transport{DialContext: store.Dial}
		defer base.CloseIdleConnections()

		require.NoError(t, upload(t.Context(), (&httplimit.Transport{Base: base, Limiter: httplimit.One(lim)}).Client(), store.URL, 40))
		require.Less(t, time.Since(start), 2*time.Minute)
		requests, _ := store.Counts()
		require.Less(t, requests, 400)
	})
}
