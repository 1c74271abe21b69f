// Package load is a service to crash, and the clients that crash it: aimd server and
// aimd client.
package load

import (
	"context"
	"embed"
	"fmt"
	"math"
	"net"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/load/server"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
)

//go:embed help
var help embed.FS

// filesServer is how many connections a server should be able to have for the
// scenario in its help: those of half a minute and more.
const filesServer = 10_000

// bound leaves out what means no bound of files: all bits set, or all but the sign.
func bound(n uint64) (uint64, bool) { return n, n < math.MaxInt64 }

// ServerCommand is aimd server.
func ServerCommand() *cobra.Command {
	d := server.Config{Limit: 30, BaseDelay: 100 * time.Millisecond, Factor: 1.05, K: 15, Recheck: 50 * time.Millisecond}
	o := server.Options{Address: "127.0.0.1:8070", Backlog: 128, Report: time.Second}
	var most time.Duration
	c := cli.Help(help, &cobra.Command{
		Use: "server", Short: "Be a service that slows down under load, for aimd client", Args: cli.NoArgs,
	})
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
		if n, known := openFiles(); known && n < filesServer {
			fmt.Fprintf(o.Stderr, "This process may open %d files, a connection each; with fewer than %d the requests of a long stop find no place. Raise it: ulimit -n %d\n", n, filesServer, filesServer)
		}
		ctx, cancel := bounded(c.Context(), most)
		defer cancel()
		return server.Run(ctx, d, o)
	}
	return c
}

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
