package load

import (
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/load/client"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
)

// ClientCommand is aimd client.
func ClientCommand() *cobra.Command {
	d := client.Config{URL: "http://127.0.0.1:8070/api", Clients: 1000, Timeout: 2 * time.Second}
	o := client.Options{Report: 5 * time.Second}
	var s choice
	lambda, most := 10.0, time.Duration(0)
	c := cli.Help(help, &cobra.Command{
		Use: "client", Short: "Be a thousand clients of aimd server, with any strategy", Args: cli.NoArgs,
	})
	f := cli.Flags(c)
	f.Var(value.Whole(&d.Clients, 1, 100_000), "clients", "how many clients there are")
	f.Var(value.Decimal(&lambda, 0.001, 86_400), "lambda", "mean time from a client's request to its next, in seconds; distributed exponentially")
	f.Var(value.Duration(&d.Timeout, time.Millisecond, time.Hour), "timeout", "longest time for a request")
	s.flags(f)
	f.Var(value.URL(&d.URL, "a URL like http://127.0.0.1:8070/api", func(*url.URL) bool { return true }), "url", "what to ask for")
	f.Var(value.Duration(&o.Report, 100*time.Millisecond, time.Hour), "report", "how often a line is written")
	f.Var(value.Duration(&most, 0, 30*24*time.Hour), "duration", "how long to send; 0s: until Ctrl-C")
	f.BoolVar(&o.JSON, "json", false, "the lines are JSON objects; they tell of what was given up and of the window, too")
	cli.Complete(c, "strategy", strategyNames())
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		if d.Strategy, err = s.strategy(f); err != nil {
			return cli.Usage(c, err)
		}
		d.Lambda = time.Duration(lambda * float64(time.Second))
		if n, known := openFiles(); known && n < filesNeeded(d.Clients) {
			fmt.Fprintf(c.ErrOrStderr(), "This process may open %d files, and --clients %d need up to %d, for a connection each; what finds none counts as an error. Raise it: ulimit -n %[3]d\n", n, d.Clients, filesNeeded(d.Clients))
		}
		o.Stdout = c.OutOrStdout()
		ctx, cancel := bounded(c.Context(), most)
		defer cancel()
		return client.Run(ctx, d, o)
	}
	return c
}

// filesNeeded is how many files so many clients can need: a connection each, as
// many again that are still being made for requests that found another one, and
// a few of the program's own.
func filesNeeded(clients int) uint64 { return 2*uint64(clients) + 20 }
