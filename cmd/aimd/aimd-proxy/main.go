// Command aimd-proxy is aimd proxy alone, with the same flags: a third of the size, for a container of its own.
package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/proxy"
)

func main() {
	tool := cli.Tool{Commands: []*cobra.Command{proxy.Command()}, Stdout: os.Stdout, Stderr: os.Stderr}
	os.Exit(tool.Run(context.Background(), append([]string{"proxy"}, os.Args[1:]...)...))
}
