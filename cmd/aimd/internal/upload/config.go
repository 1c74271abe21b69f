package upload

import (
	"io"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/sum"
	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/walk"
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
