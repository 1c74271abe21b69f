package upload

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"
	"golang.org/x/sync/semaphore"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/contrib/awslimit"
	"github.com/aimd-go/aimd/internal/sim"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// probeTime bounds the time to the first answer: a wrong endpoint should show soon. A refusal is an answer, and in the
// company of other programs the first request may be refused for longer.
const probeTime = 15 * time.Second

// firstWindow is the window at the start. Our choice: a store that takes all has the window of its files two round trips
// sooner than from 20, and one that takes a few refuses one burst.
const firstWindow = 64

// connect makes the limiter and the client, and asks nothing yet. Its error says in one line what is wrong.
func (u *run) connect(ctx context.Context) (err error) {
	if files := cli.Files(); files > 0 { // a request has a connection and a file, the files begun ahead have one, and 16 are for all else
		u.MaxWindow = max(1, min(u.MaxWindow, float64((files-16)/3)))
	}
	cfg, err := u.environment(ctx)
	if err != nil {
		return err
	}
	// The environment may have an endpoint, too: two stores are not of one fleet.
	u.at = cmp.Or(strings.TrimSuffix(aws.ToString(s3.NewFromConfig(cfg).Options().BaseEndpoint), "/"), "AWS")
	log := slog.New(slog.NewTextHandler(u.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	// A wrong endpoint shows at once.
	u.limiter, u.leave, err = u.Shared.New(u.at+" "+u.Bucket, aimd.Config{
		Name: "upload", Law: sim.Window{Law: u.Law, Factor: 0.9}.MakeLaw(), Classifier: u.classify,
		InitialWindow: min(firstWindow, u.MaxWindow), MaxWindow: u.MaxWindow, MaxAttempts: u.MaxAttempts, FirstContact: time.Nanosecond,
	}, log)
	if err != nil {
		return err
	}
	if u.Watch != nil {
		u.Watch(u.limiter)
	}
	awslimit.Limit(&cfg, u.limiter)
	cfg.HTTPClient = patient{cfg.HTTPClient}
	cfg.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = u.Endpoint != "" })
	u.store = &store{Client: client, Config: u.Config, large: semaphore.NewWeighted(largeAtOnce), room: newRoom()}
	if u.Backup {
		u.store.twice = twice(u.limiter, u.store.once)
	}
	u.objects = &listing{store: u.store}
	u.worked.Store(time.Now())
	return nil
}

// classify notes the error of a store that cannot be reached or cannot do its work, as with a full disk. A refusal is no
// such error, if it passes: the progress counts refusals.
func (u *run) classify(err error) verdict.Verdict {
	v := verdict.Classify(err)
	switch {
	case v.Outcome() == window.Overload:
		u.silence.Stop()
		u.refused.Store(cmp.Or(code(err), cli.Reason(err).Error()))
	case v.Retry():
		u.trouble.Store(cmp.Or(code(err), cli.Reason(err).Error()))
	}
	return v
}

// environment is the configuration for the store. It finds credentials, profile and region as the AWS tools do.
func (u *run) environment(ctx context.Context) (aws.Config, error) {
	client := awshttp.NewBuildableClient().WithTimeout(u.Timeout).WithTransportOptions(func(t *http.Transport) {
		// The default keeps 10 connections, and dials again for all others.
		t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, int(u.MaxWindow)
	})
	options := []func(*config.LoadOptions) error{config.WithHTTPClient(client), config.WithLogger(logging.Nop{})}
	if u.Endpoint != "" {
		options = append(options, config.WithBaseEndpoint(u.Endpoint), config.WithDefaultRegion("us-east-1"))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return cfg, fmt.Errorf("reading the AWS environment: %w", err)
	}
	if cfg.Region == "" {
		return cfg, errors.New("no AWS region found; set AWS_REGION or the profile's region, or give --endpoint")
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime) // who gives them may be silent, too
	defer cancel()
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return cfg, fmt.Errorf("no AWS credentials found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE: %w", cli.Reason(err))
	}
	return cfg, nil
}

// probe asks with the first request of the listing whether the bucket can be used, before thousands fail.
func (u *run) probe(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	u.silence = time.AfterFunc(probeTime, func() { cancel(fmt.Errorf("within %v there was %s", probeTime, cmp.Or(u.trouble.Load(), "no answer"))) })
	defer u.silence.Stop()
	if u.Force {
		_, err = u.store.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &u.Bucket})
	} else {
		err = u.objects.next(ctx, "")
	}
	if err == nil || u.Force && status(err) == http.StatusForbidden { // the bucket may still be written to
		return nil
	}
	return fmt.Errorf("the store at %s: %s%w", u.at, u.remedy(err), cmp.Or(context.Cause(ctx), cli.Reason(err)))
}

// remedy says for the error of a request which setting is wrong, or returns "" if the error says so.
func (u *run) remedy(err error) string {
	switch status, code := status(err), code(err); {
	case status == http.StatusNotFound:
		return "there is no bucket " + u.Bucket + "; make it first: "
	case code == "AccessDenied":
		return "the credentials do not allow to list bucket " + u.Bucket + ", to skip what is there; --force uploads without: "
	case status == http.StatusUnauthorized, status == http.StatusForbidden, strings.Contains(code, "Token"):
		return "the credentials are refused; check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or AWS_PROFILE, and the clock: "
	case status == http.StatusMovedPermanently, code == "AuthorizationHeaderMalformed":
		region := ""
		if answer := (*awshttp.ResponseError)(nil); errors.As(err, &answer) {
			region = answer.Response.Header.Get("X-Amz-Bucket-Region")
		}
		return strings.TrimSuffix("the bucket is in another region; set AWS_REGION="+region, "=") + ": "
	case status == http.StatusBadRequest && code == "BadRequest" && strings.HasPrefix(u.Endpoint, "http:"):
		return "the server there may speak TLS only; want https:// in place of http://, or another port: "
	}
	return ""
}

// status is the status of the answer in the error, 0 if there was no answer.
func status(err error) int {
	var s interface{ HTTPStatusCode() int }
	if errors.As(err, &s) {
		return s.HTTPStatusCode()
	}
	return 0
}

// code is the store's word for the error, "" if there was no answer.
func code(err error) string {
	var e interface{ ErrorCode() string }
	if errors.As(err, &e) {
		return e.ErrorCode()
	}
	return ""
}

const (
	// answerMost is the longest answer that is read, in bytes. Our choice: a page of a
	// listing, a thousand keys of 1 KiB and what belongs to each, has some 5 MiB.
	answerMost = 16 << 20
	// patience is the time that a request which changes the store has left after its context has
	// ended. Our choice: more than a working store takes for a part on its way.
	patience = 5 * time.Second
)

// patient is the HTTP client below the SDK. The store may keep what it was sent, so a request that changes
// the store gets its answer after the end of its context too: else a file would be reported as failed that
// the store has, and a part could come after its upload was aborted.
type patient struct{ aws.HTTPClient }

// Do implements the SDK's HTTP client.
func (p patient) Do(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		lasting, end := context.WithCancel(context.WithoutCancel(r.Context()))
		defer end()
		asked := r.Context()
		defer context.AfterFunc(asked, func() {
			if lost(asked) {
				end()
			} else {
				time.AfterFunc(patience, end)
			}
		})()
		r = r.WithContext(lasting)
	}
	resp, err := p.HTTPClient.Do(r)
	if err != nil {
		return resp, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, answerMost))
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	return resp, err
}
