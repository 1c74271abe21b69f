package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aimd-go/aimd/cmd/aimd/internal/measure"
	"github.com/aimd-go/aimd/cmd/aimd/internal/progress"
	"github.com/aimd-go/aimd/cmd/aimd/internal/report"
)

// output is what becomes of the results.
type output struct {
	json          bool
	html, figures string
}

func (o *output) flags(f *pflag.FlagSet, page string) {
	f.BoolVar(&o.json, "json", false, "write one JSON object per strategy and line to standard output, in place of the table; the page only with --html")
	f.StringVar(&o.html, "html", page, "write a page with table and curves to this `file`; '' for none")
	f.StringVar(&o.figures, "figures", "", "write the curves as SVG and PNG into this `directory`")
}

// check finds out before all the work whether its fruits can be written.
func (o *output) check(c *cobra.Command) error {
	if o.json && !c.Flags().Changed("html") {
		o.html = ""
	}
	if err := checkPage(o.html); err != nil {
		return usageError{err, c.CommandPath()}
	}
	if o.figures != "" {
		if err := os.MkdirAll(o.figures, 0o755); err != nil {
			return usageError{fmt.Errorf("--figures %s: want a directory that can be made or written to: %w", o.figures, reason(err)), c.CommandPath()}
		}
	}
	return nil
}

// checkPage finds out whether a page can be written to the file; "" is none.
func checkPage(html string) error {
	if html == "" {
		return nil
	}
	if info, err := os.Stat(html); err == nil && info.IsDir() {
		return fmt.Errorf("--html %s: is a directory, want the name of a file", html)
	}
	if info, err := os.Stat(filepath.Dir(html)); err != nil || !info.IsDir() {
		return fmt.Errorf("--html %s: there is no directory %s", html, filepath.Dir(html))
	}
	return nil
}

// reason is a file error without the path, which the message names already.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// show runs the strategies and shows what is known in the end, also after an
// interruption or an error.
func (o *output) show(c *cobra.Command, r report.Report, run func(context.Context, measure.Watcher) iter.Seq2[measure.Result, error]) error {
	display := progress.New(c.ErrOrStderr())
	interrupted := false
	var failed error
	for x, err := range run(c.Context(), display) {
		if err != nil {
			failed = err
			break
		}
		r.Results = append(r.Results, x)
		interrupted = interrupted || x.Interrupted
		if o.json {
			failed = errors.Join(failed, json.NewEncoder(c.OutOrStdout()).Encode(x))
		}
	}
	display.Close()
	if len(r.Results) > 0 {
		failed = errors.Join(failed, o.write(c, r))
	}
	if failed == nil && (interrupted || c.Context().Err() != nil) {
		return errInterrupted
	}
	return failed
}

// write writes all but the JSON.
func (o *output) write(c *cobra.Command, r report.Report) error {
	say := c.OutOrStdout()
	if o.json {
		say = c.ErrOrStderr()
	} else if err := r.Table(say); err != nil {
		return err
	}
	if o.html != "" {
		if err := writeFile(o.html, r.HTML); err != nil {
			return fmt.Errorf("--html: %w", err)
		}
		fmt.Fprintln(say, "Page with the curves:", o.html)
	}
	if o.figures != "" {
		files, err := r.Figures(o.figures)
		if err != nil {
			return fmt.Errorf("--figures: %w", err)
		}
		fmt.Fprintln(say, "Figures:", strings.Join(files, " "))
	}
	return nil
}

func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// line is the command line, such that it can be given again.
func line(c *cobra.Command) string {
	words := []string{c.CommandPath()}
	c.Flags().Visit(func(f *pflag.Flag) {
		v := f.Value.String()
		if strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || strings.ContainsRune(`"'$&;|<>()*?\`, r) }) || v == "" {
			v = strconv.Quote(v)
		}
		words = append(words, "--"+f.Name+"="+v)
	})
	return strings.Join(words, " ")
}
