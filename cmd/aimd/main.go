// Command aimd shows what package aimd does: aimd demo.
package main

import (
	"context"
	"os"

	"github.com/aimd-go/aimd/cmd/aimd/internal/command"
)

func main() {
	os.Exit(command.Run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}
