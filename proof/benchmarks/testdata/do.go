package main

import (
	"context"
	"os"

	"github.com/aimd-go/aimd"
)

func main() {
	l, err := aimd.New(aimd.Config{})
	if err != nil {
		os.Exit(1)
	}
	if err := l.Do(context.Background(), func(context.Context) error { os.Stdout.WriteString("hello\n"); return nil }); err != nil {
		os.Exit(1)
	}
}
