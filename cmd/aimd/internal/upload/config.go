package upload

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/sum"
	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/walk"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
)

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
