package proxy

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd/internal/s3test"
)

// A program whose credential is new in each request has one limiter all the same: by the parameter that says who signs, by
// what stands before the signature, or by the scheme alone. Two programs have two, where the credential tells them apart.
func TestOneProgramHasOneLimiter(t *testing.T) {
	jwt := func(claims string) string { return base64.RawURLEncoding.EncodeToString([]byte(claims)) }
	for what, form := range map[string]func(who string, i int) string{
		"OAuth 1 of oauthlib": func(who string, i int) string {
			return fmt.Sprintf(`OAuth oauth_nonce="%d", oauth_timestamp="1", oauth_signature_method="HMAC-SHA1", oauth_consumer_key="c", oauth_token="%s", oauth_signature="s%d"`, i, who, i)
		},
		"OAuth 1 with a realm": func(who string, i int) string {
			return fmt.Sprintf(`OAuth realm="", oauth_nonce="%d", oauth_consumer_key="%s"`, i, who)
		},
		"HTTP signatures, created first": func(who string, i int) string {
			return fmt.Sprintf(`Signature created=%d, keyId="tenancy/%s/key", signature="s"`, i, who)
		},
		"Digest, the nonce first": func(who string, i int) string {
			return fmt.Sprintf(`Digest nonce="%d", username="%s", realm="r"`, i, who)
		},
		"AWS": func(who string, i int) string {
			return fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/2026%d/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=s", who, i)
		},
		"AWS, the headers first": func(who string, i int) string {
			return fmt.Sprintf("AWS4-HMAC-SHA256 SignedHeaders=host, Credential=%s/2026/x, Signature=%d", who, i)
		},
		"EdgeGrid": func(who string, i int) string {
			return fmt.Sprintf("EG1-HMAC-SHA256 client_token=%s;access_token=a;timestamp=%d;nonce=n;signature=s", who, i)
		},
		"Service Bus": func(who string, i int) string {
			return fmt.Sprintf("SharedAccessSignature sr=x&sig=%d&se=%d&skn=%s", i, i, who)
		},
		"SharedKey": func(who string, i int) string { return fmt.Sprintf("SharedKey %s:%d", who, i) },
		"a JWT for each request": func(who string, i int) string {
			return fmt.Sprintf("Bearer %s.%s.s%d", jwt(`{"alg":"RS256"}`), jwt(fmt.Sprintf(`{"iss": %q, "iat": %d}`, who, i)), i)
		},
		"a JWT of a subject": func(who string, i int) string {
			return fmt.Sprintf("bearer %s.%s.s%d", jwt(`{}`), jwt(fmt.Sprintf(`{"exp": %d, "iss": "all", "sub": %q}`, i, who)), i)
		},
		// These name nobody, so all programs of the scheme are one.
		"Azure Communication Services": func(_ string, i int) string {
			return fmt.Sprintf("HMAC-SHA256 SignedHeaders=x-ms-date;host&Signature=%d/abc=", i)
		},
		"Cosmos DB": func(_ string, i int) string { return fmt.Sprintf("type%%3dmaster%%26ver%%3d1.0%%26sig%%3d%d", i) },
		"Negotiate": func(_ string, i int) string { return fmt.Sprintf("Negotiate YII%d", i) },
	} {
		p, keys := &proxy{}, map[string]int{}
		for _, who := range []string{"one", "two"} {
			for i := range 20 {
				r := httptest.NewRequest("GET", "/", nil)
				r.Header.Set("Authorization", form(who, i))
				keys[p.key(r)]++
			}
		}
		want := 2
		if form("one", 1) == form("two", 1) {
			want = 1
		}
		assert.Len(t, keys, want, what)
		assert.NotContains(t, keys, all, what)
	}
	// A token that says nothing of its sender is one sender.
	for _, token := range []string{"Bearer a.b.c", "Bearer " + jwt("{}") + "." + jwt(`{"exp": 1}`) + ".s", "Bearer sk-1", "Token token=abc", "GenieKey x"} {
		assert.Equal(t, token, credential(token))
	}
}

// --key says who sends: a header, a cookie, a parameter of the query, the program's address.
func TestWhoSaysWhoSends(t *testing.T) {
	for by, change := range map[string]string{
		"X-Tenant": "X-Tenant: %d", "cookie:sid": "Cookie: a=b; sid=%d", "query:api_key": "%d", "address": "%d",
	} {
		require.True(t, keyForm(by), by)
		p, keys := &proxy{settings: settings{by: by}}, map[string]bool{}
		for i := range 4 {
			r := httptest.NewRequest("GET", "/?api_key=same", nil)
			r.Header.Set("Authorization", fmt.Sprint("Bearer ", i))
			switch value := fmt.Sprintf(change, i%2); by {
			case "query:api_key":
				r.URL.RawQuery = "a=1&api_key=" + value
			case "address":
				r.RemoteAddr = "10.0.0." + value + fmt.Sprint(":", 1000+i)
			default:
				name, v, _ := strings.Cut(value, ": ")
				r.Header.Set(name, v)
			}
			keys[p.key(r)] = true
		}
		assert.Len(t, keys, 2, by)
		if by != "address" {
			assert.Equal(t, all, p.key(httptest.NewRequest("GET", "/", nil)), by)
		}
	}
	for _, wrong := range []string{"", "a:b", "cookie:", "query:a b", "X Y"} {
		assert.False(t, keyForm(wrong), wrong)
	}
}

// Limiters that come and go with one request each limit nothing. The log says so, once: 100 in a row, one each 6 s at least.
func TestALimiterForEachRequestIsSaid(t *testing.T) {
	for _, c := range []struct {
		requests int
		// again: each second limiter has two requests.
		again bool
		every time.Duration
		want  int
	}{{100, false, 0, 0}, {101, false, 0, 1}, {1000, false, time.Second, 1}, {1000, true, 0, 0}, {1000, false, 7 * time.Second, 0}, {1000, false, 5 * time.Second, 1}} {
		synctest.Test(t, func(t *testing.T) {
			logs := &written{}
			s := defaults
			s.to, s.keys = "http://service", 1
			p, err := newProxy(s, slog.New(slog.NewTextHandler(logs, nil)))
			require.NoError(t, err)
			for i := range c.requests {
				l, err := p.limited.For(fmt.Sprint("key ", i))
				require.NoError(t, err)
				n := 1
				if c.again {
					n += i % 2
				}
				for range n {
					require.NoError(t, l.Do(t.Context(), func(context.Context) error { return nil }))
				}
				time.Sleep(c.every)
			}
			assert.Equal(t, c.want, strings.Count(logs.String(), "a limiter of its own"), "%+v", c)
		})
	}
}

func TestHowLongAProgramWaits(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"X-Stainless-Timeout: 600": 10 * time.Minute, "x-stainless-read-timeout: 1.5": 1500 * time.Millisecond,
		"grpc-timeout: 1500m": 1500 * time.Millisecond, "grpc-timeout: 2S": 2 * time.Second, "grpc-timeout: 24H": 24 * time.Hour,
		"x-envoy-expected-rq-timeout-ms: 250": 250 * time.Millisecond, "Request-Timeout: 1": time.Second,
		"X-Stainless-Timeout: NOT_GIVEN": 0, "X-Stainless-Timeout: -1": 0, "X-Stainless-Timeout: NaN": 0, "grpc-timeout: 25H": 0,
		"grpc-timeout: ": 0, "grpc-timeout: S": 0, "grpc-timeout: 5x": 0, "grpc-timeout: 1n": 0, "Timeout: 1": 0,
	} {
		name, value, _ := strings.Cut(header, ": ")
		h := http.Header{}
		h.Set(name, value)
		assert.Equal(t, want, patienceOf(h), header)
	}
}

// spike plays programs that leave after a second: .8 of what a service of 32 slots takes, and four times as much for 2
// s. What is above the slots the service refuses, or lets wait. It does not see that a program has left. The result is
// the share of those done of those that came from 3 s after the spike on.
func spike(t *testing.T, refuses bool, headers ...string) (share float64) {
	const slots, load, rest = 32, 256, 8 * time.Second
	inBubble(t, nil, nil, func(t *testing.T, b bubble) {
		places := make(chan struct{}, slots)
		random, mu := rand.New(rand.NewPCG(5, 7)), sync.Mutex{}
		draw := func() time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return 50*time.Millisecond + time.Duration(random.Int64N(int64(100*time.Millisecond)))
		}
		service := s3test.Listen()
		b.base.DialContext = service.DialContext
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			select {
			case places <- struct{}{}:
			default:
				if refuses {
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				places <- struct{}{}
			}
			time.Sleep(draw())
			<-places
		})}
		go server.Serve(service)
		defer server.Close()
		var all sync.WaitGroup
		var done, asked atomic.Int32
		ask := func(counts bool) {
			c := b.dial()
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(time.Second))
			if _, err := io.WriteString(c, get("/", headers...)); err != nil {
				return
			}
			if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil && resp.StatusCode == 200 && counts {
				done.Inc()
			}
		}
		began := time.Now()
		for at := time.Duration(0); at < 10*time.Second+rest; at = time.Since(began) {
			n, counts := 1, at >= 10*time.Second
			if at >= 5*time.Second && at < 7*time.Second {
				n = 4
			}
			for range n {
				if counts {
					asked.Inc()
				}
				all.Go(func() { ask(counts) })
			}
			time.Sleep(time.Second / load)
		}
		all.Wait()
		share = float64(done.Load()) / float64(asked.Load())
		time.Sleep(time.Minute)
		b.settled(t, "all")
	})
	return share
}

// A queue of programs that leave after a second: oldest first, each was sent when it had left, .03 and then .00 for
// ever. Those that say when they leave are served in time again 3 s after the spike.
func TestASpikeOfProgramsThatSayWhenTheyLeave(t *testing.T) {
	for _, refuses := range []bool{false, true} {
		assert.GreaterOrEqual(t, spike(t, refuses, "X-Stainless-Timeout: 1"), .95, "refuses: %v", refuses)
	}
}

// Those that do not say it are served in time, too: the newest goes first once an eighth of them has left.
func TestASpikeOfProgramsThatDoNotSayWhenTheyLeave(t *testing.T) {
	for _, refuses := range []bool{false, true} {
		share := spike(t, refuses)
		t.Logf("refuses %v: %.3f", refuses, share)
		assert.GreaterOrEqual(t, share, .95, "refuses: %v", refuses)
	}
}

// A program's time ends at the head of the answer: a stream goes on. Before it the program gets a 504 in flight, and a
// 429 if it was never sent.
func TestTheTimeOfAProgramEndsAtTheHead(t *testing.T) {
	inBubble(t, answering(func(conn net.Conn, r *http.Request) error {
		if r.URL.Path == "/slow" {
			time.Sleep(20 * time.Second)
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
		time.Sleep(20 * time.Second)
		_, err := io.WriteString(conn, "hi")
		return err
	}), func(s *settings) { s.maxWindow = 1 }, func(t *testing.T, b bubble) {
		status, _, text := b.ask(t, get("/stream", "X-Stainless-Timeout: 5"))
		assert.Equal(t, "200 hi", fmt.Sprint(status, " ", text))
		began := time.Now()
		flies := b.asks(t, "POST"+get("/slow", "X-Stainless-Timeout: 5", "Content-Length: 0")[3:])
		synctest.Wait()
		waits := b.asks(t, get("/stream", "X-Stainless-Timeout: 4"))
		assert.Equal(t, 429, <-waits)
		assert.Equal(t, 504, <-flies)
		assert.Equal(t, 5*time.Second, time.Since(began))
		time.Sleep(time.Minute)
		b.settled(t, "all")
	})
}
