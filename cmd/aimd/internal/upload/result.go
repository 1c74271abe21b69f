package upload

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/bucket"
	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/local"
	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/walk"
)

// Status is what became of a file.
type Status string

const (
	// Uploaded: the store has it, verified.
	Uploaded Status = "uploaded"
	// Skipped: the store had it already, or it is no file to upload; then there is a reason.
	Skipped Status = "skipped"
	// Failed: the store may not have it, the reason is told.
	Failed Status = "failed"
	// Planned: a dry run would upload it.
	Planned Status = "planned"
)

// Result is what became of a file, and its line of --json.
type Result struct {
	Path, Key string
	Size      int64
	Status    Status
	Err       error
	Attempts  int64
	// sent is how many bytes of it went out, and need not go again.
	sent int64
	// cut: it was under way when the run was stopped.
	cut bool
}

// MarshalJSON implements json.Marshaler.
func (r Result) MarshalJSON() ([]byte, error) {
	line := struct {
		Path string `json:"path"`
		// PathBase64 is there if the path is not UTF-8, as JSON must be.
		PathBase64 string `json:"path_base64,omitempty"`
		Key        string `json:"key"`
		Size       int64  `json:"size"`
		Status     Status `json:"status"`
		Error      string `json:"error,omitempty"`
		Attempts   int64  `json:"attempts"`
	}{Path: r.Path, Key: r.Key, Size: r.Size, Status: r.Status, Attempts: r.Attempts}
	if !utf8.ValidString(r.Path) {
		line.PathBase64 = base64.StdEncoding.EncodeToString([]byte(r.Path))
	}
	if r.Err != nil {
		line.Error = r.Err.Error()
	}
	return json.Marshal(line)
}

// String is the result in a line for people.
func (r Result) String() string {
	s := fmt.Sprintf("%s: %s", r.Status, shown(r.Path))
	switch {
	case r.Err != nil:
		return s + ": " + strings.TrimPrefix(r.Err.Error(), "open "+r.Path+": ")
	case r.Status == Planned || r.Status == Uploaded:
		return fmt.Sprintf("%s -> %s (%s)", s, shown(r.Key), bytesShown(r.Size))
	}
	return s
}

// shown is a name such that it cannot upset a terminal.
func shown(name string) string {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}

// bytesShown is a number of bytes in a unit that suits it.
func bytesShown(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	x, unit := float64(n)/(1<<10), 0
	for ; x >= 999.95 && unit < 3; unit++ {
		x /= 1 << 10
	}
	return fmt.Sprintf("%.1f %s", x, []string{"KiB", "MiB", "GiB", "TiB"}[unit])
}

// there is what is known of the object under a file's key before it is uploaded.
type there struct {
	object *bucket.Object
	// known: it is known whether there is an object.
	known bool
}

// errStopped is why a file failed that was under way when the run was stopped.
var errStopped = errors.New("not done: the upload was stopped")

func (u *run) file(ctx context.Context, e walk.Entry, found there) Result {
	r := Result{Path: e.Path, Key: e.Key}
	sent := new(atomic.Int64)
	followed, attempts := bucket.Follow(ctx, func(n int64) {
		sent.Add(n)
		u.report.bytes.Add(n)
	})
	r.Status, r.Size, r.Err = u.content(followed, e, found)
	r.sent = sent.Load()
	r.Attempts = attempts.Load()
	if r.Err == nil {
		return r
	}
	r.Status = Failed
	if bucket.Hopeless(r.Err) || bucket.Denied(r.Err) && u.denied.Add(1) >= deniedMost && u.report.now().Uploaded == 0 {
		u.stop(r.Err)
	}
	if ctx.Err() != nil {
		r.Err, r.cut = because(errStopped, r.Err), true
	}
	var left bucket.Left
	if errors.As(r.Err, &left) {
		u.report.left(left.Incomplete)
	}
	return r
}

func (u *run) content(ctx context.Context, e walk.Entry, found there) (Status, int64, error) {
	// A read that fails ends the file's requests, which would go on trying.
	ctx, broken := context.WithCancelCause(ctx)
	defer broken(nil)
	f, err := local.Open(e.Path, broken)
	if err != nil {
		return Failed, 0, err
	}
	defer f.Close()
	status, err := u.needed(ctx, e.Key, f, found)
	if status == "" && err == nil {
		status, err = Uploaded, u.put(ctx, e.Key, f)
	}
	if err != nil {
		err = because(reason(ctx, f, err), err)
	}
	return status, f.Size(), err
}

// because is why, and what err tells of parts that are left.
func because(why, err error) error {
	var left bucket.Left
	if errors.As(err, &left) {
		left.Err = why
		return left
	}
	return why
}

// reason is why the file failed, seen from the file: what has changed in it
// shows as all sorts of errors of its requests.
func reason(ctx context.Context, f *local.File, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if changed := f.Unchanged(); changed != nil {
		return changed
	}
	return err
}

// needed is the status of a file that is not to be uploaded, "" of one that is.
func (u *run) needed(ctx context.Context, key string, f *local.File, found there) (Status, error) {
	if !u.Force && !(found.known && found.object == nil) {
		has, err := u.bucket.Has(ctx, key, f, found.object)
		switch {
		case err != nil:
			return "", err
		case has:
			return Skipped, f.Unchanged()
		}
	}
	if u.DryRun {
		return Planned, nil
	}
	return "", nil
}

func (u *run) put(ctx context.Context, key string, f *local.File) error {
	if f.Size() < u.Threshold {
		return u.bucket.Put(ctx, key, f)
	}
	return u.bucket.PutParts(ctx, key, f, bucket.Parts{
		Size: bucket.PartSize(f.Size(), u.PartSize), Enter: u.parts.Enter, Leave: u.parts.Leave,
	})
}
