package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A rolling update: three proxies behind haproxy, which asks each for its health, are replaced in turn while a program
// sends 3000 POSTs, each once. haproxy tries none again. None is lost, and none is done twice.
func TestReplacedInTurn(t *testing.T) {
	for name, send := range map[string]foreign{"a connection each": python, "kept connections": kept} {
		t.Run(name, func(t *testing.T) { replaced(t, send) })
	}
}

// The SDKs of README's table, as they come: what is refused or cut off by a proxy that goes, they try again. None is lost
// while three proxies are replaced in turn. Each takes half a minute.
func TestSDKsThroughAReplacedProxy(t *testing.T) {
	const slots, models, objects = 4, 1500, 600
	for _, kind := range []string{"openai", "openai-stream", "anthropic", "anthropic-stream", "s3", "s3-stream", "s3-presigned"} {
		t.Run(kind, func(t *testing.T) {
			beside(t)
			ctx := begin(t)
			requests, args := models, []string{}
			var service string
			if strings.HasPrefix(kind, "s3") {
				store := startGateway(t, slots)
				steward(ctx, t, store.address)
				service, requests, args = store.address, objects, []string{"--keep-host"}
			} else {
				service = (&model{delay: 80 * time.Millisecond, slots: slots}).serve(t)
			}
			p := startProxies(t, service, args...)
			ended := make(chan result, 1)
			go func() { ended <- foreignSDK(kind)(ctx, t, p.front, 64, requests) }()
			p.replace(t, service, args...)
			require.Empty(t, ended, "the program has not ended when the last one is replaced")
			got := <-ended
			require.Zero(t, got.Lost)
			figures.log(t, "%d lost of %d, in %v", got.Lost, requests, got.took())
		})
	}
}

// proxies are three behind haproxy, which asks each for its health.
type proxies struct {
	guards []*guard
	front  string
}

func startProxies(t *testing.T, service string, args ...string) (p proxies) {
	var upstreams, checks []string
	for range 3 {
		g := startGuard(t, service, append(args, "--drain-delay", "5s")...)
		p.guards, upstreams, checks = append(p.guards, g), append(upstreams, g.address), append(checks, g.admin)
	}
	p.front = haproxy{Checks: checks}.front(t, upstreams...)
	return p
}

// replace replaces them in turn, each once it is asked.
func (p proxies) replace(t *testing.T, service string, args ...string) {
	for _, g := range p.guards {
		eventually(t, func() bool { return g.metric(t, "aimd_attempts_total") > 50 }, "it is asked")
		g.process.stop()
		g.start(t, service, append(args, "--drain-delay", "5s")...)
	}
}

func replaced(t *testing.T, send foreign) {
	beside(t)
	const requests, atATime, slots, delay = 3000, 64, 12, 100 * time.Millisecond // 25 s without a proxy
	ctx := begin(t)
	b := (&backend{delay: delay, slots: slots, refusal: http.StatusTooManyRequests}).serve(t)
	p := startProxies(t, b.address)
	ended := make(chan result, 1)
	go func() { ended <- send(ctx, t, p.front, atATime, requests) }()
	p.replace(t, b.address)
	n, _ := b.paths()
	require.Less(t, n, requests, "the program has not ended when the last one is replaced")
	got := <-ended
	require.Zero(t, got.Lost)
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Len(t, b.done, requests)
	for path, times := range b.done {
		require.Equal(t, 1, times, path)
	}
	figures.log(t, "%d lost, %d requests to the service, %d refused, in %v", got.Lost, b.requests, b.refused, got.took())
}
