package httplimit_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/internal/s3test"
)

// drips writes the text again and again, slowly.
func drips(c net.Conn, text string) {
	for range 100 {
		if _, err := io.WriteString(c, text); err != nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// hostile are the answers of a service that means harm: after the text it may drip, and then the connection ends.
func hostile(t *testing.T) []struct{ says, drips string } {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, err := z.Write(bytes.Repeat([]byte(`{"error":{"code":"throttled","usage":{"total_tokens":1e9}}}`), 20_000))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	const json = "Content-Type: application/json\r\n"
	return []struct{ says, drips string }{
		{says: "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"},
		{says: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello world and more HTTP/1.1 200 OK\r\n\r\n"},
		{says: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n"},
		{says: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n5\r\nhello\r\n0\r\nX: " + strings.Repeat("y", 1<<16) + "\r\n\r\n"},
		{says: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nokk"},
		{"HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\n\r\n", " "},
		{"HTTP/1.1 429 X\r\n" + json + "Content-Length: 9999\r\n\r\n{", " "},
		{"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", "x"},
		{"", "H"}, {says: "\x00\xff\xfe garbage\r\n\r\n"}, {says: "HTTP/1.1 000 \r\n\r\n"}, {},
		{says: strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", 3000) + "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
		{says: "HTTP/1.1 429 X\r\nX-Pad: " + strings.Repeat("p", 1<<18) + "\r\nRetry-After: 99999999999999999999\r\n\r\n"},
		{says: "HTTP/1.1 200 OK\r\nContent-Length: 102400\r\n\r\n" + strings.Repeat("x", 102400)}, // and one that means none
		{says: "HTTP/1.1 429 Too\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"},
		{says: fmt.Sprintf("HTTP/1.1 503 X\r\nContent-Encoding: gzip\r\n"+json+"Retry-After: 0\r\nContent-Length: %d\r\n\r\n%s", bomb.Len(), bomb.String())},
		{says: "HTTP/1.1 200 OK\r\n" + json + "\r\n" + strings.Repeat(`{"usage":{"total_tokens":4294967295,`, 5000)},
		{says: "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {\"usage\":{\"total_tokens\":4294967295}}\n\ndata: [DONE]\n\n"},
		{says: "HTTP/1.1 200 OK\r\n" + json + "Content-Length: 60\r\n\r\n" + `{"error":{"code":"rate_limit_exceeded","retry_after":1e308}}`},
		{says: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-RateLimit-Limit-Tokens: 1\r\nX-RateLimit-Remaining-Tokens: 0\r\nX-RateLimit-Reset-Tokens: 24h\r\n" +
			"RateLimit: " + strings.Repeat(`"a";r=0;t=86400,`, 10_000) + "\r\n\r\nok"},
	}
}

// A service that answers in any of these ways, and callers that read, close and leave as they like, through each door:
// in the end no slot, goroutine or connection is held.
func TestHostileServices(t *testing.T) {
	answers := hostile(t)
	log.SetOutput(io.Discard) // net/http's Transport writes down what it did not ask for
	defer log.SetOutput(os.Stderr)
	synctest.Test(t, func(t *testing.T) {
		l := s3test.Listen()
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					defer c.Close()
					r, err := http.ReadRequest(bufio.NewReader(c))
					if err != nil {
						return
					}
					if rand.IntN(3) == 0 {
						_, _ = io.Copy(io.Discard, r.Body)
					}
					a := answers[rand.IntN(len(answers))]
					if _, err := io.WriteString(c, a.says); err == nil && a.drips != "" {
						drips(c, a.drips)
					}
				}()
			}
		}()
		lim, err := aimd.New(aimd.Config{
			MaxRetryAfter: 5 * time.Millisecond, PauseMin: time.Millisecond, PauseMax: 5 * time.Millisecond, MaxAttempts: 6, MinWindow: 40, MaxAmountRate: 1e12,
		})
		require.NoError(t, err)
		base := &http.Transport{MaxResponseHeaderBytes: 1 << 17, DialContext: l.DialContext}
		tr := &httplimit.Transport{Base: base, Limiter: lim, ReadUsage: true, Resend503: true}
		retrier, err := httplimit.NewRetrier(tr, nil)
		require.NoError(t, err)
		doors := []http.RoundTripper{tr, tr.Client().Transport, retrier}
		var all sync.WaitGroup
		for i := range 30 {
			all.Go(func() {
				for range 10 {
					careless(t, doors[i%3])
				}
			})
		}
		all.Wait()
		base.CloseIdleConnections()
		time.Sleep(time.Minute) // what nobody closed ends with its context, and a drip with its connection
		s := lim.Snapshot()
		assert.True(t, s.InFlight == 0 && s.Queued == 0, "%v", s)
		assert.NotZero(t, s.Successes)
		assert.NotZero(t, s.Overloads)
		require.NoError(t, l.Close())
	})
}

// careless sends one request, and reads, closes or forgets its answer.
func careless(t *testing.T, door http.RoundTripper) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond+rand.N(600*time.Millisecond))
	var body io.Reader
	if rand.IntN(2) == 0 {
		body = strings.NewReader(strings.Repeat("b", rand.IntN(2)<<17+1))
	}
	method := []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodHead}[rand.IntN(4)]
	r, err := http.NewRequestWithContext(ctx, method, anyURL, body)
	if !assert.NoError(t, err) {
		cancel()
		return
	}
	if resp, err := door.RoundTrip(r); err == nil {
		how := rand.IntN(4)
		if resp.StatusCode == http.StatusSwitchingProtocols {
			how = 0 // one that is forgotten keeps its slot, as the documentation says
		}
		if how == 1 {
			go resp.Body.Close()
		}
		if how > 0 {
			_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, rand.Int64N(1<<20)))
		}
		if how < 3 {
			resp.Body.Close()
		}
	}
	if rand.IntN(2) == 0 {
		cancel()
	} else {
		time.AfterFunc(700*time.Millisecond, cancel)
	}
}
