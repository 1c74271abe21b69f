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
	"io"
	"net/http"
	"os"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/cmd/aimd/internal/reach"
	"github.com/aimd-go/aimd/cmd/aimd/internal/strategy"
	aimdaws "github.com/aimd-go/aimd/contrib/aws"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/sim"
)

const (
	// deniedMost is how many files may be denied before a file was stored. Our choice: one
	// denial may come from a rule for the key, more come from the credentials.
	deniedMost = 16
	// patienceTime is how long a stopped run may take before it says that it waits.
	patienceTime = time.Second
	// probeTime bounds the first requests: a wrong endpoint should show soon.
	probeTime = 15 * time.Second
)

type run struct {
	Config
	limiter *aimd.Limiter
	store   *store
	wire    *wire
	report  *reporter
	// denied counts the files that the credentials do not allow to upload.
	denied atomic.Int64
	// stop ends the run for a reason that every file would fail for.
	stop context.CancelCauseFunc
}

// Run uploads, and returns the counts also if there is an error. If the context ends
// before all is done, Run returns the context's error.
func Run(ctx context.Context, c Config) (Summary, error) {
	stopped, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	u := &run{Config: c, stop: stop, report: newReporter(c, stop)}
	var list io.Reader
	if c.From != "" {
		f, err := os.Open(c.From)
		if err != nil {
			return Summary{}, fmt.Errorf("--from: %w", err)
		}
		defer f.Close()
		list = f
	}
	if err := u.connect(ctx); err != nil {
		return Summary{}, err
	}
	ended := make(chan struct{})
	defer close(ended)
	context.AfterFunc(stopped, func() { u.patience(ended) })
	hide := u.progress(stopped)
	u.all(stopped, list)
	hide()

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
		return s, fmt.Errorf("%d of %d files failed", s.Failed, s.Stored+s.Skipped+s.Failed+s.Planned)
	}
	return s, nil
}

// patience says that a stopped run waits, if it does not end soon.
func (u *run) patience(ended chan struct{}) {
	select {
	case <-ended:
	case <-time.After(patienceTime):
		fmt.Fprintln(u.Stderr, "stopped; waiting for the store, or for the reader of standard output; Ctrl-C again ends it at once")
	}
}

// connect makes the limiter and the client.
func (u *run) connect(ctx context.Context) (err error) {
	w := sim.Window{Law: u.Law, Initial: min(u.InitialWindow, u.MaxWindow), Max: u.MaxWindow}
	if strategy.TakesFactor(u.Law) {
		w.Factor = u.Factor
	}
	c := strategy.Config(w)
	c.Name, c.FirstContact = "upload", time.Nanosecond // a wrong endpoint shows at once
	if u.limiter, err = limiter.New(w.MakeLaw(), c); err != nil {
		return err
	}
	if u.Watch != nil {
		u.Watch(u.limiter)
	}
	cfg, err := reach.S3(ctx, u.Endpoint, probeTime, config.WithHTTPClient(
		awshttp.NewBuildableClient().WithTimeout(u.Timeout).WithTransportOptions(func(t *http.Transport) {
			// The default keeps 10 connections, and dials again for all others.
			t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, int(u.MaxWindow)
		})))
	if err != nil {
		return err
	}
	checksum := checksummed
	if u.Checksum == md5Only {
		checksum = smithyhttp.AddContentChecksumMiddleware
	}
	cfg.APIOptions = append(cfg.APIOptions, checksum)
	aimdaws.Limit(&cfg, u.limiter)
	u.wire = &wire{HTTPClient: cfg.HTTPClient}
	cfg.HTTPClient, cfg.RetryMaxAttempts, cfg.RetryMode = u.wire, u.MaxAttempts, ""
	cfg.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = u.Endpoint != "" && !u.VirtualHost })
	u.store = &store{Client: client, Config: u.Config, large: make(chan struct{}, largeAtOnce)}
	return u.probe(ctx)
}

// probe finds out with one request whether the bucket can be used, before thousands find
// out that it cannot. Its error says in one line what is wrong.
func (u *run) probe(parent context.Context) (err error) {
	ctx, cancel := context.WithTimeout(parent, probeTime)
	defer cancel()
	if u.Force {
		_, err = u.store.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &u.Bucket})
	} else {
		_, err = u.store.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &u.Bucket, Prefix: &u.Prefix, MaxKeys: aws.Int32(1)})
	}
	status := reach.Status(err)
	switch where := reach.Where(u.Endpoint); {
	case err == nil, u.Force && status == http.StatusForbidden: // the bucket may still be written to
		return nil
	case parent.Err() != nil:
		return parent.Err()
	case status == http.StatusNotFound:
		return fmt.Errorf("%s: there is no bucket %s; make it first", where, u.Bucket)
	case reach.Code(err) == "AccessDenied":
		return fmt.Errorf("%s: the credentials do not allow to list bucket %s, as is needed to skip what is there; "+
			"--force uploads without: %w", where, u.Bucket, reach.Innermost(err))
	default:
		return reach.Explain(where, probeTime, err)
	}
}

// all uploads every file, until the context ends. It begins twice as many as the window
// has slots, and two: each waits for slots with its requests. (aimd.Each would give each
// file a slot, and the requests of the file would share it.)
func (u *run) all(ctx context.Context, list io.Reader) {
	objects := &listing{store: u.store}
	ended, begun := make(chan struct{}), 0
	w := walker{u.Prefix, func(e entry) bool {
		for ; begun >= 2*int(u.limiter.State().Cwnd)+2; begun-- {
			<-ended
		}
		e.key = u.Prefix + e.key
		found, known := (*object)(nil), u.Force
		if e.err == nil && !u.Force && list == nil && ctx.Err() == nil {
			var err error
			if found, known, err = objects.find(ctx, e.key); err != nil {
				u.stop(fmt.Errorf("listing the bucket: %w", err))
			}
		}
		if ctx.Err() != nil {
			return false
		}
		begun++
		go func() {
			u.report.add(u.file(ctx, e, found, known))
			ended <- struct{}{}
		}()
		return true
	}}
	if list == nil {
		w.argument(u.Source)
	} else if err := w.listed(list, u.Source); err != nil {
		u.stop(fmt.Errorf("--from %s: %w", u.From, err))
	}
	for ; begun > 0; begun-- {
		<-ended
	}
}

// errStopped is the error of a file that was under way when the run was stopped.
const errStopped = "not done: the upload was stopped"

// hopeless are the codes of errors that every other request would get as well.
var hopeless = map[string]bool{
	"NoSuchBucket": true, "InvalidAccessKeyId": true, "SignatureDoesNotMatch": true, "ExpiredToken": true,
	"InvalidToken": true, "TokenRefreshRequired": true, "AccountProblem": true, "InvalidBucketName": true,
	"RequestTimeTooSkewed": true, "PermanentRedirect": true, "AuthorizationHeaderMalformed": true,
}

// file uploads a file, unless the store has it. found is the object under its key, if it
// is known whether there is one.
func (u *run) file(ctx context.Context, e entry, found *object, known bool) (r result) {
	r = result{Path: e.path, Key: e.key}
	if !utf8.ValidString(e.path) {
		r.PathBase64 = []byte(e.path)
	}
	err := e.err
	if err == nil {
		r.Status, r.Size, err = u.content(ctx, e, found, known)
	}
	if err == nil {
		return r
	}
	r.Status, r.Error = failed, err.Error()
	reason, code := ignored(""), reach.Code(err)
	switch {
	case errors.As(err, &reason):
		r.Status = skipped
	case ctx.Err() != nil:
		r.Error = errStopped
	case hopeless[code], code == "AccessDenied" && u.denied.Inc() >= deniedMost && u.report.now().Stored == 0:
		u.stop(err)
	}
	return r
}

func (u *run) content(ctx context.Context, e entry, found *object, known bool) (status string, size int64, err error) {
	ctx, broken := context.WithCancelCause(ctx)
	defer broken(nil)
	f, err := open(e.path, broken)
	if err != nil {
		return failed, 0, err
	}
	defer f.Close()
	has := false
	if !known || found != nil {
		has, err = u.store.has(ctx, e.key, f, found)
	}
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
