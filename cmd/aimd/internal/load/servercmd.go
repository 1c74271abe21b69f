// Package load is a service to crash, and the clients that crash it: aimd server and
// aimd client.
package load

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/load/filelimit"
	"github.com/aimd-go/aimd/cmd/aimd/internal/load/server"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
)

const serverLong = `Server is the service of "Exponential Backoff or how not to crash a server"
(Smirnov 2014): it answers GET /api with OK, after as long as a service with a
database behind it would take. Up to --limit requests at a time take
--baseDelay each, and c of them

    baseDelay * factor^((c - limit) / K)

computed anew every --recheck while they are here. Nothing is ever refused, and
a request whose client gave up stays until it is served, and slows down the
others until then. The service time grows up to a day and no further, the
number of requests up to that of the files that this process may open
(ulimit -n).

What to try, in two terminals:
  1. aimd server, and aimd client. Some 100 requests per second are served,
     about 10 at a time.
  2. Stop the server for half a minute: Ctrl-Z in its terminal, or kill -STOP
     PID. The client's requests time out, and come again, and again.
  3. Let it go on: fg, or kill -CONT PID. Everybody comes at once, so all are
     served slowly; they give up, come again, and make it slower still. The
     server does not come back, though nothing is broken.
  4. Start both anew, with aimd client --strategy exponential, then with
     reno-0.9: the server is back within seconds.
  5. The same with aimd server --backlog 4096, which is what today's systems
     have: the kernel then keeps all that comes while the server is stopped.
     After exponential backoff that is still too much to serve, all of it to
     nobody. The window has sent next to nothing, and is back.

Every --report a line says how it stands. Ctrl-C ends it with a summary.

The flags and lines are those of the text's server program. What differs: it
listens at 127.0.0.1 alone, its service time does not overflow, and the backlog
is that of the systems that the program was written on.`

const serverExample = `  aimd server
  aimd server -limit 100 -factor 1.02 -baseDelay 50ms
  aimd server -address 0.0.0.0:8070             # for clients on other machines
  aimd server --json | jq -c '[.concurrency, .last_delay_s]'`

// filesServer is how many connections a server should be able to have for the
// scenario in its help: those of half a minute and more.
const filesServer = 10_000

// ServerCommand is aimd server.
func ServerCommand() *cobra.Command {
	d := server.Config{Limit: 30, BaseDelay: 100 * time.Millisecond, Factor: 1.05, K: 15, Recheck: 50 * time.Millisecond}
	o := server.Options{Address: "127.0.0.1:8070", Backlog: 128, Report: time.Second}
	var most time.Duration
	c := &cobra.Command{
		Use: "server", Short: "Be a service that slows down under load, for aimd client",
		Long: serverLong, Example: serverExample, Args: cli.NoArgs,
	}
	f := cli.Flags(c)
	f.Var(value.Whole(&d.Limit, 1, 1_000_000), "limit", "how many requests at a time are served without slowdown")
	f.Var(value.Decimal(&d.Factor, 1, 1000), "factor", "how much slower K requests more make it")
	f.Var(value.Duration(&d.BaseDelay, time.Millisecond, time.Hour), "baseDelay", "service time up to the limit")
	f.VarP(value.Decimal(&d.K, 0.001, 1_000_000), "K", "K", "how many requests more make it slower by the factor")
	f.Var(value.Duration(&d.Recheck, time.Millisecond, time.Minute), "recheck", "how often a request's service time is computed anew; service times are whole multiples of it")
	f.Var(address(&o.Address), "address", "where to listen; 127.0.0.1 is this machine alone, 0.0.0.0 all its addresses")
	f.Var(value.Whole(&o.Backlog, 0, 65_535), "backlog", "how many connections the kernel keeps while the server is stopped; 0: what the system allows, 4096 on most")
	f.Var(value.Duration(&o.Report, 100*time.Millisecond, time.Hour), "report", "how often a line is written")
	f.Var(value.Duration(&most, 0, 30*24*time.Hour), "duration", "how long to serve; 0s: until Ctrl-C")
	f.BoolVar(&o.JSON, "json", false, "the lines are JSON objects; they tell of the peak, and of how many were served, and for nobody (abandoned), too")
	c.RunE = func(c *cobra.Command, _ []string) error {
		o.Stdout, o.Stderr = c.OutOrStdout(), c.ErrOrStderr()
		if n, known := filelimit.Files(); known && n < filesServer {
			fmt.Fprintf(o.Stderr, "This process may open %d files, a connection each; with fewer than %d the requests of a long stop find no place. Raise it: ulimit -n %d\n", n, filesServer, filesServer)
		}
		ctx, cancel := bounded(c.Context(), most)
		defer cancel()
		return server.Run(ctx, d, o)
	}
	return c
}

// address is where to listen.
func address(to *string) *value.Value[string] {
	return value.Text(to, "host:port", "a host or none, and a port from 0 to 65535, like 127.0.0.1:8070; port 0 is any that is free", func(s string) bool {
		_, port, err := net.SplitHostPort(s)
		if err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		}
		return err == nil
	})
}

// bounded is the context of something that ends by itself after the time, 0: not.
func bounded(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	if most == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, most)
}
