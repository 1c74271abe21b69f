package attempt_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"testing"

	"github.com/aimd-go/aimd/attempt"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sdkError is an error of an SDK, by the names of its fields.
type sdkError struct {
	StatusCode int
	Code       string
	Message    string
	Response   *http.Response
}

func (*sdkError) Error() string { return "busy" }

// fieldsError has fields that nobody reads.
type fieldsError struct{ Query, Hint string }

func (*fieldsError) Error() string { return "no such table" }

// ends are ways in which an attempt ends, and the most allocations that the end may cost beyond a success.
var ends = map[string]struct {
	err  error
	most float64
}{
	"unknown":              {errors.New("no such table"), 2},
	"unknown, wrapped":     {fmt.Errorf("load: %w", fmt.Errorf("query: %w", errors.New("no such table"))), 2},
	"unknown, with fields": {fmt.Errorf("load: %w", &fieldsError{"select", ""}), 2},
	"a reset":              {&url.Error{Op: "Get", Err: &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}}, 2},
	"503":                  {fmt.Errorf("get: %w", status{code: 503}), 2},
	"503 of an SDK":        {fmt.Errorf("get: %w", &sdkError{StatusCode: 503, Code: "busy"}), 8},
}

// The end of an attempt costs little, whatever it is: a service in trouble fails each attempt.
func TestTheEndOfAnAttemptAllocatesLittle(t *testing.T) {
	allocations := func(err error) float64 {
		return testing.AllocsPerRun(100, func() { end(t, err) })
	}
	success := allocations(nil)
	for name, e := range ends {
		assert.LessOrEqual(t, allocations(e.err)-success, e.most, name)
	}
}

func end(t testing.TB, err error) {
	a, failed := (&attempt.Runner{}).Begin(context.Background())
	if failed != nil {
		t.Fatal(failed)
	}
	a.End(err)
}

// wrapper counts how often it is unwrapped.
type wrapper struct {
	error
	unwraps *int
}

func (w wrapper) Unwrap() error {
	*w.unwraps++
	return w.error
}

// The classifier, the first contact and the guards read what was walked once.
func TestAnErrorIsWalkedOnce(t *testing.T) {
	for name, e := range ends {
		unwraps := 0
		a, err := (&attempt.Runner{Slots: newDesk(1), Guards: []attempt.Guard{&warden{}}}).Begin(t.Context())
		require.NoError(t, err)
		a.End(wrapper{e.err, &unwraps})
		require.Equal(t, 1, unwraps, name)
	}
}

func BenchmarkEnd(b *testing.B) {
	for name, e := range ends {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				end(b, e.err)
			}
		})
	}
	b.Run("a success", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			end(b, nil)
		}
	})
}
