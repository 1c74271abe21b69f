package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
)

var errStopped = errors.New("the proxy has stopped, and the time of --drain is over")

// healthz says whether the proxy takes requests for long: whoever spreads requests over several proxies asks it.
func (p *proxy) healthz(w http.ResponseWriter, _ *http.Request) {
	if p.stopping.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "stopping\n")
		return
	}
	_, _ = io.WriteString(w, "ok\n")
}

// drained stops the server so that no request is lost. At first it only says that it will: whoever sends has --drain-delay
// to go elsewhere, and requests that come meanwhile are served, each as the last of its connection. Then what is in flight
// or waits may end within --drain.
func (p *proxy) drained(ctx context.Context, server *http.Server) error {
	p.stopping.Store(true)
	p.log.Info("stopping", "after", p.drainDelay.String(), "within", p.drain.String())
	p.keep() // a successor may read it now
	time.Sleep(p.drainDelay)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.drain)
	defer cancel()
	err := server.Shutdown(end)
	for err == nil && p.switched.Load() > 0 {
		select {
		case <-end.Done():
			err = end.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	if err == nil {
		return nil
	}
	p.stop(errStopped) // waiting requests get a 429, requests in flight a 502
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = server.Shutdown(last)
	_ = server.Close() // the listener is closed
	return fmt.Errorf("--drain %s: is over, some requests were cut off", value.ShowDuration(p.drain))
}
