// Package upload is aimd upload: files go to an S3 bucket through one limiter, and are
// skipped if the store has them already.
//
// A quarter more files are begun than the window has slots. So a million files cost the memory of a window, and of the
// names in the directories on the way.
package upload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/progress"
	"github.com/aimd-go/aimd/cmd/aimd/internal/shared"
	"github.com/aimd-go/aimd/verdict"
)

// Config has the flags by their names, and:
type Config struct {
	// Source is the file or directory to upload. If List is not nil, its lines are the paths of the files below it.
	Source string
	List   io.Reader
	// Bucket and Prefix are the destination. The prefix is "" or ends in a slash.
	Bucket, Prefix string
	filter
	// Stdout has the results, Stderr the progress and the reasons.
	Stdout, Stderr io.Writer
	// Watch, if it is not nil, is called with the limiter before the first request.
	Watch func(*aimd.Limiter)

	Endpoint, Law, Checksum, FilesFrom string
	StorageClass, SSE, SSEKMSKeyID     string
	Force, DryRun, Quiet, JSON, Backup bool
	MaxWindow                          float64
	Timeout                            time.Duration
	MaxAttempts                        int
	PartSize                           int64
	Shared                             shared.Windows
}

// deniedMost is the number of files that may fail alike before the run stops, while no file was stored. Our choice: one
// denial may come from a rule for the key, more come from the credentials, or from a store that cannot do what is asked.
const deniedMost = 16

type run struct {
	// seen is the number of the store's good answers when trouble was set, work what all files weigh, 0 while it is not
	// known. They come first to be aligned on 32-bit machines.
	seen atomic.Uint64
	work atomic.Int64
	Config
	limiter *aimd.Limiter
	// at is the address of the store.
	at string
	// leave hands its part of a shared window back.
	leave   func()
	store   *store
	objects *listing
	report  *reporter
	// trouble is the reason for which the store does no work, refused that for which it refuses, and worked is the time when
	// it last did not.
	trouble, refused atomic.String
	worked           atomic.Time
	// silence ends the first request if there is no answer.
	silence *time.Timer
	// denials are the numbers of files that failed, an *atomic.Int64 by the store's code.
	denials sync.Map
	// stop ends the run for a reason that every file would fail for.
	stop context.CancelCauseFunc
}

// Run uploads. It returns the counts with an error, too, which is the context's if that ends before all is done.
func Run(ctx context.Context, c Config) (Summary, error) {
	var counts sync.WaitGroup
	defer counts.Wait()
	stopped, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	u := &run{Config: c, stop: stop, leave: func() {}, report: &reporter{Config: c, stop: stop, began: time.Now()}}
	defer func() { u.leave() }()
	if err := u.connect(ctx); err != nil {
		return Summary{}, err
	}
	u.report.progress = progress.NewLine(u.Stderr, progress.Every, u.line)
	defer u.report.progress.Close()
	if err := u.probe(ctx); err != nil {
		return Summary{}, err
	}
	if c.List == nil && !c.Quiet {
		counts.Go(func() { u.count(stopped) })
	}
	u.all(stopped)
	u.report.progress.Close()

	s, l := u.report.now(), u.limiter.Snapshot()
	s.Interrupted, s.Attempts, s.Refused = ctx.Err() != nil, l.Attempts, l.Overloads
	switch {
	case u.JSON:
		u.report.line(s)
	case !u.Quiet:
		u.report.stdout(s.String())
	}
	switch {
	case ctx.Err() != nil:
		return s, ctx.Err()
	case stopped.Err() != nil:
		return s, fmt.Errorf("stopped: %w", context.Cause(stopped))
	case s.Failed > 0:
		return s, fmt.Errorf("%d of %d files failed", s.Failed, s.files())
	}
	return s, nil
}

// ahead is the number of files that are begun for each slot of the window: while some are sent, the next are read. Our
// choice. Each costs a stack of the SDK, 64 KiB: with twice as many as slots the memory was half as much again.
const ahead = 1.25

// all uploads every file, until the context ends. It begins ahead of the window's slots, and two more: each waits for slots
// with its requests. (aimd.Each would give each file a slot, and the requests of the file would share it.)
func (u *run) all(ctx context.Context) {
	ended, begun := make(chan struct{}), 0
	for e := range u.entries(ctx) {
		found := absent
		if e.err == nil && !u.Force {
			var err error
			if found, err = u.objects.find(ctx, e.key); err != nil {
				u.stop(fmt.Errorf("listing the bucket: %w", err))
			}
		}
		for ctx.Err() == nil && begun >= int(ahead*u.limiter.Snapshot().Cwnd)+2 {
			select {
			case <-ended:
				begun--
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			break
		}
		begun++
		go func() {
			u.report.add(u.file(ctx, e, found))
			ended <- struct{}{}
		}()
	}
	for stopped := ctx.Done(); begun > 0; {
		select {
		case <-ended:
			begun--
		case <-stopped:
			u.report.stderr("stopping; Ctrl-C again ends it at once") // it may wait for the store, or for its reader
			stopped = nil
		}
	}
}

// errStopped is the error of a file that was under way when the run was stopped.
const errStopped = "not done: the upload was stopped"

// hopeless are the codes of errors that every other request would get as well.
var hopeless = map[string]bool{
	"NoSuchBucket": true, "InvalidAccessKeyId": true, "SignatureDoesNotMatch": true, "ExpiredToken": true,
	"InvalidToken": true, "TokenRefreshRequired": true, "AccountProblem": true, "InvalidBucketName": true,
	"InvalidStorageClass": true, "QuotaExceeded": true, "QUOTA_EXCEEDED": true, "ObjectQuotaExceeded": true, "XMinioAdminBucketQuotaExceeded": true,
	"RequestTimeTooSkewed": true, "PermanentRedirect": true, "AuthorizationHeaderMalformed": true,
}

// file uploads a file, unless the store has it. found is the object under its key, or nil if
// it is not known whether there is one.
func (u *run) file(ctx context.Context, e entry, found *object) (r result) {
	r = result{Path: e.path, Key: e.key}
	err := e.err
	if err == nil {
		r.Status, r.Size, err = u.content(ctx, e, found)
	}
	if err == nil {
		return r
	}
	r.Status, r.Why = failed, err.Error()
	reason, code := ignored(""), code(err)
	switch {
	case errors.As(err, &reason):
		r.Status = skipped
	case ctx.Err() != nil:
		r.Why = errStopped
	case hopeless[code]:
		u.stop(fmt.Errorf("%s%w", u.remedy(err), cli.Reason(err)))
	case code != "" && status(err) != http.StatusRequestEntityTooLarge && code != "EntityTooLarge" && !verdict.Classify(err).Retry():
		if n, _ := u.denials.LoadOrStore(code, new(atomic.Int64)); n.(*atomic.Int64).Inc() >= deniedMost && u.report.now().Stored == 0 {
			u.stop(err)
		}
	}
	return r
}

func (u *run) content(ctx context.Context, e entry, found *object) (status string, size int64, err error) {
	ctx, broken := context.WithCancelCause(ctx)
	defer broken(nil)
	f, err := open(e.path, broken)
	if err != nil {
		return failed, 0, err
	}
	defer f.Close()
	has, err := u.store.has(ctx, e.key, f, found)
	switch {
	case err != nil:
	case has:
		status, err = skipped, f.unchanged()
	case u.DryRun:
		status = planned
	default:
		status, err = stored, u.store.put(ctx, e.key, f)
	}
	if err != nil {
		// A change of the file shows as all sorts of errors of its requests.
		err = cmp.Or(context.Cause(ctx), f.unchanged(), err)
	}
	return status, f.info.Size(), err
}
