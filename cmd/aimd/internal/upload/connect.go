package upload

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/strategy"
	aimdaws "github.com/aimd-go/aimd/contrib/aws"
	"github.com/aimd-go/aimd/sim"
)

// probeTime bounds the first requests: a wrong endpoint should show soon.
const probeTime = 15 * time.Second

// connect makes the limiter and the client. Its error says in one line what is wrong.
func (u *run) connect(parent context.Context) (err error) {
	ctx, cancel := context.WithTimeout(parent, probeTime)
	defer cancel()
	// A wrong endpoint shows at once.
	c := aimd.Config{Name: "upload", Rules: aimd.Rules{MaxWindow: u.MaxWindow, FirstContact: time.Nanosecond}}
	w := sim.Window{Law: u.Law}
	if strategy.TakesFactor(u.Law) {
		w.Factor = 0.9
	}
	c.Law = w.MakeLaw()
	if u.limiter, err = aimd.New(c); err != nil {
		return err
	}
	if u.Watch != nil {
		u.Watch(u.limiter)
	}
	cfg, err := u.environment(ctx)
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
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = u.Endpoint != "" })
	u.store = &store{Client: client, Config: u.Config, large: make(chan struct{}, largeAtOnce)}
	err = u.probe(ctx)
	return cmp.Or(parent.Err(), err)
}

// environment is the configuration for the store. It finds credentials, profile and region
// as the AWS tools do.
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
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return cfg, fmt.Errorf("%s: no AWS credentials found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE: %w",
			u.where(), cli.Reason(err))
	}
	return cfg, nil
}

// where is the store as users know it.
func (u *run) where() string {
	if u.Endpoint == "" {
		return "AWS"
	}
	return "--endpoint " + u.Endpoint
}

// probe asks with one request whether the bucket can be used, before thousands of requests
// fail.
func (u *run) probe(ctx context.Context) (err error) {
	if u.Force {
		_, err = u.store.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &u.Bucket})
	} else {
		_, err = u.store.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &u.Bucket, Prefix: &u.Prefix, MaxKeys: aws.Int32(1)})
	}
	if err == nil || u.Force && status(err) == http.StatusForbidden { // the bucket may still be written to
		return nil
	}
	return fmt.Errorf("%s: %s%w", u.where(), u.remedy(err), cli.Reason(err))
}

// remedy says for the error of a request which setting is wrong, or returns "".
func (u *run) remedy(err error) string {
	var certificate *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	switch status, code := status(err), code(err); {
	case status == http.StatusNotFound:
		return "there is no bucket " + u.Bucket + "; make it first: "
	case code == "AccessDenied":
		return "the credentials do not allow to list bucket " + u.Bucket + ", to skip what is there; " +
			"--force uploads without: "
	case status == http.StatusUnauthorized, status == http.StatusForbidden, strings.Contains(code, "Token"):
		return "the credentials are refused; check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, " +
			"or AWS_PROFILE, and the clock: "
	case status == http.StatusMovedPermanently, code == "AuthorizationHeaderMalformed":
		return "the bucket is in another region; set AWS_REGION: "
	case errors.As(err, &certificate):
		return "its certificate is not trusted; AWS_CA_BUNDLE names a file with further certificates: "
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &plain):
		return "the server there does not speak TLS; want http:// in place of https://, or another port: "
	case status == http.StatusBadRequest && (code == "" || code == "BadRequest") &&
		strings.HasPrefix(u.Endpoint, "http:"):
		return "the server there may speak TLS only; want https:// in place of http://, or another port: "
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer within %v: ", probeTime)
	case status == 0:
		return "no store answers there; want another host or port: "
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
	// answerTime is the time for which a request that was sent as a whole waits for its answer
	// after its context has ended. Our choice: more than a working store takes.
	answerTime = 5 * time.Second
)

// wire is the HTTP client below the SDK. It counts the bytes that the store has taken, and
// ends a request that changes the store in order. If the context ends while a request
// is sent, wire cuts it off, so that the store drops it. If a request was sent as a whole,
// the store may keep it, so wire waits for the answer.
type wire struct {
	aws.HTTPClient
	sent    atomic.Int64 // how many bytes of files the store has taken
	trouble atomic.Error // the error of the last request; nil: the store did or refused it
}

// Do implements the SDK's HTTP client.
func (w *wire) Do(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		lasting, end := context.WithCancel(context.WithoutCancel(ctx))
		defer end()
		defer context.AfterFunc(ctx, func() { time.AfterFunc(answerTime, end) })()
		r = r.WithContext(lasting)
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = &sending{ReadCloser: r.Body, ctx: ctx, left: r.ContentLength}
		}
	}
	resp, err := w.HTTPClient.Do(r)
	if err != nil {
		if ctx.Err() == nil {
			w.trouble.Store(cli.Reason(err))
		}
		return resp, err
	}
	if r.Method == http.MethodPut && resp.StatusCode < http.StatusMultipleChoices {
		w.sent.Add(r.ContentLength)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, answerMost))
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	w.trouble.Store(failing(resp.StatusCode, answer))
	return resp, err
}

// failing returns the error of a store that cannot do its work, as with a full disk, and nil for
// any other answer. A 503 is a refusal, which the progress counts.
func failing(status int, answer []byte) error {
	if status < http.StatusInternalServerError || status == http.StatusServiceUnavailable {
		return nil
	}
	var e struct{ Code string }
	_ = xml.Unmarshal(answer, &e) // an answer to HEAD is empty
	return fmt.Errorf("%d %.60s", status, cmp.Or(e.Code, http.StatusText(status)))
}

// sending is the body of a request on its way.
type sending struct {
	io.ReadCloser
	ctx  context.Context
	left int64 // how many bytes of the body were not read yet
}

// Read fails once the context has ended, but not behind the end of the body: the HTTP client
// reads there too, maybe after the store has answered.
func (s *sending) Read(p []byte) (int, error) {
	if err := context.Cause(s.ctx); err != nil && s.left > 0 {
		return 0, err
	}
	n, err := s.ReadCloser.Read(p)
	s.left -= int64(n)
	return n, err
}
