package upload

import (
	"embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/livepage"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
	"github.com/aimd-go/aimd/internal/sim"
)

//go:embed help
var help embed.FS

// Command is aimd upload.
func Command() *cobra.Command {
	c := defaults()
	cmd := cli.Help(help, &cobra.Command{
		Use:   "upload DIR|FILE s3://bucket/prefix",
		Short: "Upload files to S3, verified, as fast as the store lets",
	})
	c.flags(cmd)
	live := livepage.Flag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := c.arguments(args); err != nil {
			return cli.Usage(cmd, err)
		}
		// A reader that goes away, as head does, must not end the program before its parts are removed.
		signal.Ignore(syscall.SIGPIPE)
		defer signal.Reset(syscall.SIGPIPE)
		page, err := livepage.Serve(cmd, *live)
		if err != nil {
			return err
		}
		defer page.Close()
		c.Stdout, c.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
		c.Watch = func(l *aimd.Limiter) { page.Add("", l, nil) }
		if _, err = Run(cmd.Context(), c); err == nil {
			page.Stay(cmd.Context())
		}
		return err
	}
	return cmd
}

// checksums are the checksums that can go with a request. S3 has the CRC64NVME of the whole
// of an object in parts; all stores know MD5.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity-upload.html
var checksums = []string{"crc64nvme", md5Only}

const md5Only = "md5"

func defaults() Config {
	return Config{
		Law: "probe", MaxWindow: 256, Timeout: 5 * time.Minute, PartSize: 8 << 20, Checksum: checksums[0],
	}
}

const (
	// The bounds of parts: https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html
	partLeast, partMost = 5 << 20, 5 << 30
	// windowMost is beyond the requests that a store takes from one machine.
	windowMost = 10_000
)

func (c *Config) flags(cmd *cobra.Command) {
	f := cli.Flags(cmd)
	endpoint := "a URL like http://127.0.0.1:9000 (credentials come from the AWS environment)"
	f.Var(value.URL(&c.Endpoint, endpoint, func(u *url.URL) bool { return u.User == nil }), "endpoint", "the store's URL, if it is not AWS; the bucket goes into the path")
	f.BoolVar(&c.DryRun, "dry-run", false, "list what would be uploaded, and send nothing but questions")
	f.BoolVar(&c.Force, "force", false, "upload what is there already, too")
	f.BoolVarP(&c.Quiet, "quiet", "q", false, "no progress, no summary, no reasons for skipping")
	f.Var(value.Choice(&c.Checksum, checksums), "checksum", "what goes with each request; md5 for stores that know no other")
	cli.Complete(cmd, "checksum", checksums)
	f.Var(value.Size(&c.PartSize, partLeast, partMost), "part-size", "larger files go in parts of this size; it grows so that there are at most 10000")
	f.Var(value.OrNone(value.Duration(&c.Timeout, time.Second, 24*time.Hour)), "timeout", "longest time for one attempt of a request; 0 for none")
	f.Var(value.Whole(&c.MaxAttempts, 0, 1_000_000), "max-attempts", "most attempts for one request; 0 for no end")
	f.BoolVar(&c.Backup, "backup", false, "send a file twice if its request is slow, while slots are free; never a part")
	f.Var(value.Choice(&c.Law, sim.Laws()), "law", "how the window adapts; probe needs no tuning, reno and tahoe have factor 0.9")
	cli.Complete(cmd, "law", sim.Laws())
	f.Var(value.Decimal(&c.MaxWindow, 1, windowMost), "max-window", "most requests in flight")
}

func (c *Config) arguments(args []string) (err error) {
	if len(args) != 2 {
		return fmt.Errorf("got %d arguments, want a file or directory, and s3://bucket/prefix", len(args))
	}
	if c.Bucket, c.Prefix, err = destination(args[1]); err != nil {
		return fmt.Errorf("destination %s: %w", args[1], err)
	}
	c.Source = args[0]
	if _, err := os.Stat(c.Source); err != nil {
		return fmt.Errorf("%s: want a file or directory that can be read: %w", c.Source, errors.Unwrap(err))
	}
	return nil
}

// destination takes s3://bucket/prefix apart. The prefix becomes "" or ends in a slash.
func destination(s string) (bucket, prefix string, err error) {
	rest, ok := strings.CutPrefix(s, "s3://")
	bucket, prefix, _ = strings.Cut(strings.TrimSuffix(rest, "/"), "/")
	elements := strings.Split(prefix, "/")
	switch {
	case !ok, bucket == "":
		err = errors.New("want s3://bucket or s3://bucket/prefix as the last argument")
	case !utf8.ValidString(prefix):
		err = errors.New("the prefix must be UTF-8, as keys are")
	case slices.Contains(elements, "."), slices.Contains(elements, ".."):
		err = errors.New("the prefix must have no element . or ..: most clients could not name such keys")
	case prefix != "":
		prefix += "/"
	}
	return bucket, prefix, err
}
