// Package livepage serves the live page of a command's limiters on this machine, while the command works.
package livepage

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/cmd/aimd/internal/terminal"
	"github.com/aimd-go/aimd/live"
)

// Flag adds the flag --live.
func Flag(f *pflag.FlagSet) *bool {
	return f.Bool("live", false, "serve a page that shows the windows at work, on a free port of this machine; standard error has its address. On a terminal it stays until Ctrl-C")
}

// Page is a page that is served. The zero Page is none, whose methods do nothing.
type Page struct {
	server *http.Server
	served sync.WaitGroup
	stderr io.Writer
	// watched: there is a terminal, so somebody can end it.
	watched bool

	mu sync.Mutex
	// Guarded by mu.
	limiters []*aimd.Limiter
	clients  []client
}

type client struct {
	name string
	look func() live.Flow
}

// Serve begins to serve the page if it is on, and prints its address.
func Serve(cmd *cobra.Command, on bool) (*Page, error) {
	if !on {
		return &Page{}, nil
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("--live: %w", err)
	}
	p := &Page{stderr: cmd.ErrOrStderr()}
	p.watched = terminal.Columns(p.stderr) > 0 && terminal.Columns(cmd.OutOrStdout()) > 0
	p.server = &http.Server{Handler: live.Compare(p.shown, p.without), ReadHeaderTimeout: 10 * time.Second}
	p.served.Go(func() { _ = p.server.Serve(listener) }) // until it is closed
	url := fmt.Sprintf("http://%s/", listener.Addr())
	p.served.Go(func() { // looks until the page is closed, so that a browser that opens it later sees the time before
		if res, err := http.Get(url + "events?every=1s"); err == nil {
			defer res.Body.Close()
			_, _ = io.Copy(io.Discard, res.Body)
		}
	})
	fmt.Fprintln(p.stderr, "live:", url)
	return p, nil
}

// Add adds a limiter to the page, under the limiter's own name. If the limiter is nil, Add
// adds a client without one, under the name given.
func (p *Page) Add(name string, l *aimd.Limiter, look func() live.Flow) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l != nil {
		p.limiters = append(p.limiters, l)
	} else {
		p.clients = append(p.clients, client{name, look})
	}
}

func (p *Page) shown() iter.Seq2[string, *aimd.Limiter] {
	p.mu.Lock()
	defer p.mu.Unlock()
	return live.Of(slices.Clone(p.limiters)...)()
}

func (p *Page) without() iter.Seq2[string, live.Flow] {
	p.mu.Lock()
	clients := slices.Clone(p.clients)
	p.mu.Unlock()
	return func(yield func(string, live.Flow) bool) {
		for _, c := range clients {
			if !yield(c.name, c.look()) {
				return
			}
		}
	}
}

// Stay leaves the page there after the work until the context ends, if somebody sits at a terminal to end it.
func (p *Page) Stay(ctx context.Context) {
	if !p.watched || ctx.Err() != nil {
		return
	}
	fmt.Fprintln(p.stderr, "live: the page stays until Ctrl-C")
	<-ctx.Done()
}

// Close ends the page.
func (p *Page) Close() {
	if p.server != nil {
		_ = p.server.Close()
		p.served.Wait()
	}
}
