package e2e

import (
	"net/http"
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

func replaced(t *testing.T, send foreign) {
	beside(t)
	const requests, atATime, slots, delay = 3000, 64, 12, 100 * time.Millisecond // 25 s without a proxy
	ctx := begin(t)
	b := (&backend{delay: delay, slots: slots, refusal: http.StatusTooManyRequests}).serve(t)
	var guards []*guard
	var upstreams, checks []string
	for range 3 {
		g := startGuard(t, b.address, "--drain-delay", "5s")
		guards, upstreams, checks = append(guards, g), append(upstreams, g.address), append(checks, g.admin)
	}
	front := haproxy{Checks: checks}.front(t, upstreams...)
	ended := make(chan result, 1)
	go func() { ended <- send(ctx, t, front, atATime, requests) }()
	for _, g := range guards {
		eventually(t, func() bool { return g.metric(t, "aimd_attempts_total") > 50 }, "it is asked")
		g.process.stop()
		g.start(t, b.address, "--drain-delay", "5s")
	}
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
