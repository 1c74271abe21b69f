package awslimit_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/contrib/awslimit"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/internal/s3test"
	"github.com/aimd-go/aimd/verdict"
)

func TestLimitLeavesCopiesOfTheConfigAlone(t *testing.T) {
	nop := func(*middleware.Stack) error { return nil }
	shared := aws.Config{APIOptions: append(make([]func(*middleware.Stack) error, 0, 8), nop), RetryMaxAttempts: 3}
	one, other := shared, shared
	other.APIOptions = append(other.APIOptions, nil)
	awslimit.Limit(&one, attempttest.Reno(t, aimd.Config{}))
	require.Len(t, one.APIOptions, 2)
	require.Len(t, shared.APIOptions, 1)
	require.Nil(t, shared.Retryer)
	require.Nil(t, other.APIOptions[1], "the array behind it is not shared")
	require.Zero(t, one.RetryMaxAttempts)
	require.Zero(t, one.Retryer().MaxAttempts(), "no limit")
	require.PanicsWithValue(t, "awslimit: the limiter is nil", func() { awslimit.Limit(&one, nil) })
	require.PanicsWithValue(t, "awslimit: the config is nil", func() { awslimit.Limit(nil, attempttest.Reno(t, aimd.Config{})) })
}

func TestTwoLimiters(t *testing.T) {
	s := newStore(t, once(s3test.Refuse))
	service, account := attempttest.Reno(t, aimd.Config{}), attempttest.Reno(t, aimd.Config{})
	c := s.client(service, func(cfg *aws.Config) { awslimit.Limit(cfg, account) })
	require.NoError(t, put(t.Context(), c, "k", "x"))
	for _, l := range []*aimd.Limiter{service, account} {
		requireOutcomes(t, l, outcomes{successes: 1, overloads: 1})
	}
	out, err := get(t.Context(), c, "k")
	require.NoError(t, err)
	require.Equal(t, []int{1, 1}, []int{service.Snapshot().InFlight, account.Snapshot().InFlight})
	require.NoError(t, out.Body.Close())
	attempttest.Idle(t, service)
	attempttest.Idle(t, account)

	service.Close()
	require.ErrorIs(t, put(t.Context(), c, "k", "x"), aimd.ErrClosed)
	requireOutcomes(t, account, outcomes{successes: 2, overloads: 1, neutrals: 1})
}

// Limit, Limit on a copy of the config, and Limit twice are one limiter.
func TestWaysToLimit(t *testing.T) {
	for name, way := range map[string]func(*store, *aimd.Limiter) *s3.Client{
		"Limit": func(s *store, l *aimd.Limiter) *s3.Client { return s.client(l) },
		"twice": func(s *store, l *aimd.Limiter) *s3.Client {
			return s.client(l, func(cfg *aws.Config) { awslimit.Limit(cfg, l) })
		},
		"a copy": func(s *store, l *aimd.Limiter) *s3.Client {
			all := s.config()
			one := all.Copy()
			awslimit.Limit(&one, l)
			require.Empty(t, all.APIOptions)
			return s3.NewFromConfig(one, func(o *s3.Options) { o.UsePathStyle = true })
		},
	} {
		l := oneSlot(t, aimd.Config{})
		require.NoError(t, put(t.Context(), way(newStore(t, once(s3test.Refuse)), l), "k", "x"), name)
		requireOutcomes(t, l, outcomes{successes: 1, overloads: 1})
	}
}

// Do has a slot already, and makes the next attempt itself.
func TestWithinDoOfTheSameLimiter(t *testing.T) {
	l := oneSlot(t, aimd.Config{})
	c := newStore(t, once(s3test.Refuse)).client(l)
	require.NoError(t, l.Do(t.Context(), func(ctx context.Context) error { return put(ctx, c, "k", "x") }))
	requireOutcomes(t, l, outcomes{successes: 1, overloads: 1})
}

func TestPresigningTakesNoSlot(t *testing.T) {
	s := newStore(t)
	l := attempttest.Reno(t, aimd.Config{})
	l.Close()
	_, err := s3.NewPresignClient(s.client(l)).PresignGetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String(bucket), Key: aws.String("k")})
	require.NoError(t, err)
}

// Credentials that come through the same limiter (AssumeRole, S3 Express) must not wait for the slot that
// their own operation holds.
func TestCredentialsFromWithinAnAttempt(t *testing.T) {
	s := newStore(t)
	l := oneSlot(t, aimd.Config{})
	inner := s.client(l)
	outer := s.client(l, func(cfg *aws.Config) {
		cfg.Credentials = aws.NewCredentialsCache(aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
			if _, err := inner.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: aws.String(bucket)}); err != nil {
				return aws.Credentials{}, err
			}
			return fixedCredentials(ctx)
		}))
	})
	require.NoError(t, put(t.Context(), outer, "k", "x"))
	requests, _ := s.Counts()
	require.Equal(t, 2, requests)
	requireOutcomes(t, l, outcomes{successes: 1})
}

// A failure before the request is sent says nothing about the service, and the operation is not tried for
// ever: here, credentials that another service refuses. Only failures in a row count.
func TestMissingCredentials(t *testing.T) {
	for name, c := range map[string]struct {
		every int // how often the credentials come
		asked int
		want  outcomes
	}{
		"missing":     {every: 1000, asked: 3, want: outcomes{neutrals: 3}},
		"come and go": {every: 3, asked: 6, want: outcomes{successes: 1, overloads: 1, neutrals: 4}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, l, asked := newStore(t, once(s3test.Refuse)), attempttest.Reno(t, aimd.Config{}), 0
				err := put(t.Context(), s.client(l, func(cfg *aws.Config) {
					cfg.Credentials = aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
						if asked++; asked%c.every != 0 {
							return aws.Credentials{}, &smithy.GenericAPIError{Code: "RequestTimeout"}
						}
						return fixedCredentials(ctx)
					})
				}), "k", "x")
				if c.want.successes == 0 {
					requireCode(t, err, "RequestTimeout")
				} else {
					require.NoError(t, err)
				}
				require.Equal(t, c.asked, asked)
				requests, _ := s.Counts()
				require.EqualValues(t, c.want.successes+c.want.overloads, requests)
				requireOutcomes(t, l, c.want)
			})
		})
	}
}

func responseError(status int, code string) error {
	return &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status, Header: http.Header{}}},
		Err:      &smithy.GenericAPIError{Code: code},
	}}
}

// doer is the HTTP client of a config.
type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(req *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, req.Body)
	return d(req)
}

func answered(req *http.Request, status int, body string) (*http.Response, error) {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
}

// Errors without an answer that are tried again, with this package's retryer and with the SDK's own.
func TestWhatIsTriedAgain(t *testing.T) {
	mine, other := errors.New("mine"), errors.New("other")
	classify := verdict.FirstOf(func(err error) verdict.Verdict {
		if errors.Is(err, mine) {
			return verdict.Verdict{Meaning: answer.Passing}
		}
		return verdict.Verdict{}
	}, verdict.Classify)
	for err, again := range map[error]bool{
		errors.New("broken pipe"):             true,
		mine:                                  true,
		&aws.RequestCanceledError{Err: other}: false,
		&tls.CertificateVerificationError{Err: other}: false,
		tls.RecordHeaderError{}:                       false,
		http.ErrSchemeMismatch:                        false,
	} {
		synctest.Test(t, func(t *testing.T) {
			l := attempttest.Reno(t, aimd.Config{Classifier: classify})
			sent := 0
			client := newStore(t).client(l, func(cfg *aws.Config) {
				cfg.HTTPClient = doer(func(req *http.Request) (*http.Response, error) {
					if sent++; sent == 1 {
						return nil, err
					}
					return answered(req, 200, "")
				})
			})
			start := time.Now()
			got := put(t.Context(), client, "k", "x")
			require.Equal(t, again, got == nil, "%v: %v", err, got)
			require.Equal(t, again, time.Since(start) > 0, "the limiter's backoff")
			attempttest.Idle(t, l)
		})
	}
}

// The SDK's quota is 500 tokens, of which each retry costs 5.
func TestRetryerHasNoQuota(t *testing.T) {
	cfg := aws.Config{}
	awslimit.Limit(&cfg, attempttest.Reno(t, aimd.Config{}))
	r := cfg.Retryer().(aws.RetryerV2)
	for range 1000 {
		_, err := r.GetRetryToken(t.Context(), responseError(503, "SlowDown"))
		require.NoError(t, err)
	}
}

// A body that cannot be rewound gets one attempt. The error has the reason of that attempt too.
func TestBodyThatCannotBeRewound(t *testing.T) {
	l := attempttest.Reno(t, aimd.Config{})
	c := newStore(t).client(l, func(cfg *aws.Config) {
		cfg.BaseEndpoint = aws.String("https://service.example") // over http the SDK signs the body, which it has to read before
		cfg.HTTPClient = doer(func(req *http.Request) (*http.Response, error) { return answered(req, 503, slowDown) })
	})
	_, err := c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(bucket), Key: aws.String("k"), Body: io.MultiReader(strings.NewReader("x"))})
	require.ErrorContains(t, err, "failed to rewind")
	requireCode(t, err, "SlowDown")
	requireOutcomes(t, l, outcomes{overloads: 1})
}

func TestClass(t *testing.T) {
	for operation, want := range map[string]string{
		"GetObject": "read", "HeadObject": "read", "DescribeTable": "read", "Query": "read", "Scan": "read", "SelectObjectContent": "read",
		"BatchGetItem": "read", "TransactGetItems": "read", "ListObjectsV2": "list", "ListBuckets": "list",
		"DeleteObject": "delete", "DeleteObjects": "delete", "PutObject": "write", "CreateMultipartUpload": "write",
		"BatchWriteItem": "write", "CopyObject": "write", "AbortMultipartUpload": "write", "": "write",
	} {
		require.Equal(t, want, awslimit.Class("S3", operation), operation)
	}
}

// "An operation whose class has no limiter fails, and is not sent."
func TestAClassWithoutALimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		classes, err := aimd.NewKeyed(func(string) (*aimd.Limiter, error) { return nil, errors.New("only reads") }, aimd.KeyedConfig{})
		require.NoError(t, err)
		cfg := s.config()
		awslimit.LimitBy(&cfg, classes, awslimit.Class)
		err = put(t.Context(), pathStyle(cfg), "k", "x")
		require.ErrorContains(t, err, "no limiter for PutObject of S3: only reads")
		requests, _ := s.Counts()
		require.Zero(t, requests)
	})
	require.Panics(t, func() { awslimit.LimitBy(&aws.Config{}, nil, awslimit.Class) })
}

// An operation ends its attempts in each way in which they may end.
func TestTheLifeOfAnOperation(t *testing.T) {
	attempttest.Run(t, func(ctx context.Context, l *aimd.Limiter, send attempttest.Trip) error {
		cfg := aws.Config{
			Region: "us-east-1", BaseEndpoint: aws.String("http://store.example"), Credentials: aws.CredentialsProviderFunc(fixedCredentials),
			HTTPClient: &http.Client{Transport: send},
		}
		awslimit.Limit(&cfg, l)
		return put(ctx, pathStyle(cfg), "k", "x")
	})
}

// Each part is an attempt with a slot of its own, and the 200 of CompleteMultipartUpload may still say
// SlowDown inside.
func TestTransferManager(t *testing.T) {
	for _, retries2026 := range []string{"", "true"} {
		t.Run("AWS_NEW_RETRIES_2026="+retries2026, func(t *testing.T) {
			t.Setenv("AWS_NEW_RETRIES_2026", retries2026)
			synctest.Test(t, func(t *testing.T) {
				var completed int // only one CompleteMultipartUpload at a time
				s := newStore(t, slots(2, 10*time.Millisecond), scripted(func(w http.ResponseWriter, r *http.Request) bool {
					if r.Method != http.MethodPost || !r.URL.Query().Has("uploadId") {
						return false
					}
					if completed++; completed == 1 {
						s3test.Answer(w, r, http.StatusOK, slowDown)
					}
					return completed == 1
				}))
				l := attempttest.Reno(t, aimd.Config{InitialWindow: 6})
				tm := transfermanager.New(s.client(l), func(o *transfermanager.Options) {
					o.PartSizeBytes, o.Concurrency = 5<<20, 8
				})
				content := make([]byte, 21<<20)
				_, _ = rand.NewChaCha8([32]byte{}).Read(content)

				_, err := tm.UploadObject(t.Context(), &transfermanager.UploadObjectInput{
					Bucket: aws.String(bucket), Key: aws.String("big"), Body: bytes.NewReader(content)})
				require.NoError(t, err)
				require.Equal(t, 2, completed)
				requests, refused := s.Counts()
				require.EqualValues(t, requests, l.Snapshot().Attempts)
				// Create, 5 parts, Complete; and the SlowDown in the 200.
				requireOutcomes(t, l, outcomes{successes: 7, overloads: uint64(refused) + 1})

				into := types.NewWriteAtBuffer(make([]byte, 0, len(content)))
				_, err = tm.DownloadObject(t.Context(), &transfermanager.DownloadObjectInput{
					Bucket: aws.String(bucket), Key: aws.String("big"), WriterAt: into})
				require.NoError(t, err)
				require.True(t, bytes.Equal(content, into.Bytes()), "what came down is what went up")
				requests, _ = s.Counts()
				require.EqualValues(t, requests, l.Snapshot().Attempts)
				attempttest.Idle(t, l)
			})
		})
	}
}

func requireCode(t *testing.T, err error, code string) {
	t.Helper()
	var api smithy.APIError
	require.True(t, errors.As(err, &api), "an API error in: %v", err)
	assert.Equal(t, code, api.ErrorCode())
}
