package upload

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/livepage"
	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/sum"
	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/walk"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
	"github.com/aimd-go/aimd/sim"
)

//go:embed help
var help embed.FS

// Command is aimd upload.
func Command() *cobra.Command {
	c, choice := defaults(), livepage.Choice{}
	cmd := cli.Help(help, &cobra.Command{
		Use:   "upload DIR|FILE... s3://bucket/prefix",
		Short: "Upload files to S3, verified, resumable, as fast as the store lets",
		Args: func(cmd *cobra.Command, args []string) error {
			return cli.Usage(cmd, c.arguments(args))
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(c.check(), value.CheckFactor(cmd.Flags().Changed("factor"), "--law", c.Law)); err != nil {
				return cli.Usage(cmd, err)
			}
			return c.run(cmd, choice)
		},
	})
	c.flags(cmd)
	choice.Flags(cmd.Flags())
	return cmd
}

// run uploads, beside the live page if there is to be one.
func (c Config) run(cmd *cobra.Command, choice livepage.Choice) error {
	// A reader that goes away, as head does, must not end it in the middle of things.
	signal.Ignore(syscall.SIGPIPE)
	defer signal.Reset(syscall.SIGPIPE)
	page, err := choice.Serve(cmd)
	if err != nil {
		return err
	}
	defer page.Close()
	c.Stdout, c.Stderr, c.Watch = cmd.OutOrStdout(), cmd.ErrOrStderr(), page.Add
	if _, err = Run(cmd.Context(), c); err == nil && !c.JSON {
		page.Stay(cmd.Context())
	}
	return err
}

// defaults is the configuration without any flag.
func defaults() Config {
	return Config{
		Law: "probe", Factor: 0.9, InitialWindow: 20, MaxWindow: 256, Timeout: 5 * time.Minute,
		PartSize: 8 << 20, Threshold: 16 << 20, Checksum: sum.CRC64NVME, Links: walk.FollowAll,
	}
}

func (c *Config) flags(cmd *cobra.Command) {
	f := cli.Flags(cmd)
	f.Var(value.Endpoint(&c.Endpoint), "endpoint", "the store's URL, if it is not AWS; the bucket goes into the path")
	f.BoolVar(&c.VirtualHost, "virtual-host", false, "with --endpoint: the bucket goes into the host's name")
	f.BoolVar(&c.DryRun, "dry-run", false, "list what would be uploaded, and send nothing but questions")
	f.BoolVar(&c.Force, "force", false, "upload what is there already, too")
	f.Var(value.Choice(&c.Links, []string{"follow", "files", "skip"}, []walk.Links{walk.FollowAll, walk.FollowFiles, walk.FollowNone}),
		"symlinks", "follow all but those that lead back up, only those to files, or skip them; what is skipped is reported")
	f.StringVar(&c.From, "from", "", "upload only the paths in this `file`, separated by NUL or newline; each below an argument")
	f.StringVar(&c.Failed, "failed", "", "write the paths of what failed or was not begun to this `file`, each ended by NUL, for --from and xargs -0")
	f.BoolVar(&c.JSON, "json", false, "write one JSON object per file and line to standard output")
	f.BoolVarP(&c.Quiet, "quiet", "q", false, "no progress, no summary, no reasons for skipping")
	f.BoolVarP(&c.Verbose, "verbose", "v", false, "a line for every file")
	words, algorithms := checksums()
	f.Var(value.Choice(&c.Checksum, words, algorithms), "checksum", "what goes with each request; md5 for stores that know no other")
	f.Var(value.Size(&c.PartSize, partLeast, partMost), "part-size", "size of parts; grows so that there are at most 10000")
	f.Var(value.Size(&c.Threshold, 1, partMost), "threshold", "files from this size on go in parts")
	f.Var(value.OrNone(value.Duration(&c.Timeout, time.Second, 24*time.Hour)), "timeout", "longest time for one attempt of a request; 0 for none")
	f.Var(value.Whole(&c.MaxAttempts, 0, 1_000_000), "max-attempts", "most attempts for one request; 0 for no end")
	f.Var(value.Choice(&c.Law, sim.Laws(), sim.Laws()), "law", "how the window adapts; probe needs no tuning")
	f.Var(value.Factor(&c.Factor), "factor", "what a cut of reno or tahoe keeps of the window; 0.5 for a store whose limit varies much")
	f.Var(value.Decimal(&c.InitialWindow, 1, windowMost), "initial-window", "requests in flight to begin with")
	f.Var(value.Decimal(&c.MaxWindow, 1, windowMost), "max-window", "most requests in flight")
}

const (
	// Bounds of a single upload and of a part:
	// https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html
	partLeast = 5 << 20
	partMost  = 5 << 30
	// windowMost is beyond what a store takes from one machine.
	windowMost = 10_000
)

// checksums are the algorithms by their names; md5 is none of them.
func checksums() (words []string, algorithms []*sum.Algorithm) {
	for _, a := range sum.Algorithms() {
		words, algorithms = append(words, strings.ToLower(a.Name)), append(algorithms, a)
	}
	return append(words, "md5"), append(algorithms, nil)
}

func (c *Config) arguments(args []string) (err error) {
	if len(args) < 2 {
		return errors.New("want at least one file or directory, and s3://bucket/prefix as the last argument")
	}
	c.Roots = args[:len(args)-1]
	c.Bucket, c.Prefix, err = destination(args[len(args)-1])
	return err
}

// check checks what no flag can know by itself.
func (c *Config) check() error {
	if c.VirtualHost && c.Endpoint == "" {
		return errors.New("--virtual-host: goes only with --endpoint; AWS has it so anyway")
	}
	if c.Quiet && c.Verbose {
		return errors.New("--quiet and --verbose: want one of them at most")
	}
	for _, root := range c.Roots {
		if _, err := os.Stat(root); err != nil {
			return fmt.Errorf("%s: want a file or directory that can be read: %w", root, errors.Unwrap(err))
		}
	}
	if c.Failed != "" {
		return c.checkFailed()
	}
	return nil
}

// Config is what to upload, to where and how.
type Config struct {
	// Roots are the files and directories to upload.
	Roots []string
	// From names a list of paths to upload alone; "": all below the roots.
	From string
	// Bucket and Prefix are where to. The prefix is "" or ends in a slash.
	Bucket, Prefix string
	// Endpoint is the store's URL; "": AWS, or what the AWS environment says.
	Endpoint string
	// VirtualHost puts the bucket into the host's name, with Endpoint.
	VirtualHost bool

	// Law is the control law, by its name in sim.Laws.
	Law string
	// Factor is what a cut keeps of the window, for laws that have one; InitialWindow and MaxWindow bound it, in requests.
	Factor, InitialWindow, MaxWindow float64
	// Timeout bounds each attempt; 0: none.
	Timeout time.Duration
	// MaxAttempts bounds the attempts of each request; 0: no bound.
	MaxAttempts int

	// PartSize is the size of parts, Threshold that from which files go in parts.
	PartSize, Threshold int64
	// Checksum goes with all that is sent; nil: MD5.
	Checksum *sum.Algorithm
	Links    walk.Links
	// Force uploads what is there already, too.
	Force bool
	// DryRun sends nothing but questions.
	DryRun bool

	// Failed names a file for the paths of what is not in the store; "": none.
	Failed string
	// JSON, Quiet and Verbose say what is written of each file.
	JSON, Quiet, Verbose bool
	Stdout, Stderr       io.Writer
	// Watch is given the limiter before it works; nil: nobody watches.
	Watch func(*aimd.Limiter)
}

// destination takes s3://bucket/prefix apart. The prefix becomes "" or ends in a slash.
func destination(s string) (bucket, prefix string, err error) {
	rest, ok := strings.CutPrefix(s, "s3://")
	if !ok {
		return "", "", fmt.Errorf("destination %s: want s3://bucket or s3://bucket/prefix as the last argument", s)
	}
	bucket, prefix, _ = strings.Cut(rest, "/")
	if err := value.Bucket(&bucket).Set(bucket); err != nil {
		return "", "", fmt.Errorf("destination %s: bucket %q: %w", s, bucket, err)
	}
	if !utf8.ValidString(prefix) {
		return "", "", fmt.Errorf("destination %s: the prefix must be UTF-8, as keys are", s)
	}
	for _, element := range strings.Split(prefix, "/") {
		if element == "." || element == ".." {
			return "", "", fmt.Errorf("destination %s: the prefix must have no element %q: most clients could not name such keys", s, element)
		}
	}
	if prefix != "" && !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	return bucket, prefix, nil
}
