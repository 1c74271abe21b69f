package upload

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
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
	cmd := cli.Help(help, &cobra.Command{Use: "upload DIR|FILE s3://bucket/prefix", Short: "Upload files to S3, verified, as fast as the store lets"})
	c.flags(cmd)
	live := livepage.Flag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := cmp.Or(c.arguments(args), c.list(cmd.Context(), cmd.InOrStdin())); err != nil {
			return cli.Usage(cmd, err)
		}
		if list, ok := c.List.(*os.File); ok && c.FilesFrom != "-" { // Windows keeps a file that is open
			defer list.Close()
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

// class is the name of a storage class. Stores have names of their own.
var class = regexp.MustCompile("^[A-Z][A-Z0-9_-]*$")

// encryptions are the forms of encryption with a key of the store.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/serv-side-encryption.html
var encryptions = []string{"AES256", "aws:kms", "aws:kms:dsse"}

func defaults() Config {
	return Config{
		Law: "probe", MaxWindow: 256, Timeout: 5 * time.Minute, PartSize: 16 << 20, Checksum: checksums[0],
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
	f.Var(value.URL(&c.Endpoint, "a URL like http://127.0.0.1:9000 (credentials come from the AWS environment)"), "endpoint", "the store's URL, if it is not AWS; the bucket goes into the path")
	f.Var(value.Given(&c.FilesFrom, "file", "a file of paths, or - for standard input"), "files-from", "a `file` whose lines are the paths of the files below DIR, or - for standard input")
	f.Var(value.Globs(&c.Include), "include", "only files of this name or path, like *.jpg or 2026/**; may be given again")
	f.Var(value.Globs(&c.Exclude), "exclude", "no files and directories of this name or path; may be given again")
	f.BoolVar(&c.DryRun, "dry-run", false, "list what would be uploaded, and send nothing but questions")
	f.BoolVar(&c.Force, "force", false, "upload what is there already, too")
	f.BoolVarP(&c.Quiet, "quiet", "q", false, "no progress, no summary, no reasons for skipping")
	f.BoolVar(&c.JSON, "json", false, "standard output in lines of JSON: each file, and at the end the counts")
	f.Var(value.Text(&c.StorageClass, "class", "the name of a storage class, like STANDARD_IA or GLACIER_IR", class.MatchString), "storage-class", "the storage class of what is sent")
	f.Var(value.Choice(&c.SSE, encryptions), "sse", "how the store encrypts what is sent")
	cli.Complete(cmd, "sse", encryptions)
	f.Var(value.Given(&c.SSEKMSKeyID, "key", "a key's ID, ARN or alias"), "sse-kms-key-id", "the `key` for --sse aws:kms; without it the bucket's, or AWS's own")
	f.Var(value.Choice(&c.Checksum, checksums), "checksum", "what goes with each request; md5 for stores that know no other")
	cli.Complete(cmd, "checksum", checksums)
	f.Var(value.Size(&c.PartSize, partLeast, partMost), "part-size", "larger files go in parts of this size; it grows so that there are at most 10000")
	f.Var(value.OrNone(value.Duration(&c.Timeout, time.Second, 24*time.Hour)), "timeout", "longest time for one attempt of a request; 0 for none")
	f.Var(value.Whole(&c.MaxAttempts, 0, 1_000_000), "max-attempts", "most attempts for one request; 0 for no end")
	f.BoolVar(&c.Backup, "backup", false, "send a file twice if its request is slow, while slots are free; never a part")
	f.Var(value.Choice(&c.Law, sim.Laws()), "law", "how the window adapts; probe needs no tuning, reno and tahoe have factor 0.9")
	cli.Complete(cmd, "law", sim.Laws())
	f.Var(value.Decimal(&c.MaxWindow, 1, windowMost), "max-window", "most requests in flight, and a third of the files that may be open (ulimit -n); with --share of all processes together")
	c.Shared.Flag(f)
}

func (c *Config) arguments(args []string) (err error) {
	if len(args) != 2 {
		return fmt.Errorf("got %d arguments, want a file or directory, and s3://bucket/prefix", len(args))
	}
	if c.Bucket, c.Prefix, err = destination(args[1]); err != nil {
		return fmt.Errorf("destination %s: %w", args[1], err)
	}
	switch kms := strings.HasPrefix(c.SSE, "aws:kms"); {
	case c.SSEKMSKeyID != "" && !kms:
		return fmt.Errorf("--sse-kms-key-id %s: want --sse aws:kms or aws:kms:dsse with it", c.SSEKMSKeyID)
	case kms && c.Checksum == md5Only:
		return fmt.Errorf("--sse %s: want --checksum crc64nvme, as such an object has no MD5 to compare", c.SSE)
	}
	c.Source = args[0]
	info, err := os.Stat(c.Source)
	if err != nil || !info.Mode().IsRegular() && !info.IsDir() {
		return fmt.Errorf("%q: want a file or directory that can be read: %w", c.Source, cmp.Or(cli.Reason(err), errors.New("it is another kind of file")))
	}
	return nil
}

// list opens the list of files, if there is one.
func (c *Config) list(ctx context.Context, stdin io.Reader) (err error) {
	switch {
	case c.FilesFrom == "":
	case !isDirectory(c.Source):
		return fmt.Errorf("--files-from %s: want a directory as the first argument, it is %s", c.FilesFrom, c.Source)
	case c.FilesFrom == "-":
		c.List = stdin
	default:
		// A pipe opens when somebody writes to it.
		if c.List, err = cli.Await(ctx, func() (*os.File, error) { return os.Open(c.FilesFrom) }); err != nil {
			return fmt.Errorf("--files-from %s: want a file that can be read, or - for standard input: %w", c.FilesFrom, cli.Reason(err))
		}
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
