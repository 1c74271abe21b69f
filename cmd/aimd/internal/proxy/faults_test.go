package proxy

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli/clitest"
	"github.com/aimd-go/aimd/internal/s3test"
)

// A program that closes its own side after the request is there and reads. net/http takes it for gone, and would say
// "200 OK" for a POST that the service refused.
func TestAProgramThatHalfClosesReadsNo200(t *testing.T) {
	asked, gone := make(chan struct{}), make(chan struct{})
	url, p, _ := behind(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(asked)
		<-r.Context().Done()
		close(gone)
	}), nil)
	c := said(t, url, "POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi")
	<-asked
	require.NoError(t, c.(*net.TCPConn).CloseWrite())
	text, _ := io.ReadAll(c)
	assert.Empty(t, string(text))
	<-gone
	until(func() bool { flying, _ := state(p); return flying == 0 })
}

// upload is a POST with a body of that length, which it tells or not, in pieces between which the program waits.
func (b bubble) upload(t *testing.T, length, pieces int, told bool) (status int) {
	t.Helper()
	c := b.dial()
	defer c.Close()
	go func() {
		form, piece, end := fmt.Sprint("Content-Length: ", length), string(make([]byte, length/pieces)), ""
		if !told {
			form, piece, end = "Transfer-Encoding: chunked", fmt.Sprintf("%x\r\n%s\r\n", length/pieces, piece), "0\r\n\r\n"
		}
		fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n\r\n", form)
		for range pieces {
			if _, err := io.WriteString(c, piece); err != nil {
				return
			}
			time.Sleep(time.Second)
		}
		_, _ = io.WriteString(c, end)
	}()
	_, _ = fmt.Fscanf(c, "HTTP/1.1 %d", &status)
	_, _ = io.Copy(io.Discard, c)
	return status
}

// Bodies that are kept have a bound in sum: above it a body waits to be read, and no request is lost. All came by half, and then
// one at a time; what waited for --idle got a 400. A single body may go above, or they would wait for each other for ever.
func TestKeptBodiesHaveABoundInSum(t *testing.T) {
	const most, body = 1 << 20, 240 << 10
	for pieces, within := range map[int]time.Duration{1: 26 * time.Second, 10: 4 * time.Minute} {
		inBubble(t, handled(func(http.ResponseWriter, *http.Request) { time.Sleep(time.Second) }),
			func(s *settings) { s.memory, s.buffer, s.maxWindow, s.idle = most, 256<<10, 4, 30*time.Second }, func(t *testing.T, b bubble) {
				var all sync.WaitGroup
				began, took := time.Now(), atomic.Duration{}
				for range 60 {
					all.Go(func() { assert.Equal(t, 200, b.upload(t, body, pieces, true)); took.Store(time.Since(began)) })
				}
				least, full := int64(most), 0
				for range 200 {
					time.Sleep(500 * time.Millisecond)
					synctest.Wait()
					b.memory.mu.Lock()
					if least = min(least, b.memory.left); b.memory.left < body {
						full++
					}
					b.memory.mu.Unlock()
				}
				all.Wait()
				assert.Less(t, took.Load(), within, "15 to 20 s and 3:17, 15 s and 2:45 at best; one at a time 33 s and 5:24")
				assert.GreaterOrEqual(t, least, int64(-body))
				assert.Greater(t, full, 10, "the bound is met")
				b.settled(t, "all")
			})
	}
}

// Where the length is not told no room is held for a longer body: 12 that fit together came three at a time, in 29 s.
func TestABodyOfUnknownLengthHoldsWhatHasCome(t *testing.T) {
	inBubble(t, handled(func(http.ResponseWriter, *http.Request) {}), func(s *settings) { s.memory, s.buffer = 1<<20, 256<<10 }, func(t *testing.T, b bubble) {
		var all sync.WaitGroup
		began := time.Now()
		for range 12 {
			all.Go(func() { assert.Equal(t, 200, b.upload(t, 60<<10, 10, false)) })
		}
		all.Wait()
		assert.Less(t, time.Since(began), 15*time.Second)
		b.settled(t, "all")
	})
}

// A length that is announced costs nothing: 1000 programs announce 16 MiB each and send a byte.
func TestAnAnnouncedBodyCostsNothing(t *testing.T) {
	inBubble(t, handled(func(http.ResponseWriter, *http.Request) {}), nil, func(t *testing.T, b bubble) {
		var conns []net.Conn
		for range 1000 {
			conns = append(conns, b.dial())
			_, err := io.WriteString(conns[len(conns)-1], "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 16000000\r\n\r\nx")
			require.NoError(t, err)
		}
		synctest.Wait()
		b.memory.mu.Lock()
		assert.GreaterOrEqual(t, b.memory.left, b.settings.memory-1000*8<<10)
		b.memory.mu.Unlock()
		for _, c := range conns {
			c.Close()
		}
		b.settled(t, "all")
	})
}

// Two keys have two names, however many there are, and a URL that is signed has the key of a header that is signed.
func TestNamesOfKeys(t *testing.T) {
	p, names := &proxy{}, map[string]bool{}
	ask := func(query string, header ...string) string {
		r, err := http.NewRequest(http.MethodGet, "http://a/?"+query, nil)
		require.NoError(t, err)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		return p.key(r)
	}
	for i := range 100_000 {
		names[ask("", "Authorization", fmt.Sprint("Bearer ", i))] = true
	}
	assert.Len(t, names, 100_000)
	signed := ask("", "Authorization", "AWS4-HMAC-SHA256 Credential=AKID/20261124/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=f")
	assert.Equal(t, signed, ask("X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKID%2F20261125%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=1"))
	assert.NotEqual(t, signed, ask("X-Amz-Credential=OTHER%2F20261125"))
	assert.NotEqual(t, all, ask("X-Amz-Credential=OTHER"))
	assert.NotEqual(t, all, ask("", "X-Goog-Api-Key", "a"))
	assert.Equal(t, all, ask("a=b"))
}

// A program can read what the proxy itself says: S3's SDKs want XML, those of LLMs JSON.
func TestTheProxySpeaksTheDialectOfTheRequest(t *testing.T) {
	for name, c := range map[string]struct{ header, kind string }{
		"S3":   {"Authorization: AWS4-HMAC-SHA256 Credential=A/b, Signature=c", "application/xml"},
		"JSON": {"Accept: application/json", "application/json"},
		"text": {"Accept: */*", "text/plain; charset=utf-8"},
	} {
		inBubble(t, handled(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("X-Ratelimit-Limit-Requests", "7")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write([]byte("\x1f\x8b\x08\x00noise\x00\xff\xfe"))
		}), func(s *settings) { s.hold = time.Second }, func(t *testing.T, b bubble) {
			status, header, text := b.ask(t, get("/?a=secret", c.header))
			assert.Equal(t, 429, status, name)
			assert.Equal(t, c.kind, header.Get("Content-Type"), name)
			assert.Equal(t, "7", header.Get("X-Ratelimit-Limit-Requests"))
			assert.NotContains(t, text+header.Get("Aimd-Reason"), "secret")
			assert.NotContains(t, text+header.Get("Aimd-Reason"), "noise", "no bytes of a compressed body")
			assert.Contains(t, header.Get("Aimd-Reason"), "429 Too Many Requests", name)
			assert.Contains(t, header.Get("Aimd-Reason"), "--hold", name)
			switch name {
			case "S3":
				var e struct{ Code, Message string }
				require.NoError(t, xml.Unmarshal([]byte(text), &e))
				assert.Equal(t, "SlowDown", e.Code)
				assert.Contains(t, e.Message, "429")
			case "JSON":
				var e struct {
					Type  string
					Error struct{ Type, Message string }
				}
				require.NoError(t, json.Unmarshal([]byte(text), &e))
				assert.Equal(t, "error rate_limit_error", e.Type+" "+e.Error.Type)
				assert.Contains(t, e.Error.Message, "429")
			}
		})
	}
}

// A service with a limit on the whole minute, one program: its own bounds hold.
func TestMaxRateAndMaxWindow(t *testing.T) {
	var flying, most atomic.Int64
	inBubble(t, handled(func(http.ResponseWriter, *http.Request) {
		most.Store(max(most.Load(), flying.Inc()))
		time.Sleep(time.Second)
		flying.Dec()
	}), func(s *settings) { s.maxRate, s.maxWindow = 2, 3 }, func(t *testing.T, b bubble) {
		by, took := b.together(t, 100)
		assert.Equal(t, map[int]int{200: 100}, by)
		assert.InDelta(t, 50, took.Seconds(), 2)
		assert.LessOrEqual(t, most.Load(), int64(3))
	})
}

// A contract of 100 tokens a second: the answers say that each has taken 100. SDKs ask for gzip always.
func TestMaxAmountRate(t *testing.T) {
	for rate, want := range map[float64]float64{0: 0, 100: 100} {
		inBubble(t, handled(func(w http.ResponseWriter, r *http.Request) {
			assert.Equal(t, rate == 0, r.Header.Get("Accept-Encoding") != "")
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"usage": {"input_tokens": 60, "output_tokens": 40}}`)
		}), func(s *settings) { s.maxAmountRate = rate }, func(t *testing.T, b bubble) {
			by, took := b.together(t, 100, "Accept-Encoding: gzip")
			assert.Equal(t, map[int]int{200: 100}, by)
			assert.InDelta(t, want, took.Seconds(), 2)
		})
	}
}

// SDKs ask for gzip always. A quota that is used up is read all the same: the program has the answer at once, as it came.
func TestACompressedRefusalIsRead(t *testing.T) {
	var text strings.Builder
	z := gzip.NewWriter(&text)
	_, err := io.WriteString(z, `{"error": {"message": "You exceeded your current quota.", "type": "insufficient_quota", "code": "insufficient_quota"}}`)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	var asked atomic.Int64
	inBubble(t, handled(func(w http.ResponseWriter, _ *http.Request) {
		asked.Inc()
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, text.String())
	}), nil, func(t *testing.T, b bubble) {
		began := time.Now()
		status, _, got := b.ask(t, get("/", "Accept-Encoding: gzip"))
		assert.Equal(t, 429, status)
		assert.Equal(t, text.String(), got)
		assert.EqualValues(t, 1, asked.Load())
		assert.Zero(t, time.Since(began))
	})
}

// What waits has the head of its request in memory, up to --queue of them. A head of the service is bounded as well.
func TestHeadsAreBounded(t *testing.T) {
	for size, want := range map[int]int{60 << 10: 200, 70 << 10: 431} {
		inBubble(t, handled(func(http.ResponseWriter, *http.Request) {}), nil, func(t *testing.T, b bubble) {
			status, _, _ := b.ask(t, get("/", "X-A: "+strings.Repeat("x", size)))
			assert.Equal(t, want, status)
			b.settled(t, "all")
		})
	}
	for size, want := range map[int]int{900 << 10: 200, 1200 << 10: 502, 0: 502} { // the last has a status that is none
		inBubble(t, func(c net.Conn) {
			_, _ = http.ReadRequest(bufio.NewReader(c))
			fmt.Fprintf(c, "HTTP/1.1 %03d OK\r\nContent-Length: 0\r\nX-A: %s\r\n\r\n", min(size, 200), strings.Repeat("x", size))
		}, nil, func(t *testing.T, b bubble) {
			status, header, _ := b.ask(t, "POST"+get("/", "Content-Length: 0")[3:])
			assert.Equal(t, want, status, header.Get("Aimd-Reason"))
			b.settled(t, "all")
		})
	}
}

// The proxy answers a request whose program has stopped in its body, which nobody has read: net/http reads it first, and
// waited for ever.
func TestAnAnswerBeforeABodyThatStops(t *testing.T) {
	inBubble(t, handled(func(http.ResponseWriter, *http.Request) { time.Sleep(4 * time.Minute) }), func(s *settings) {
		s.maxWindow, s.queue, s.buffer = 1, 1, 1<<10
	}, func(t *testing.T, b bubble) {
		var all sync.WaitGroup
		for range 2 { // one in flight, and one in the queue
			all.Go(func() { b.ask(t, get("/")) })
			synctest.Wait()
		}
		began := time.Now()
		status, _, text := b.ask(t, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000\r\n\r\nhello")
		assert.Equal(t, 429, status)
		assert.Contains(t, text, "queue full")
		assert.LessOrEqual(t, time.Since(began), b.idle)
		all.Wait()
		b.settled(t, "all")
	})
}

// A service that refuses all, by another status than 429: the hold ends each request, and no refusal is a sign of life.
func TestTheHoldEndsOtherRefusals(t *testing.T) {
	for _, c := range []struct {
		status     int
		kind, text string
	}{
		{400, "application/x-amz-json-1.0", `{"__type":"ThrottlingException","message":"Rate exceeded"}`},
		{200, "application/xml", `<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>`},
	} {
		inBubble(t, handled(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.text)
		}), nil, func(t *testing.T, b bubble) {
			began := time.Now()
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() {
					status, _, text := b.ask(t, "PUT"+get("/a", "Content-Length: 0")[3:])
					assert.Equal(t, 429, status, text)
				})
			}
			all.Wait()
			assert.InDelta(t, b.hold.Seconds(), time.Since(began).Seconds(), 10, c.status)
			b.settled(t, "all")
		})
	}
}

// An interim answer to a request with a body: the answer has the whole of --idle, and as many headers as it came with. A
// program of HTTP/1.0, as nginx was for long, knows none, and took it for the answer.
func TestAnInterimAnswerChangesNothing(t *testing.T) {
	for i, interim := range []string{"", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", "HTTP/1.1 103 Early Hints\r\n\r\n"} {
		version, passed := "HTTP/1.1", interim
		if i == 3 {
			version, passed = "HTTP/1.0", ""
		}
		want := version + " 200 OK\r\nX-A: 1\r\nContent-Length: 2\r\n\r\nhi"
		inBubble(t, func(c net.Conn) {
			defer c.Close()
			if _, err := readRaw(bufio.NewReader(c)); err == nil {
				_, _ = io.WriteString(c, interim)
				time.Sleep(defaults.idle - time.Second)
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nX-A: 1\r\nContent-Length: 2\r\n\r\nhi")
			}
		}, nil, func(t *testing.T, b bubble) {
			c := b.dial()
			defer c.Close()
			go io.WriteString(c, "POST / "+version+"\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi")
			got, err := io.ReadAll(io.LimitReader(c, int64(len(passed+want))))
			require.NoError(t, err)
			assert.ElementsMatch(t, strings.Split(want, "\r\n"), strings.Split(string(got)[len(passed):], "\r\n"), interim)
		})
	}
}

// lost is a connection over which nothing arrives any more, as after a change of the network.
type lost struct {
	net.Conn
	gone *atomic.Bool
}

func (l lost) Write(b []byte) (int, error) {
	if l.gone.Load() {
		return len(b), nil
	}
	return l.Conn.Write(b)
}

// A connection of HTTP/2 that is lost is found by a ping, and its requests go over another one.
func TestALostConnectionOfHTTP2(t *testing.T) {
	signed := httptest.NewTLSServer(nil)
	certificates, roots := signed.TLS.Certificates, signed.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	signed.Close()
	inBubble(t, nil, func(s *settings) { s.to = "https://example.com" }, func(t *testing.T, b bubble) {
		var versions []string
		service := &http.Server{
			TLSConfig: &tls.Config{Certificates: certificates},
			Handler:   http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { versions = append(versions, r.Proto) }),
		}
		conns := s3test.Listen()
		go service.ServeTLS(conns, "", "")
		defer service.Close()
		b.base.TLSClientConfig = &tls.Config{RootCAs: roots}
		var made []*atomic.Bool
		b.base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			made = append(made, atomic.NewBool(false))
			c, err := conns.DialContext(ctx, network, address)
			return lost{c, made[len(made)-1]}, err
		}
		status, _, text := b.ask(t, get("/"))
		require.Equal(t, 200, status, text)
		require.Len(t, made, 1)
		made[0].Store(true)
		began := time.Now()
		status, _, text = b.ask(t, get("/"))
		assert.Equal(t, 200, status, text)
		assert.InDelta(t, 45, time.Since(began).Seconds(), 2, "30 s to the ping, and 15 s for its answer")
		assert.Equal(t, []string{"HTTP/2.0", "HTTP/2.0"}, versions)
		b.settled(t, "all")
		b.base.CloseIdleConnections()
	})
}

// The error of an address that another program has named neither the flag nor what is allowed.
func TestAnAddressThatIsTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	for _, flag := range []string{"--listen", "--admin"} {
		got := clitest.Run(t, []*cobra.Command{Command()}, "proxy", "--to", "http://x", "--listen", "127.0.0.1:0", flag, l.Addr().String())
		assert.Equal(t, cli.Failed, got.Status)
		assert.Regexp(t, flag+" "+l.Addr().String()+": bind: .*; want an address of this machine", got.Stderr)
	}
}

// A proxy that asked itself, by another spelling of its address, held all requests until --hold was over.
func TestAProxyThatAsksItself(t *testing.T) {
	for line, itself := range map[string]bool{
		"http://localhost:8020 127.0.0.1:8020": true, "http://127.0.0.1 :80": true, "http://[::1]:8020/v1 [::]:8020": true, "http://127.0.0.7:8020 0.0.0.0:8020": true,
		"http://0.0.0.0:8020 127.0.0.1:8020": true, "https://127.0.0.1:8020 127.0.0.1:8020": false, "http://127.0.0.1:8021 127.0.0.1:8020": false,
		"http://127.0.0.2:8020 127.0.0.1:8020": false, "http://192.0.2.1:8020 :8020": false,
	} {
		to, listen, _ := strings.Cut(line, " ")
		assert.Equal(t, itself, settings{to: to, listen: listen}.asksItself(), line)
	}
}
