// Package proxy is aimd proxy: a limiter in front of a service, for programs in any language.
package proxy

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/shared"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
	"github.com/aimd-go/aimd/window"
)

//go:embed help
var help embed.FS

// settings are the flags by their names, but for by, which is --key. Empty and 0 are none.
type settings struct {
	to, listen, admin, host, by, classes string
	rulesFile, answersFile, stateFile    string
	one, keepHost, json, shadow          bool
	keys, queue                          int
	hold, idle, drain, drainDelay        time.Duration
	buffer, memory                       int64 // in bytes
	maxRate, maxAmountRate, maxWindow    float64
	shared                               shared.Windows
}

var defaults = settings{
	listen: "127.0.0.1:8020", keys: 1000, queue: 10_000, buffer: 16 << 20, memory: 1 << 30,
	hold: 2 * time.Minute, idle: 5 * time.Minute, drain: 30 * time.Second, drainDelay: 5 * time.Second,
}

// ballast counts as memory in use, so garbage is collected every 20 MB, and not every 4: a quarter of the CPU. It is never
// written, so it takes no memory. A larger GOGC would multiply what waiting requests take.
var ballast []byte

// Command is aimd proxy.
func Command() *cobra.Command {
	s := defaults
	c := cli.Help(help, &cobra.Command{Use: "proxy", Short: "Put a limiter in front of a service, for programs in any language", Args: cli.NoArgs})
	f := cli.Flags(c)
	f.Var(value.URL(&s.to, "a URL without a query, like https://api.example.com"), "to", "the service")
	f.Var(value.Address(&s.listen), "listen", "where the programs ask; 127.0.0.1 is this machine alone")
	f.Var(value.Given(&s.host, "name", "a name of a host"), "host", "a name of this machine, with a dot, that programs ask for")
	f.Var(value.Text(&s.by, "key", "a name of a header like X-Tenant, cookie:NAME, query:NAME or address", keyForm), "key", "what says which limiter a request has: a header, cookie:NAME, query:NAME or address, the program's; without it a credential")
	f.BoolVar(&s.one, "one", false, "one limiter for all requests")
	f.Var(value.Choice(&s.classes, []string{"read,write"}), "classes", "a limiter for reads (GET, HEAD) and another for writes, as for a store that limits them apart")
	f.Var(value.Whole(&s.keys, 1, 100_000), "keys", "the most limiters at a time; one that is idle goes")
	f.Var(value.Whole(&s.queue, 1, 1_000_000), "queue", "the most requests that wait for one limiter")
	f.Var(value.OrNone(value.Decimal(&s.maxRate, 0.0001, 1_000_000)), "max-rate", "the most requests of one limiter in a second, as a contract says; 0 for none")
	f.Var(value.OrNone(value.Decimal(&s.maxAmountRate, 0.0001, 1e12)), "max-amount-rate", "the most tokens of one limiter in a second, by the usage in answers of OpenAI's or Anthropic's form; 0 for none")
	f.Var(value.OrNone(value.Decimal(&s.maxWindow, window.MinWindow, window.MaxWindow)), "max-window", "the most requests of one limiter in flight; 0 for none")
	f.Var(value.Duration(&s.hold, 0, time.Hour), "hold", "longest wait of a request while none of its limiter succeeds")
	f.Var(value.Size(&s.buffer, 0, 1<<30), "buffer", "the largest body that is kept in memory to send a request again")
	f.Var(value.Size(&s.memory, 1<<20, 1<<40), "memory", "the most memory for all kept bodies together; above it a body waits to be read, and one may pass")
	f.Var(value.Duration(&s.idle, time.Second, 24*time.Hour), "idle", "longest time without a byte, of the program or of the service")
	f.Var(value.Duration(&s.drainDelay, 0, time.Hour), "drain-delay", "how long requests are taken after Ctrl-C or SIGTERM, while /healthz says 503")
	f.Var(value.Duration(&s.drain, 0, time.Hour), "drain", "how long requests may go on after --drain-delay")
	f.BoolVar(&s.keepHost, "keep-host", false, "send the Host of the request, as a signature of S3 covers it")
	f.Var(value.Given(&s.rulesFile, "file", "a file of rules"), "rules", "a `file` of rules, a document as package remote reads it; SIGHUP reads it again")
	f.Var(value.Given(&s.answersFile, "file", "a file of answers"), "answers", "a `file` that says what answers mean, for a service that says it in its own words; SIGHUP reads it again")
	s.shared.Flag(f)
	f.Var(value.Given(&s.stateFile, "file", "a file that may be written"), "state", "a `file` that keeps the windows over a restart")
	f.Var(value.Address(&s.admin), "admin", "where the page of the limiters is served; without it nowhere")
	f.BoolVar(&s.shadow, "shadow", false, "only watch: send each request once and at once, and say what would have been held")
	f.BoolVar(&s.json, "json", false, "logs in JSON")
	c.RunE = func(c *cobra.Command, _ []string) error {
		switch {
		case s.to == "":
			return cli.Usage(c, errors.New("--to: is missing, want the URL of the service, like https://api.example.com"))
		case s.one && s.by != "":
			return cli.Usage(c, fmt.Errorf("--one and --key %s: want one of them", s.by))
		case s.asksItself():
			return cli.Usage(c, fmt.Errorf("--to %s and --listen %s: want two addresses, or the proxy would ask itself", s.to, s.listen))
		}
		return s.run(c.Context(), c.ErrOrStderr())
	}
	return c
}

// asksItself reports whether --to is where the proxy listens.
func (s settings) asksItself() bool {
	to, _ := url.Parse(s.to) // the flag took it
	at, err := net.ResolveTCPAddr("tcp", s.listen)
	if err != nil || to.Scheme != "http" || cmp.Or(to.Port(), "80") != strconv.Itoa(at.Port) {
		return false
	}
	own, _ := net.InterfaceAddrs()
	ips, _ := net.LookupIP(to.Hostname())
	return slices.ContainsFunc(ips, func(ip net.IP) bool {
		local := ip.IsUnspecified() || ip.IsLoopback() || slices.ContainsFunc(own, func(a net.Addr) bool { return strings.HasPrefix(a.String(), ip.String()+"/") })
		return ip.Equal(at.IP) || local && (at.IP == nil || at.IP.IsUnspecified()) || ip.IsUnspecified() && at.IP.IsLoopback()
	})
}

// run serves until the context ends.
func (s settings) run(ctx context.Context, stderr io.Writer) error {
	p, err := s.start(ctx, stderr)
	if err != nil {
		return err
	}
	slog.SetDefault(p.log) // net/http says something of its own now and then
	defer func() { p.fresh.Load().CloseIdleConnections() }()
	defer p.leave()
	defer runtime.KeepAlive(ballast)
	var again chan os.Signal
	if s.rulesFile != "" || s.answersFile != "" {
		again = make(chan os.Signal, 1)
		signal.Reset(syscall.SIGHUP) // it would end the tool
		signal.Notify(again, syscall.SIGHUP)
		defer signal.Stop(again)
	}
	defer p.keeping(again)()
	failed := make(chan error, 2)
	if s.admin != "" {
		admin, err := p.serve("--admin", s.admin, p.admin(), "page of the limiters, and /metrics", 0, failed)
		if err != nil {
			return err
		}
		defer admin.Close()
	}
	// Half of the files are for connections to the service.
	server, err := p.serve("--listen", s.listen, p, "listening, Ctrl-C ends it", half(cli.Files()), failed)
	if err != nil {
		return err
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	return p.drained(ctx, server)
}

// start makes the proxy, with its files read.
func (s settings) start(ctx context.Context, stderr io.Writer) (*proxy, error) {
	var logs slog.Handler = slog.NewTextHandler(stderr, nil)
	if s.json {
		logs = slog.NewJSONHandler(stderr, nil)
	}
	s.hold = max(s.hold, time.Millisecond) // a slot that is free is taken
	p, err := newProxy(s, slog.New(logs))
	if err != nil {
		return nil, err
	}
	if s.shadow {
		p.log.Info("shadow: each request is sent once and at once, and nothing is held; what would have been is on the page and in /metrics of --admin, and here")
	}
	if debug.SetMemoryLimit(-1) == math.MaxInt64 { // without it the garbage of bodies takes as much as --memory
		debug.SetMemoryLimit(s.memory + s.memory/8 + 256<<20)
		if os.Getenv("GOGC") == "" {
			ballast = make([]byte, 16<<20)
		}
	}
	if s.stateFile != "" {
		if p.windows, err = load(s.stateFile); err == nil {
			err = p.save() // it may not be possible there
		}
		if err != nil {
			return nil, fmt.Errorf("--state %s: %w", s.stateFile, err)
		}
	}
	if err := p.shared.Check(p.target.Host); err != nil {
		return nil, err
	}
	if s.rulesFile != "" {
		if err := p.remote.Refresh(ctx); err != nil {
			return nil, fmt.Errorf("--rules %s: %w", s.rulesFile, err)
		}
	}
	return p, nil
}

// serve listens, to at most so many connections if most is not 0. The end of the server goes to failed.
func (p *proxy) serve(flag, address string, h http.Handler, what string, most int, failed chan<- error) (*http.Server, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w; want an address of this machine that no other program has", flag, address, errors.Unwrap(err))
	}
	server := p.server(h)
	p.log.Info(what, "url", "http://"+l.Addr().String())
	if most > 0 {
		l = newBounded(l, most, p, server)
	}
	go func() { failed <- server.Serve(l) }()
	return server, nil
}

// leave hands the parts of shared windows back.
func (p *proxy) leave() {
	var all sync.WaitGroup
	for _, leave := range p.leaves.Range {
		all.Go(leave.(func()))
	}
	all.Wait()
}

// half is the number of files, of so many, that are for programs; 0 for no bound. Of few files 16 are for all else.
func half(files int) int {
	if files == 0 || files > 10_000 {
		return files / 2
	}
	return max(1, files/2-16)
}

// reread reads the files of rules again. A wrong file changes no rule.
func (p *proxy) reread() {
	if err := p.refreshed(); err != nil {
		p.log.Warn("the rules for answers are bad", "err", err)
	}
	if p.rulesFile == "" {
		return
	}
	if err := p.remote.Refresh(context.Background()); err != nil {
		p.log.Warn("the rules are bad, or do not fit all", "err", err)
	} else {
		p.log.Info("rules in force", "version", p.remote.Snapshot().Document.Version)
	}
}

// keeping saves the windows now and then, and once more when the function is called that it returns. Meanwhile it reads
// the rules at each signal.
func (p *proxy) keeping(again <-chan os.Signal) (end func()) {
	ended, all := make(chan struct{}), sync.WaitGroup{}
	all.Go(func() {
		for {
			select {
			case <-again:
				p.reread()
			case <-time.After(10 * time.Second):
				p.keep()
			case <-ended:
				return
			}
		}
	})
	return func() { close(ended); all.Wait(); p.keep() }
}

func (p *proxy) server(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: p.idle, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		DisableGeneralOptionsHandler: true, BaseContext: func(net.Listener) context.Context { return p.life },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if c, ok := c.(*placed); ok && c.over {
				return context.WithValue(ctx, errFiles, true)
			}
			return ctx
		},
		ErrorLog: slog.NewLogLogger(p.log.Handler(), slog.LevelWarn),
	}
}

var errStopped = errors.New("the proxy has stopped, and the time of --drain is over")

// healthz says whether the proxy takes requests for long: whoever spreads requests over several proxies asks it.
func (p *proxy) healthz(w http.ResponseWriter, _ *http.Request) {
	if p.stopping.Load() {
		http.Error(w, "stopping", http.StatusServiceUnavailable)
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
