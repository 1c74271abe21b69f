// Package upload is aimd upload: files go to an S3 bucket through one limiter, and are
// skipped if the store has them already.
//
//	walker    finds the files, in the order of their keys
//	listing   the objects of the bucket, in the same order
//	store     compares, puts, verifies; the SDK's transfer manager makes the parts
//	wire      the HTTP client below the SDK
//	file      a file as it was when it was opened, or an error
//
// Twice as many files are begun as the window has slots. So a million files cost the
// memory of a window, and of the names in the directories on the way.
package upload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
)

// deniedMost is the number of files that may be denied before a file was stored. Our choice: one
// denial may come from a rule for the key, more come from the credentials.
const deniedMost = 16

type run struct {
	Config
	limiter *aimd.Limiter
	store   *store
	wire    *wire
	report  *reporter
	denied  atomic.Int64 // how many files the credentials do not allow to upload
	// stop ends the run for a reason that every file would fail for.
	stop context.CancelCauseFunc
}

// Run uploads, and returns the counts also if there is an error. If the context ends
// before all is done, Run returns the context's error.
func Run(ctx context.Context, c Config) (Summary, error) {
	stopped, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	u := &run{Config: c, stop: stop, report: newReporter(c, stop)}
	if err := u.connect(ctx); err != nil {
		return Summary{}, err
	}
	hide := u.progress()
	said := make(chan struct{})
	unstopped := context.AfterFunc(stopped, func() {
		defer close(said)
		u.report.stderr(stopping)
	})
	u.all(stopped)
	if hide(); !unstopped() {
		<-said
	}

	s := u.report.now()
	s.Interrupted, s.Incomplete = ctx.Err() != nil, u.store.remains(ctx, u.Prefix)
	l := u.limiter.Snapshot()
	s.Attempts, s.Refused = l.Attempts(), l.Overloads
	u.report.close(s)
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

// all uploads every file, until the context ends. It begins twice as many as the window
// has slots, and two: each waits for slots with its requests. (aimd.Each would give each
// file a slot, and the requests of the file would share it.)
func (u *run) all(ctx context.Context) {
	objects := &listing{store: u.store}
	ended, begun := make(chan struct{}), 0
	w := walker{u.Prefix, func(e entry) bool {
		for ; begun >= 2*int(u.limiter.State().Cwnd)+2; begun-- {
			<-ended
		}
		e.key = u.Prefix + e.key
		var found *object
		switch {
		case u.Force:
			found = absent
		case e.err == nil && ctx.Err() == nil:
			var err error
			if found, err = objects.find(ctx, e.key); err != nil {
				u.stop(fmt.Errorf("listing the bucket: %w", err))
			}
		}
		if ctx.Err() != nil {
			return false
		}
		begun++
		go func() {
			u.report.add(u.file(ctx, e, found))
			ended <- struct{}{}
		}()
		return true
	}}
	w.argument(u.Source)
	for ; begun > 0; begun-- {
		<-ended
	}
}

// stopping is written when a run is stopped: it may wait for the store, or for its reader.
const stopping = "stopping; Ctrl-C again ends it at once"

// errStopped is the error of a file that was under way when the run was stopped.
const errStopped = "not done: the upload was stopped"

// hopeless are the codes of errors that every other request would get as well.
var hopeless = map[string]bool{
	"NoSuchBucket": true, "InvalidAccessKeyId": true, "SignatureDoesNotMatch": true, "ExpiredToken": true,
	"InvalidToken": true, "TokenRefreshRequired": true, "AccountProblem": true, "InvalidBucketName": true,
	"RequestTimeTooSkewed": true, "PermanentRedirect": true, "AuthorizationHeaderMalformed": true,
}

// file uploads a file, unless the store has it. found is the object under its key, or nil if
// it is not known whether there is one.
func (u *run) file(ctx context.Context, e entry, found *object) (r result) {
	r = result{Path: e.path, Key: e.key}
	if !utf8.ValidString(e.path) {
		r.PathBase64 = []byte(e.path)
	}
	err := e.err
	if err == nil {
		r.Status, r.Size, err = u.content(ctx, e, found)
	}
	if err == nil {
		return r
	}
	r.Status, r.Error = failed, err.Error()
	reason, code := ignored(""), code(err)
	switch {
	case errors.As(err, &reason):
		r.Status = skipped
	case ctx.Err() != nil:
		r.Error = errStopped
	case hopeless[code]:
		u.stop(fmt.Errorf("%s%w", u.remedy(err), cli.Reason(err)))
	case code == "AccessDenied" && u.denied.Inc() >= deniedMost && u.report.now().Stored == 0:
		u.stop(err)
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
