// Package shared is the flag --share: one window for the processes of several machines, through a Redis.
package shared

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/pflag"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
	"github.com/aimd-go/aimd/contrib/redisshare"
	"github.com/aimd-go/aimd/share"
)

// Windows make limiters. Each shares its window with the limiters of its name in other processes.
// Without an address each limiter is of this process alone.
type Windows struct {
	address string
	client  *redis.Client
	// checked: the store has taken a process.
	checked bool
}

// Flag adds --share.
func (w *Windows) Flag(f *pflag.FlagSet) {
	want := "a URL like redis://host:6379, redis://user:password@host:6379/0 or, by TLS, rediss://host:6379"
	f.Var(value.Text(&w.address, "URL", want, func(s string) bool {
		_, err := redis.ParseURL(s)
		return err == nil
	}), "share", "a Redis or Valkey, through which all processes with the same one share each window")
}

// hello is the longest that the first call of the store may take: meanwhile other limiters wait. Our choice.
const hello = 200 * time.Millisecond

// New makes the limiter with this name, and a function that hands its part of the window back.
func (w *Windows) New(name string, c aimd.Config, log *slog.Logger) (l *aimd.Limiter, leave func(), err error) {
	leave = func() {}
	if w.address == "" {
		l, err = aimd.New(c)
		return l, leave, err
	}
	if w.client == nil {
		o, err := redis.ParseURL(w.address)
		if err != nil {
			return nil, leave, fmt.Errorf("--share: %w", err)
		}
		// A call is not tried again, since the next one says more. Its time is share's.
		o.MaxRetries, o.ContextTimeoutEnabled, o.DialTimeout = -1, true, time.Second
		redis.SetLogger(quiet{}) // share says when the store is silent
		w.client = redis.NewClient(o)
	}
	fleet, err := share.Join(share.Config{Store: &prompt{Store: redisshare.Store{Client: w.client, Name: name}}, Logger: log})
	switch {
	case err != nil && w.checked: // a password that changed must not cost requests
		log.Warn("the store of --share refuses: this limiter shares nothing", "limiter", name, "err", err)
		l, err = aimd.New(c)
		return l, leave, err
	case err != nil:
		u, _ := url.Parse(w.address) // the flag took it
		return nil, leave, fmt.Errorf("--share %s: %w", u.Redacted(), err)
	}
	l, err = fleet.New(c)
	return l, func() { _ = fleet.Close() }, err
}

// Check reports what is wrong with the address, if the store says it. A store that is away is no error. After it New fails
// only for a wrong Config.
func (w *Windows) Check(name string) error {
	_, leave, err := w.New(name, aimd.Config{}, slog.New(slog.DiscardHandler))
	if err == nil {
		leave()
		w.checked = true
	}
	return err
}

// prompt is a store whose first call does not wait for long.
type prompt struct {
	share.Store
	greeted atomic.Bool
}

func (p *prompt) Report(ctx context.Context, id string, row []byte, lease time.Duration) (share.Answer, error) {
	if !p.greeted.Swap(true) {
		short, cancel := context.WithTimeout(ctx, hello)
		defer cancel()
		ctx = short
	}
	return p.Store.Report(ctx, id, row, lease)
}

type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}
