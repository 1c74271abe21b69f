package httplimit_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/limiter"
)

// BenchmarkRoundTrip is a round trip over the loopback with 1 KiB of body: without a limiter, with one,
// and with one for each host. In "cancel" the context can end, so that the body watches it.
func BenchmarkRoundTrip(b *testing.B) {
	kib := make([]byte, 1<<10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(kib) }))
	defer s.Close()
	roundTrips(b, s.Client().Transport, s.URL)
}

// BenchmarkOverhead is the same without a network: what the limiter itself costs.
func BenchmarkOverhead(b *testing.B) { roundTrips(b, memory(), memoryURL) }

// memory is net/http's Transport with a service in memory, at memoryURL.
func memory() *http.Transport {
	header, tr := http.Header{}, &http.Transport{}
	tr.RegisterProtocol("memory", base(func(req *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, ProtoMajor: 1, Header: header, Body: nothing{}, ContentLength: -1, Request: req}, nil
	}))
	return tr
}

const memoryURL = "memory://service.example/"

// The limiter and its body are one allocation, and a request for net/http is no copy.
func TestWhatALimiterAllocates(t *testing.T) {
	bare := memory()
	l, err := aimd.New()
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		want float64
	}{{"no end", context.Background(), 1}, {"an end", ctx, 4}} {
		buf, req := make([]byte, 1), get(c.ctx, memoryURL)
		allocates := func(rt http.RoundTripper) float64 {
			return testing.AllocsPerRun(100, func() {
				resp, err := rt.RoundTrip(req)
				for err == nil {
					_, err = resp.Body.Read(buf)
				}
			})
		}
		require.LessOrEqual(t, allocates(httplimit.New(bare, l))-allocates(bare), c.want, c.name)
	}
}

// nothing is a body that is empty, and is not http.NoBody.
type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, io.EOF }
func (nothing) Close() error             { return nil }

func roundTrips(b *testing.B, bare http.RoundTripper, url string) {
	l, err := aimd.NewReno()
	if err != nil {
		b.Fatal(err)
	}
	hosts, err := httplimit.PerHost(bare, func(string) (*limiter.Limiter, error) { return aimd.NewReno() }, limiter.KeyedConfig{})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	for _, c := range []struct {
		name string
		rt   http.RoundTripper
		ctx  context.Context
	}{
		{"bare", bare, context.Background()},
		{"limited", httplimit.New(bare, l), context.Background()},
		{"perhost", hosts, context.Background()},
		{"bare-cancel", bare, ctx},
		{"limited-cancel", httplimit.New(bare, l), ctx},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			buf := make([]byte, 2<<10)
			req := get(c.ctx, url)
			for b.Loop() {
				resp, err := c.rt.RoundTrip(req)
				if err != nil {
					b.Fatal(err)
				}
				for err == nil {
					_, err = resp.Body.Read(buf)
				}
				if err := resp.Body.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
