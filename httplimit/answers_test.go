package httplimit_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/verdict"
)

// parsed is an answer from its bytes.
func parsed(t *testing.T, bytes string) *http.Response {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(strings.TrimLeft(bytes, "\n"))), nil)
	require.NoError(t, err)
	return resp
}

// captured is an answer of answer/testdata, as its bytes.
func captured(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../answer/testdata", file))
	require.NoError(t, err)
	_, raw, _ := strings.Cut("\n"+string(text), "\nHTTP/")
	return "HTTP/" + raw + "\n\n"
}

// Every answer of answer/testdata means the same through every door: Check within Do, an SDK's error within Do, and a
// Transport, whose caller gets all of it.
func TestEveryDoorReadsAlike(t *testing.T) {
	files, err := filepath.Glob("../answer/testdata/*.http")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw := captured(t, filepath.Base(file))
			whole, err := io.ReadAll(parsed(t, raw).Body)
			require.NoError(t, err)
			said := parsed(t, raw)
			want := verdict.Classify(httplimit.Check(said))
			var seen verdict.Verdict
			l := narrow(t, aimd.Config{Classifier: func(err error) verdict.Verdict {
				seen = verdict.Classify(err)
				return seen
			}})
			sent := parsed(t, raw)
			resp, err := limited(base(func(*http.Request) (*http.Response, error) { return sent, nil }), l).RoundTrip(get(t.Context(), anyURL))
			require.NoError(t, err)
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.Equal(t, string(whole), string(body), "the caller gets all of it")
			if passed := answer.Read(said.StatusCode, said.Header, whole, time.Now()); passed.Status < 400 && !passed.Failed() {
				// The caller reads it; the limiter learns of a part that was refused, and of an error that nobody knows.
				require.Zero(t, want)
				if want = verdict.VerdictOf(passed); want.Meaning == answer.Unclear {
					want.Meaning = answer.Final
				}
			}
			alike(t, want, seen)
			if said.StatusCode >= 400 && said.StatusCode < 600 {
				alike(t, want, verdict.Classify(fmt.Errorf("a call: %w", &sdkError{parsed(t, raw)})))
			}
		})
	}
}

// alike requires that two verdicts are the same; a date may be read a moment later.
func alike(t *testing.T, want, got verdict.Verdict) {
	t.Helper()
	require.InDelta(t, want.Wait.Seconds(), got.Wait.Seconds(), 1)
	want.Wait = got.Wait
	require.Equal(t, want, got)
}

// Nothing is sent to GitHub before the reset, but a question each MaxRetryAfter, and after a secondary limit for a
// minute, then for two: by a Client, by Do with Check, and by a policy, alone or in a limiter.
func TestNothingIsSentBeforeTheServiceServesAgain(t *testing.T) {
	policy, err := retry.New(retry.Config{Idempotent: true, MaxAttempts: -1, MaxRetryAfter: time.Second})
	require.NoError(t, err)
	short := aimd.Config{MaxRetryAfter: time.Second}
	for name, c := range map[string]struct {
		answer string
		waits  []time.Duration
	}{
		"primary":   {strings.Replace(captured(t, "github_403_primary.http"), "12:00:00", "11:01:00", 1), []time.Duration{time.Second, time.Second}},
		"secondary": {captured(t, "github_403_secondary.http"), []time.Duration{time.Minute, 2 * time.Minute}},
	} {
		var sent []time.Time
		send := base(func(r *http.Request) (*http.Response, error) {
			if sent = append(sent, time.Now()); len(sent) > len(c.waits) {
				return answers(200, nil, http.NoBody)(r)
			}
			return parsed(t, c.answer), nil
		})
		checked := func(context.Context) error {
			resp, _ := send(nil)
			return httplimit.Check(resp)
		}
		for door, call := range map[string]func(context.Context) error{
			"Client": func(ctx context.Context) error {
				_, err := clientOn(send, narrow(t, short)).Do(get(ctx, anyURL))
				return err
			},
			"Do":                    func(ctx context.Context) error { return narrow(t, short).Do(ctx, checked) },
			"a policy alone":        func(ctx context.Context) error { return retry.Do(ctx, policy, checked) },
			"a policy in a limiter": func(ctx context.Context) error { return narrow(t, aimd.Config{Policy: policy}).Do(ctx, checked) },
		} {
			inTime(t, name+" "+door, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
				defer cancel()
				sent = nil
				require.NoError(t, call(ctx))
				require.Len(t, sent, 3)
				for i, wait := range c.waits {
					if name == "primary" && door == "a policy in a limiter" {
						wait = 5 * time.Minute // the limiter's
					}
					require.InDelta(t, wait+time.Second, sent[i+1].Sub(sent[i]), float64(time.Second))
				}
			})
		}
	}
}

// errLastAnswer: a Client returned the last answer, whatever its reason.
var errLastAnswer = errors.New("the last answer")

// A refusal that is guessed from words is believed for MaxRetryAfter in a row, by a Client, by Do, by a policy alone or in
// a limiter, and by Next. Any other answer in between begins anew.
func TestAGuessIsBelievedForAWhile(t *testing.T) {
	policy, err := retry.New(retry.Config{Idempotent: true, MaxAttempts: -1})
	require.NoError(t, err)
	sent, other := 0, 0
	send := base(func(*http.Request) (*http.Response, error) {
		if sent++; other > 0 && sent%other == 0 {
			return parsed(t, "HTTP/1.1 504 X\n\n"), nil
		}
		return parsed(t, "HTTP/1.1 403 X\nContent-Type: application/json\n\n"+`{"error":{"errors":[{"reason":"quotaExceeded"}]}}`), nil
	})
	checked := func(context.Context) error {
		resp, _ := send(nil)
		return httplimit.Check(resp)
	}
	for door, call := range map[string]func(context.Context) error{
		"Client": func(ctx context.Context) error {
			resp, err := clientOn(send, narrow(t, aimd.Config{})).Do(get(ctx, anyURL))
			if err != nil {
				return err
			}
			require.NoError(t, resp.Body.Close())
			return cmp.Or(ctx.Err(), errLastAnswer)
		},
		"Do":                    func(ctx context.Context) error { return narrow(t, aimd.Config{}).Do(ctx, checked) },
		"a policy alone":        func(ctx context.Context) error { return retry.Do(ctx, policy, checked) },
		"a policy in a limiter": func(ctx context.Context) error { return narrow(t, aimd.Config{Policy: policy}).Do(ctx, checked) },
		"Next": func(ctx context.Context) error {
			a, err := narrow(t, aimd.Config{}).Begin(ctx)
			for err == nil {
				a.End(checked(ctx))
				a, err = a.Next(ctx)
			}
			return err
		},
	} {
		for _, other = range []int{0, 3} {
			inTime(t, fmt.Sprint(door, other), func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				sent = 0
				began := time.Now()
				err := call(ctx)
				if other > 0 {
					require.NotErrorIs(t, err, aimd.ErrQuota)
					require.Greater(t, time.Since(began), 55*time.Minute)
					return
				}
				if !errors.Is(err, errLastAnswer) {
					require.ErrorIs(t, err, aimd.ErrQuota)
				}
				require.InDelta(t, 6*time.Minute, time.Since(began), float64(time.Minute)) // the longest delay is a minute
			})
		}
	}
}
