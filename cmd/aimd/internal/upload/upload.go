// Package upload is aimd upload: files go to an S3 bucket through one limiter,
// are verified by what the store answers, and skipped if they are there already.
//
//	walk      finds the files, in the order of their keys
//	bucket    finds what is there, in the same order; puts, verifies, asks
//	local     reads a file as it was when it was opened, or fails
//	sum       the checksums
//
// The files pass a gate that is twice as wide as the limiter's window, so that a
// million files cost the memory of a window.
package upload

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/cmd/aimd/internal/progress"
	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/bucket"
	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/walk"
)

const (
	// troubleTime is how long no answer has come when the user is told why.
	troubleTime = 3 * time.Second
	// deniedMost is how many files may be denied before any was uploaded. Our
	// choice: one may be a rule for its key, so many are the credentials'.
	deniedMost = 16
	// countTime is how long what was not begun is counted if no list needs it.
	countTime = 2 * time.Second
	// lineEvery is how often the progress is written where there is no terminal.
	lineEvery = 5 * time.Second
	// incompleteTime bounds the question for parts that are left: a user may wait for it.
	incompleteTime = 5 * time.Second
)

type run struct {
	Config
	limiter *aimd.Limiter
	bucket  *bucket.Bucket
	report  *reporter
	// files and parts are the gates of each.
	files, parts *gate
	// denied counts the files that the credentials do not allow to upload.
	denied atomic.Int64
	// stop ends the run for a reason that every file would fail for.
	stop context.CancelCauseFunc
}

// Run uploads. The summary tells what was done also when there is an error. The
// context's error is returned if it ends before all is done; what is done by then
// is reported, and nothing else as done.
func Run(ctx context.Context, c Config) (Summary, error) {
	u := &run{Config: c}
	entries, closeList, err := u.entries()
	if err != nil {
		return Summary{}, err
	}
	defer closeList()
	if err := u.connect(ctx); err != nil {
		return Summary{}, err
	}
	stopped, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	u.stop = stop
	if u.report, err = newReporter(c, stop); err != nil {
		return Summary{}, err
	}
	defer u.patience(stopped)()
	u.bucket.OnNoChecksums = func() {
		u.report.note("note: the store does not answer with checksums; its ETags are compared with MD5s instead")
	}
	hide := u.progress(stopped)
	walking, cancel := u.walking(stopped)
	defer cancel()
	u.all(stopped, walking, entries(walking))
	hide()
	return u.end(ctx, stopped)
}

// walking is the context of the walk. It goes on after a stop, without uploading: a
// list must have all that was not begun, and the summary tells how many these are.
func (u *run) walking(stopped context.Context) (context.Context, context.CancelFunc) {
	if u.Failed != "" {
		return context.WithCancel(context.WithoutCancel(stopped))
	}
	return bucket.Outlast(stopped, countTime)
}

func (u *run) walker() walk.Walker { return walk.Walker{Links: u.Links, Prefix: u.Prefix} }

// progress shows how it gets on until it is told to stop.
func (u *run) progress(ctx context.Context) (hide func()) {
	if u.Quiet {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var c count
	if u.From == "" {
		c.begin(ctx, u.walker(), u.Roots)
	}
	var g gauge
	line := progress.NewLine(u.Stderr, lineEvery, func() string {
		m := u.moment(&c)
		g.seen(m)
		return g.bar(m) + g.line(m)
	})
	u.report.keepClear(line.Around)
	return func() {
		cancel()
		c.wg.Wait()
		line.Close()
	}
}

func (u *run) moment(c *count) moment {
	s, l := u.report.now(), u.limiter.Snapshot()
	return moment{
		at:    time.Duration(s.Seconds * float64(time.Second)),
		files: s.Uploaded + s.Skipped + s.Failed + s.Planned, bytes: u.report.bytes.Load(),
		allFiles: c.files.Load(), allBytes: c.bytes.Load(), counted: c.over.Load(),
		failed: s.Failed, refused: int64(l.Overloads), cwnd: l.Cwnd, trouble: u.bucket.Wire.Trouble(troubleTime),
	}
}

func (u *run) entries() (func(context.Context) iter.Seq[walk.Entry], func(), error) {
	w := u.walker()
	if u.From == "" {
		return func(ctx context.Context) iter.Seq[walk.Entry] { return w.Files(ctx, u.Roots) }, func() {}, nil
	}
	f, err := os.Open(u.From)
	if err != nil {
		return nil, nil, fmt.Errorf("--from: %w", err)
	}
	defer f.Close()
	list, err := walk.ReadList(f, u.Roots)
	if err != nil {
		return nil, nil, fmt.Errorf("--from %s: %w", u.From, err)
	}
	return func(ctx context.Context) iter.Seq[walk.Entry] { return w.Listed(ctx, list) }, list.Close, nil
}

func (u *run) connect(ctx context.Context) (err error) {
	if u.limiter, err = u.newLimiter(); err != nil {
		return err
	}
	if u.Watch != nil {
		u.Watch(u.limiter)
	}
	cwnd := func() float64 { return u.limiter.State().Cwnd }
	u.files, u.parts = newGate(cwnd), newGate(cwnd)
	if u.bucket, err = u.open(ctx, u.limiter); err != nil {
		return err
	}
	return u.bucket.Probe(ctx, u.Endpoint, u.Prefix, !u.Force)
}

// all works on every file, as many at a time as the gate lets in. Once the context
// has ended it notes the others as not begun, until walking ends, too.
func (u *run) all(ctx, walking context.Context, entries iter.Seq[walk.Entry]) {
	var wg sync.WaitGroup
	defer wg.Wait()
	finder := u.bucket.Finder(u.Prefix)
	for e := range entries {
		if broken := (walk.Broken{}); errors.As(e.Err, &broken) {
			u.stop(broken)
			u.report.uncounted(true)
			return
		}
		if e.Key != "" { // "": it lies below no argument
			e.Key = u.Prefix + e.Key
		}
		if u.report.writes(e.Path) {
			e.Err = walk.Ignored("the list that --failed writes")
		}
		if e.Err != nil {
			u.report.tell(unfit(e))
			continue
		}
		if u.files.Enter(ctx) != nil {
			u.report.notBegun(e.Path)
			continue
		}
		found, err := u.find(ctx, finder, e.Key)
		if err != nil {
			u.files.Leave()
			u.stop(fmt.Errorf("listing the bucket: %w", err))
			u.report.notBegun(e.Path)
			continue
		}
		wg.Go(func() {
			defer u.files.Leave()
			u.report.tell(u.file(ctx, e, found))
		})
	}
	u.report.uncounted(walking.Err() != nil)
}

func (u *run) find(ctx context.Context, finder *bucket.Finder, key string) (found there, err error) {
	if !u.Force {
		found.object, found.known, err = finder.Find(ctx, key)
	}
	return found, err
}

func unfit(e walk.Entry) Result {
	var ignored walk.Ignored
	if errors.As(e.Err, &ignored) {
		return Result{Path: e.Path, Key: e.Key, Status: Skipped, Err: ignored}
	}
	return Result{Path: e.Path, Key: e.Key, Status: Failed, Err: e.Err}
}

// incomplete asks for parts that are left, of this run or of one that was killed.
func (u *run) incomplete(ctx context.Context) {
	if !u.bucket.InParts() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), incompleteTime)
	defer cancel()
	all, err := u.bucket.Incomplete(ctx, u.Prefix)
	if err != nil {
		u.report.note(fmt.Sprintf("note: the store does not tell of incomplete uploads: %v", err))
	}
	for _, x := range all {
		u.report.left(x)
	}
}

func (u *run) end(ctx, stopped context.Context) (Summary, error) {
	u.incomplete(ctx)
	snapshot := u.limiter.Snapshot()
	s := u.report.now()
	s.Attempts, s.Refused = snapshot.Attempts(), snapshot.Overloads
	s.Interrupted = ctx.Err() != nil
	unlisted, err := u.report.close(s)
	if unlisted != nil && stopped.Err() != nil {
		u.report.say(unlisted.Error()) // what stopped it comes last
	}
	switch {
	case ctx.Err() != nil:
		return s, ctx.Err()
	case stopped.Err() != nil:
		return s, fmt.Errorf("stopped: %w", context.Cause(stopped))
	case unlisted != nil || err != nil:
		return s, errors.Join(unlisted, err)
	case s.Failed > 0:
		return s, fmt.Errorf("%d of %d files failed", s.Failed, s.Uploaded+s.Skipped+s.Failed+s.Planned)
	}
	return s, nil
}
