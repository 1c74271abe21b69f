package pages

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
)

// upload stands for code of a user's own: it puts n objects, all at once.
func upload(ctx context.Context, client *http.Client, n int) error {
	var all sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		all.Go(func() { errs[i] = putObject(ctx, client, fmt.Sprintf("http://store/bucket/%d", i)) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func putObject(ctx context.Context, client *http.Client, url string) error {
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

// within is a service without a network: a goroutine that waits for a socket stops the clock of testing/synctest.
type within struct{ http.Handler }

func (s within) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result(), nil
}

// The service takes four requests at a time, and is down for the first minute.
func TestAnUploadOutlastsAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy, requests atomic.Int64
		start := time.Now()
		service := within{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer busy.Dec()
			if requests.Inc(); busy.Inc() > 4 || time.Since(start) < time.Minute {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			time.Sleep(100 * time.Millisecond)
		})}
		lim, err := aimd.New(aimd.Config{})
		require.NoError(t, err)
		defer lim.Close()
		client := (&httplimit.Transport{Base: service, Limiter: lim}).Client()

		require.NoError(t, upload(t.Context(), client, 40))
		require.Less(t, time.Since(start), 2*time.Minute)
		require.Less(t, requests.Load(), int64(400))
	})
}
