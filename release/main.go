// Command release makes releases of this repository, and rehearses them.
//
//	go run ./release tidy              go mod tidy for the commands, which have no replace
//	go run ./release rehearse          fetch, build and run the working tree as users would
//	go run ./release prepare v0.1.0    commit and tag a release; nothing is pushed
//
// A release is one commit and one tag for each released module: the root, the
// folders below contrib and those below cmd. They require each other at the
// version of the release. The modules below contrib also replace each other by
// relative paths, which Go ignores for dependencies. Those below cmd may not,
// since go install refuses them; in development go.work stands in for it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"
)

// longest bounds all that one run does. A rehearsal takes a minute, or a few
// where nothing is in the caches yet.
const longest = 15 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	t, err := open(ctx, ".")
	if err != nil {
		return err
	}
	switch {
	case len(args) == 1 && args[0] == "tidy":
		return t.tidyCommands(ctx)
	case len(args) == 1 && args[0] == "rehearse":
		return rehearse(ctx, t)
	case len(args) == 2 && args[0] == "prepare":
		return prepare(ctx, t, args[1])
	}
	return errors.New("usage: release tidy | rehearse | prepare VERSION")
}
