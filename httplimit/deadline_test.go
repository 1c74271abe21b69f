package httplimit_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/window"
)

// hangs is a handler that answers nothing until the client has gone.
var hangs = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })

func TestAServerThatHangsUntilTheClientsTimeout(t *testing.T) {
	for _, p := range inMemory {
		t.Run(p.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := one(t)
				s := p.start(t, hangs)
				client := &http.Client{Transport: httplimit.New(s.Client().Transport, l.Limiter), Timeout: 200 * time.Millisecond}
				_, err := client.Get(s.URL)
				var u *url.Error
				require.ErrorAs(t, err, &u)
				assert.True(t, u.Timeout())
				l.ended(window.Timeout)
			})
		})
	}
}

func TestABodyThatHangsUntilTheClientsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := one(t)
		h, _ := streaming()
		s := pipe(t, h)
		client := &http.Client{Transport: httplimit.New(s.Client().Transport, l.Limiter), Timeout: time.Second}
		resp, err := client.Get(s.URL)
		require.NoError(t, err)
		_, err = io.ReadAll(resp.Body)
		require.Error(t, err)
		l.ended(window.Timeout)
		require.NoError(t, resp.Body.Close())
	})
}

func TestABodyThatHangsUntilTheDeadline(t *testing.T) {
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			l := one(t)
			ctx := newTerm(time.Now().Add(time.Hour))
			resp, _ := open(t, ctx, p, l)
			started := make(chan struct{})
			read := async(func() error {
				close(started)
				_, err := io.ReadAll(resp.Body)
				return err
			})
			<-started
			ctx.end(context.DeadlineExceeded)
			require.ErrorIs(t, <-read, context.DeadlineExceeded)
			<-l.outcomes // Timeout, or Neutral if the deadline came before Read
			require.NoError(t, resp.Body.Close())
		})
	}
}

func TestATimeoutOfTheBaseIsATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := one(t)
		s := pipe(t, hangs)
		tr := s.Client().Transport.(*http.Transport).Clone()
		defer tr.CloseIdleConnections()
		tr.ResponseHeaderTimeout = 10 * time.Millisecond
		_, err := httplimit.New(tr, l.Limiter).RoundTrip(get(t.Context(), s.URL))
		require.Error(t, err)
		l.ended(window.Timeout)
	})
}

func TestACancellationIsNeutral(t *testing.T) {
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			l := one(t)
			arrived := make(chan struct{})
			s := p.start(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				close(arrived)
				<-r.Context().Done()
			}))
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			go func() { <-arrived; cancel() }()
			_, err := httplimit.New(s.Client().Transport, l.Limiter).RoundTrip(get(ctx, s.URL))
			require.ErrorIs(t, err, context.Canceled)
			l.ended(window.Neutral)
		})
	}
}
