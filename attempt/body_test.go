package attempt_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/window"
)

// pipe is a body whose Read waits for the err to come, or for the close.
type pipe struct {
	reading, closed chan struct{}
	err             chan error
	first, last     sync.Once
	atClose         func()
}

func newPipe() *pipe {
	return &pipe{reading: make(chan struct{}), closed: make(chan struct{}), err: make(chan error, 1), atClose: func() {}}
}

func (p *pipe) Read([]byte) (int, error) {
	p.first.Do(func() { close(p.reading) })
	select {
	case err := <-p.err:
		return 0, err
	case <-p.closed:
		return 0, errors.New("read on a closed body")
	}
}

func (p *pipe) Close() error {
	p.atClose()
	p.last.Do(func() { close(p.closed) })
	return errors.New("close failed")
}

// watched is a context that counts who watches it with context.AfterFunc.
type watched struct {
	context.Context
	watchers int
}

func (w *watched) AfterFunc(f func()) (stop func() bool) {
	w.watchers++
	forget := context.AfterFunc(w.Context, f)
	return func() bool { w.watchers--; return forget() }
}

// The ends of a body, and what each says: what the head said, unless a Read waited for the service.
func TestTheEndsOfABody(t *testing.T) {
	type end = func(b io.ReadCloser, p *pipe, late func())
	fails := func(err error) end {
		return func(b io.ReadCloser, p *pipe, _ func()) { p.err <- err; _, _ = b.Read(nil) }
	}
	reading := func(b io.ReadCloser, p *pipe, then func()) {
		ended := make(chan error)
		go func() { _, err := b.Read(nil); ended <- err }()
		<-p.reading
		then()
		_ = b.Close()
		<-ended
	}
	for name, c := range map[string]struct {
		head error
		end  end
		// body is the outcome with Body, connection with Connection.
		body, connection window.Outcome
	}{
		"its end":                       {nil, fails(io.EOF), window.Success, window.Success},
		"an early close":                {nil, func(b io.ReadCloser, _ *pipe, _ func()) { _ = b.Close() }, window.Success, window.Success},
		"a close during a Read":         {nil, func(b io.ReadCloser, p *pipe, _ func()) { reading(b, p, func() {}) }, window.Success, window.Success},
		"an error":                      {nil, fails(io.ErrUnexpectedEOF), window.Neutral, window.Success},
		"a timeout":                     {nil, fails(context.DeadlineExceeded), window.Timeout, window.Success},
		"a refusal that breaks off":     {status{HTTP: 503}, fails(io.ErrUnexpectedEOF), window.Overload, window.Overload},
		"the deadline":                  {nil, func(b io.ReadCloser, _ *pipe, late func()) { late(); _ = b.Close() }, window.Success, window.Success},
		"the deadline during a Read":    {nil, reading, window.Unclear, window.Success},
		"the deadline, after a Read":    {nil, func(b io.ReadCloser, p *pipe, late func()) { fails(nil)(b, p, late); late(); _ = b.Close() }, window.Success, window.Success},
		"the deadline after a refusal":  {status{HTTP: 429}, func(b io.ReadCloser, _ *pipe, late func()) { late(); _ = b.Close() }, window.Overload, window.Overload},
		"the deadline, after its end":   {nil, func(b io.ReadCloser, p *pipe, late func()) { fails(io.EOF)(b, p, late); late() }, window.Success, window.Success},
		"the deadline, after its close": {nil, func(b io.ReadCloser, _ *pipe, late func()) { _ = b.Close(); late() }, window.Success, window.Success},
	} {
		for hold, want := range map[string]window.Outcome{"Body": c.body, "Connection": c.connection} {
			t.Run(name+", "+hold, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := newDesk(1)
					ends, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					ctx := &watched{Context: ends}
					a, err := (&attempt.Runner{Slots: d}).Begin(ctx)
					require.NoError(t, err)
					a.Head(c.head)
					p := newPipe()
					b := map[string]func(io.ReadCloser) io.ReadCloser{
						"Body":       func(r io.ReadCloser) io.ReadCloser { return a.Body(r, true) },
						"Connection": func(r io.ReadCloser) io.ReadCloser { return a.Body(connection{r, nil}, false) },
					}[hold](p)
					require.Zero(t, d.ends())
					c.end(b, p, func() { time.Sleep(time.Minute); synctest.Wait() })
					require.Equal(t, want, d.last(t))
					require.EqualError(t, b.Close(), "close failed", "each reaches the body beneath")
					require.Equal(t, 1, d.ends())
					if ends.Err() == nil {
						require.Zero(t, ctx.watchers, "the context is forgotten")
					}
				})
			})
		}
	}
}

// asked is a context that calls the function, if there is one, when its error is asked.
type asked struct {
	context.Context
	err atomic.Pointer[func()]
}

func (a *asked) Err() error {
	if f := a.err.Swap(nil); f != nil {
		(*f)()
	}
	return a.Context.Err()
}

// The deadline ends the attempt, and breaks off the Read that waited for the service.
func TestTheDeadlineBreaksOffARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ends, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		d, ctx, p := newDesk(1), &asked{Context: ends}, newPipe()
		a, err := (&attempt.Runner{Slots: d}).Begin(ctx)
		require.NoError(t, err)
		a.Head(nil)
		b, read := a.Body(p, false), make(chan error)
		go func() { _, err := b.Read(nil); read <- err }()
		<-p.reading
		breaks := func() { p.err <- io.ErrUnexpectedEOF; <-read }
		ctx.err.Store(&breaks)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, window.Unclear, d.last(t))
	})
}

// The connection is in use until the body beneath is closed, and so is the slot.
func TestTheSlotIsFreeAfterTheClose(t *testing.T) {
	d := newDesk(1)
	for _, at := range []func(){func() { require.Empty(t, d.free) }, func() { panic("boom") }} {
		a, err := (&attempt.Runner{Slots: d}).Begin(t.Context())
		require.NoError(t, err)
		p := newPipe()
		p.atClose = at
		func() {
			defer func() { _ = recover() }()
			_ = a.Body(p, false).Close()
		}()
		require.Len(t, d.free, 1)
	}
}

// io.Copy takes a body's own WriteTo if it has one. The end must be seen all the same.
func TestACopySeesTheEndOfABody(t *testing.T) {
	d := newDesk(1)
	a, err := (&attempt.Runner{Slots: d}).Begin(t.Context())
	require.NoError(t, err)
	var got bytes.Buffer
	_, err = io.Copy(&got, a.Body(io.NopCloser(strings.NewReader("hello")), true))
	require.NoError(t, err)
	require.Equal(t, "hello", got.String())
	require.Equal(t, window.Success, d.last(t))
}

// The end comes from three sides at once; the slot is given back once.
func TestOneEndOfMany(t *testing.T) {
	d := newDesk(1)
	for i := range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		a, err := (&attempt.Runner{Slots: d}).Begin(ctx)
		require.NoError(t, err)
		b := a.Body(newPipe(), false)
		var all sync.WaitGroup
		all.Go(cancel)
		all.Go(func() { _ = b.Close() })
		all.Go(func() { _, _ = b.Read(nil) })
		all.Wait()
		slot := <-d.free
		require.Equal(t, i+1, d.ends())
		d.free <- slot
	}
}

// connection is a body that can be written to.
type connection struct {
	io.ReadCloser
	io.Writer
}

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
	"503":                  {fmt.Errorf("get: %w", status{HTTP: 503}), 2},
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
