package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// CheckFile checks before the work that a file can be written. It ignores "".
func CheckFile(flag, name string) error {
	if name == "" {
		return nil
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return fmt.Errorf("--%s %s: is a directory, want the name of a file", flag, name)
	}
	if info, err := os.Stat(filepath.Dir(name)); err != nil || !info.IsDir() {
		return fmt.Errorf("--%s %s: there is no directory %s", flag, name, filepath.Dir(name))
	}
	return nil
}

// MakeDir makes a directory if it does not exist. It ignores "".
func MakeDir(flag, dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("--%s %s: want a directory that can be made or written to: %w", flag, dir, Reason(err))
	}
	return nil
}

// WriteFile writes the file that a flag names. It ignores "".
func WriteFile(flag, name string, write func(io.Writer) error) error {
	if name == "" {
		return nil
	}
	f, err := os.Create(name)
	if err == nil {
		err = errors.Join(write(f), f.Close())
	}
	if err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	return nil
}

// Reason is the first cause of an error, without the words around it. The cause of a file
// error does not name the path, which the message names already. An attempt.Error has its
// cause as the last of several.
func Reason(err error) error {
	for {
		inner := errors.Unwrap(err)
		if several, ok := err.(interface{ Unwrap() []error }); ok && len(several.Unwrap()) > 0 {
			inner = several.Unwrap()[len(several.Unwrap())-1]
		}
		if inner == nil {
			return err
		}
		err = inner
	}
}

// Line returns the command line, quoted for a shell.
func Line(c *cobra.Command) string {
	words := []string{c.CommandPath()}
	c.Flags().Visit(func(f *pflag.Flag) {
		v := f.Value.String()
		if strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || strings.ContainsRune(`"'$&;|<>()*?\`, r) }) || v == "" {
			v = strconv.Quote(v)
		}
		words = append(words, "--"+f.Name+"="+v)
	})
	return strings.Join(append(words, c.Flags().Args()...), " ")
}
