package awslimit_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/internal/s3test"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// The clock of a signature counts from the signing, so that comes after the wait for the slot.
func TestSigningComesAfterTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var signed atomic.Int64
		var order []string
		l := oneSlot(t, aimd.Config{})
		c := newStore(t).client(l, func(cfg *aws.Config) {
			cfg.APIOptions = append(cfg.APIOptions, func(stack *middleware.Stack) error {
				order = stack.Finalize.List()
				return nil
			}, after("Signing", func() { signed.Inc() }))
		})
		p := attempttest.Acquire(t, l)
		done := make(chan error)
		go func() { done <- put(t.Context(), c, "k", "x") }()
		settled(t, l, queued(1))
		require.Zero(t, signed.Load(), "nothing is signed while it waits")
		p.End(nil)
		require.NoError(t, <-done)
		require.EqualValues(t, 1, signed.Load())
		at := slices.IndexFunc(order, func(id string) bool { return strings.HasPrefix(id, "aimd") })
		require.Equal(t, slices.Index(order, "Retry")+1, at, "right after Retry in %v", order)
	})
}

// after is an API option that calls f at that place of the Finalize step.
func after(id string, f func()) func(*middleware.Stack) error {
	return func(stack *middleware.Stack) error {
		return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("test", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
			middleware.FinalizeOutput, middleware.Metadata, error,
		) {
			f()
			return next.HandleFinalize(ctx, in)
		}), id, middleware.After)
	}
}

// The ends of an operation, and what the limiter learns. The slot is given back once in each.
func TestHowAnOperationEnds(t *testing.T) {
	object := &s3.GetObjectInput{Bucket: aws.String(bucket), Key: aws.String("k")}
	big := strings.Repeat("x", 1<<20)
	always := func(answer http.HandlerFunc) func(*store) {
		return scripted(func(w http.ResponseWriter, r *http.Request) bool { answer(w, r); return true })
	}
	hangs := func(_ http.ResponseWriter, r *http.Request) { hang(r) }
	cut := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	refusedLater := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "3600")
		s3test.Refuse(w, r)
	}
	stored := func(s *store) { require.NoError(t, s.put("k", big)) }
	// begins an answer, and then does that.
	begins := func(then http.HandlerFunc) func(*store) {
		return always(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "begins")
			_ = http.NewResponseController(w).Flush()
			then(w, r)
		})
	}
	// unread checks that an answer that is not read holds its slot.
	unread := func(t *testing.T, l *aimd.Limiter, c *s3.Client, ctx context.Context) io.ReadCloser {
		out, err := c.GetObject(ctx, object)
		require.NoError(t, err)
		require.Equal(t, 1, l.Snapshot().InFlight)
		return out.Body
	}
	// breaks reads an answer that breaks off.
	breaks := func(t *testing.T, l *aimd.Limiter, c *s3.Client) {
		body := unread(t, l, c, t.Context())
		_, err := io.ReadAll(body)
		require.Error(t, err)
		attempttest.Idle(t, l)
		_ = body.Close()
	}
	// meddles adds a middleware that does something to the body of each answer.
	meddles := func(do func(io.ReadCloser)) func(*aws.Config) {
		return func(cfg *aws.Config) {
			cfg.APIOptions = append(cfg.APIOptions, func(stack *middleware.Stack) error {
				return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("meddles", func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
					middleware.DeserializeOutput, middleware.Metadata, error,
				) {
					out, metadata, err := next.HandleDeserialize(ctx, in)
					if r, ok := out.RawResponse.(*smithyhttp.Response); ok {
						do(r.Body)
					}
					return out, metadata, err
				}), middleware.Before)
			})
		}
	}
	// gone is an answer whose caller has nothing to close.
	gone := func(t *testing.T, l *aimd.Limiter, c *s3.Client) {
		_, err := c.GetObject(t.Context(), object)
		require.NoError(t, err)
		attempttest.Idle(t, l)
	}
	budget, err := retry.NewBudget(retry.BudgetConfig{})
	require.NoError(t, err)
	var heard attempttest.Guard
	everything := aimd.Config{Classifier: func(error) verdict.Verdict { return verdict.Verdict{Meaning: answer.Refused} }}
	for name, c := range map[string]struct {
		store  func(*store)
		opts   aimd.Config
		config func(*aws.Config)
		call   func(*testing.T, *aimd.Limiter, *s3.Client)
		want   outcomes
	}{
		"the limiter is closed": {call: func(t *testing.T, l *aimd.Limiter, c *s3.Client) {
			l.Close()
			err := put(t.Context(), c, "k", "x")
			require.ErrorIs(t, err, aimd.ErrClosed)
			require.False(t, errors.As(err, new(*aws.RequestCanceledError)), "nobody cancelled it")
		}},
		// A classifier that finds everything worth another try does not keep an operation going whose limiter
		// is closed or whose context is over.
		"what is over is not tried again": {opts: everything, call: func(t *testing.T, l *aimd.Limiter, c *s3.Client) {
			p := attempttest.Acquire(t, l)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			err = put(ctx, c, "k", "x")
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, "gave up before the first attempt")
			require.ErrorAs(t, err, new(*aws.RequestCanceledError), "as the SDK says it")
			l.Close()
			require.ErrorIs(t, put(t.Context(), c, "k", "x"), aimd.ErrClosed)
			p.End(nil)
		}, want: outcomes{successes: 1}},
		"a timeout of the HTTP client's": {store: func(s *store) {
			once(hangs)(s)
			s.transport.ResponseHeaderTimeout = time.Second
		}, call: func(t *testing.T, _ *aimd.Limiter, c *s3.Client) {
			require.NoError(t, put(t.Context(), c, "k", ""))
		}, want: outcomes{successes: 1, timeouts: 1}},
		"the limiter closes between two attempts": {store: always(refusedLater), call: func(t *testing.T, l *aimd.Limiter, c *s3.Client) {
			time.AfterFunc(time.Second, func() { _ = l.Close() })
			err := put(t.Context(), c, "k", "x")
			require.ErrorIs(t, err, aimd.ErrClosed)
			requireCode(t, err, "SlowDown")
			require.ErrorContains(t, err, "gave up after 1 attempt: aimd: closed; last error: ")
		}, want: outcomes{overloads: 1}},
		// The SDK forgets why it tried when the time is up; the caller gets the reason.
		"nobody listens": {config: func(cfg *aws.Config) {
			cfg.HTTPClient.(*http.Client).Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
			}
		}, call: func(t *testing.T, _ *aimd.Limiter, c *s3.Client) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			err := put(ctx, c, "k", "x")
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorIs(t, err, syscall.ECONNREFUSED)
			var story *attempt.Error
			require.ErrorAs(t, err, &story)
			require.Equal(t, 1, story.Attempts)
		}, want: outcomes{neutrals: 1}},
		"a Retry-After": {store: once(refusedLater), call: func(t *testing.T, l *aimd.Limiter, c *s3.Client) {
			start := time.Now()
			time.AfterFunc(time.Second, func() { assert.Zero(t, l.Snapshot().InFlight, "it holds no slot while it waits") })
			require.NoError(t, put(t.Context(), c, "k", "x"))
			require.GreaterOrEqual(t, time.Since(start), 5*time.Minute, "the longest that is obeyed")
		}, want: outcomes{successes: 1, overloads: 1}},
		"out of quota": {store: always(func(w http.ResponseWriter, r *http.Request) {
			s3test.Answer(w, r, 503, strings.ReplaceAll(slowDown, "SlowDown", "XMinioAdminBucketQuotaExceeded"))
		}), call: func(t *testing.T, _ *aimd.Limiter, c *s3.Client) {
			err := put(t.Context(), c, "k", "x")
			require.ErrorIs(t, err, aimd.ErrQuota)
			requireCode(t, err, "XMinioAdminBucketQuotaExceeded")
		}, want: outcomes{neutrals: 1}},
		"a retry budget is exhausted, and the SDK does not try again": {store: always(s3test.Refuse), opts: aimd.Config{Guards: []attempt.Guard{budget}},
			call: func(t *testing.T, _ *aimd.Limiter, c *s3.Client) {
				err := put(t.Context(), c, "k", "x")
				require.ErrorIs(t, err, retry.ErrBudget)
				requireCode(t, err, "SlowDown")
			}, want: outcomes{overloads: 1 + 3}},
		"a retryer that does not try again": {store: always(s3test.Refuse), config: func(cfg *aws.Config) {
			cfg.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
		}, call: func(t *testing.T, _ *aimd.Limiter, c *s3.Client) {
			requireCode(t, put(t.Context(), c, "k", "x"), "SlowDown")
		}, want: outcomes{overloads: 1}},
		"RetryMaxAttempts that is set after Limit": {store: always(s3test.Refuse), config: func(cfg *aws.Config) { cfg.RetryMaxAttempts = 4 },
			call: func(t *testing.T, _ *aimd.Limiter, c *s3.Client) {
				requireCode(t, put(t.Context(), c, "k", "x"), "SlowDown")
			}, want: outcomes{overloads: 4}},

		"a stream, closed": {store: stored, call: func(t *testing.T, l *aimd.Limiter, c *s3.Client) {
			body := unread(t, l, c, t.Context())
			done := make(chan error)
			go func() { done <- put(t.Context(), c, "k2", "x") }()
			settled(t, l, queued(1))
			require.NoError(t, body.Close())
			require.NoError(t, <-done)
			require.NoError(t, body.Close(), "closing twice is harmless")
		}, want: outcomes{successes: 2}},
		"a stream, read": {store: stored, call: func(t *testing.T, l *aimd.Limiter, c *s3.Client) {
			body := unread(t, l, c, t.Context())
			b, err := io.ReadAll(body)
			require.NoError(t, err)
			require.Equal(t, big, string(b))
			require.Zero(t, l.Snapshot().InFlight, "released at the end, though not closed")
			require.NoError(t, body.Close())
		}, want: outcomes{successes: 1}},
		"a stream whose context ends": {store: stored, call: func(t *testing.T, l *aimd.Limiter, c *s3.Client) {
			ctx, cancel := context.WithCancel(t.Context())
			body := unread(t, l, c, ctx)
			cancel()
			settled(t, l, func(s aimd.Snapshot) bool { return s.InFlight == 0 })
			_ = body.Close()
		}, want: outcomes{successes: 1}},
		"a stream of which a middleware reads a part": {store: stored, config: meddles(func(r io.ReadCloser) { _, _ = io.CopyN(io.Discard, r, 1) }),
			call: func(t *testing.T, l *aimd.Limiter, c *s3.Client) {
				require.NoError(t, unread(t, l, c, t.Context()).Close())
			}, want: outcomes{successes: 1}},
		"a stream that a middleware reads": {store: stored, config: meddles(func(r io.ReadCloser) { _, _ = io.Copy(io.Discard, r) }), call: gone,
			want: outcomes{successes: 1}},
		"a stream that a middleware closes": {store: stored, config: meddles(func(r io.ReadCloser) { _ = r.Close() }), call: gone,
			want: outcomes{successes: 1}},
		// The SDK wraps the body once more when it verifies a checksum.
		"a stream with a checksum": {store: always(func(w http.ResponseWriter, _ *http.Request) {
			sum := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte("content")))
			w.Header().Set("X-Amz-Checksum-Crc32", base64.StdEncoding.EncodeToString(sum))
			_, _ = io.WriteString(w, "content")
		}), call: func(t *testing.T, l *aimd.Limiter, c *s3.Client) {
			out, err := c.GetObject(t.Context(), &s3.GetObjectInput{Bucket: object.Bucket, Key: object.Key, ChecksumMode: types.ChecksumModeEnabled})
			require.NoError(t, err)
			require.Equal(t, 1, l.Snapshot().InFlight)
			_, err = io.ReadAll(out.Body)
			require.NoError(t, err)
			attempttest.Idle(t, l)
			require.NoError(t, out.Body.Close())
		}, want: outcomes{successes: 1}},
		"a stream that is cut": {store: begins(cut), opts: aimd.Config{Guards: []attempt.Guard{&heard}}, call: func(t *testing.T, l *aimd.Limiter, c *s3.Client) {
			breaks(t, l, c)
			attempts, ended := heard.Heard()
			require.Equal(t, []int{0}, attempts)
			require.Equal(t, []window.Outcome{window.Neutral}, ended, "the service had answered")
		}, want: outcomes{neutrals: 1}},
		"a stream, and a timeout of the client's": {store: begins(hangs), config: func(cfg *aws.Config) { cfg.HTTPClient.(*http.Client).Timeout = time.Second },
			call: func(t *testing.T, l *aimd.Limiter, c *s3.Client) {
				breaks(t, l, c)
			}, want: outcomes{timeouts: 1}},
		"a stream that an interceptor spoils": {store: stored, config: func(cfg *aws.Config) { cfg.Interceptors.AddAfterExecution(spoilsport{}) },
			call: func(t *testing.T, _ *aimd.Limiter, c *s3.Client) {
				_, err := c.GetObject(t.Context(), object)
				require.ErrorContains(t, err, "spoiled")
			}, want: outcomes{successes: 1}},
		"nothing to read": {store: stored, call: func(t *testing.T, l *aimd.Limiter, c *s3.Client) {
			require.NoError(t, put(t.Context(), c, "empty", ""))
			out, err := get(t.Context(), c, "empty")
			require.NoError(t, err)
			attempttest.Idle(t, l)
			require.NoError(t, out.Body.Close())
			for key, found := range map[string]bool{"k": true, "none": false} {
				_, err = c.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String(bucket), Key: aws.String(key)})
				require.Equal(t, found, err == nil)
			}
			_, err = get(t.Context(), c, "none")
			requireCode(t, err, "NoSuchKey")
			_, err = c.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String(bucket)})
			require.NoError(t, err)
		}, want: outcomes{successes: 4, clientErrors: 2}},
		// A middleware that answers in the place of the service.
		"an answer without a request": {config: func(cfg *aws.Config) {
			cfg.APIOptions = append(cfg.APIOptions, func(stack *middleware.Stack) error {
				return stack.Finalize.Add(middleware.FinalizeMiddlewareFunc("cache", func(context.Context, middleware.FinalizeInput, middleware.FinalizeHandler) (
					middleware.FinalizeOutput, middleware.Metadata, error,
				) {
					return middleware.FinalizeOutput{Result: &s3.PutObjectOutput{}}, middleware.Metadata{}, nil
				}), middleware.After)
			})
		}, call: func(t *testing.T, _ *aimd.Limiter, c *s3.Client) {
			require.NoError(t, put(t.Context(), c, "k", "x"))
		}, want: outcomes{neutrals: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var change []func(*store)
				if c.store != nil {
					change = append(change, c.store)
				}
				s, l := newStore(t, change...), oneSlot(t, c.opts)
				config := c.config
				if config == nil {
					config = func(*aws.Config) {}
				}
				c.call(t, l, s.client(l, config))
				requireOutcomes(t, l, c.want)
				requests, _ := s.Counts()
				require.LessOrEqual(t, uint64(requests), l.Snapshot().Attempts)
			})
		})
	}
}

type spoilsport struct{}

func (spoilsport) AfterExecution(context.Context, *smithyhttp.InterceptorContext) error {
	return errors.New("spoiled")
}
