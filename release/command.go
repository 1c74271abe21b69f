package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// command is a folder to run programs in, and what is added to their environment.
type command struct {
	dir string
	env []string
}

// run runs a program and returns what it wrote to standard output, without the
// last newline. The error has all that it wrote.
func (c command) run(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = c.dir, append(append(os.Environ(), "PWD="+c.dir), c.env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, &out, &errs)
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

// goEnv is a setting of the go command.
func goEnv(ctx context.Context, name string) (string, error) {
	return command{}.run(ctx, "go", "env", name)
}
