package aimd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"time"

	"go.uber.org/atomic"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/window"
)

// Each runs fn for every item, as one operation of the limiter (Limiter.Do), as many at a time as the window allows. An
// item that fails does not stop the others. It returns when all items have ended: nil if no item failed, otherwise an
// error with the number of failed items and the first 20 errors, which errors.Is and errors.As find. [Map] yields every
// item with its error. An item that always answers 500 keeps Each for five minutes, with Config.MaxFailures for less. If
// three or more are left that fail after the last success, that is an outage to Each: it waits until ctx ends.
//
// It ends early, and pulls no more items, if ctx ends, or the limiter is closed, has a full queue, or is paused for longer
// than ctx or MaxWait allows. Then the error is also ctx.Err(), ErrClosed, ErrQueueFull, ErrWait or ErrQuota.
//
// Items are pulled as the window admits them: at most 2*cwnd + 2 have not ended, one that backs off among them, and up
// to 10 000 more that failed and wait aside; with Config.Shadow at most MaxWindow, which it needs. items is pulled on a
// separate goroutine. If it can block for long, it should heed ctx.
//
// If ctx holds a slot of the limiter, as within Do, all items run under that slot, one at a time. For items of different
// amounts see [WithAmount]. After a panic in items or in fn, all running calls end. Then Each panics with an error that has
// the stack of the first panic, and unwraps to its value if that is an error.
func Each[T any](ctx context.Context, l *Limiter, items iter.Seq[T], fn func(context.Context, T) error) error {
	var f failures
	all := false
	pulled := func(yield func(T) bool) {
		for item := range items {
			if !yield(item) {
				return
			}
		}
		all = true
	}
	var stopped error
	for item, err := range each(ctx, l, pulled, fn, &stopped) {
		if f.items++; err != nil {
			f.add(item, err)
		}
	}
	if !all {
		f.left = cmp.Or(ctx.Err(), stopped)
	}
	if f.failed == 0 && f.left == nil {
		return nil
	}
	return &f
}

// firstFailures is the number of errors that Each keeps: enough to find the cause. Our choice.
const firstFailures = 20

// failures is the error of Each.
type failures struct {
	items, failed int
	first         []error
	// left is why not all items were pulled.
	left error
}

func (f *failures) add(item any, err error) {
	if f.failed++; f.failed <= firstFailures {
		f.first = append(f.first, fmt.Errorf("%.100s: %w", fmt.Sprint(item), err)) // %.100v fills a number up with zeros
	}
}

func (f *failures) Error() string {
	text := fmt.Sprintf("%d of %d items failed", f.failed, f.items)
	if f.left != nil {
		text += fmt.Sprintf(", others were not begun: %v", f.left)
	}
	for _, err := range f.first {
		text += "\n" + err.Error()
	}
	return text
}

func (f *failures) Unwrap() []error {
	if f.left != nil {
		return append([]error{f.left}, f.first...)
	}
	return f.first
}

// each yields every item with its error or nil, in the order in which they end. It sets stopped if the limiter is
// why it pulls no more.
func each[T any](ctx context.Context, l *Limiter, items iter.Seq[T], fn func(context.Context, T) error, stopped *error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		b := &bulk[T]{limiter: l.ready(), fn: fn, stopped: stopped, ended: make(chan ended[T]), room: make(chan struct{}, 1)}
		b.put = b.putAside
		ctx, cancel := context.WithCancel(ctx)
		b.pulled.Inc() // the feeder counts as one until it has finished
		go b.feed(ctx, items)
		// However the loop ends, no goroutine outlives it.
		defer func() {
			cancel()
			for range b.ended {
				b.yielded()
			}
		}()
		for e := range b.ended {
			b.yielded()
			if !yield(e.item, e.err) {
				return
			}
		}
		if p := b.panicked.Load(); p != nil {
			panic(p)
		}
	}
}

// Do runs fn as one operation of the limiter, as Limiter.Do does. It returns the value of the attempt that
// succeeded, or the zero value with an error.
func Do[T any](ctx context.Context, l *Limiter, fn func(context.Context) (T, error)) (T, error) {
	var value T
	err := l.Do(ctx, keep(&value, fn))
	return value, err
}

// keep is fn as the function of an operation: it keeps the value of the attempt that succeeds.
func keep[T any](to *T, fn func(context.Context) (T, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		v, err := fn(ctx)
		if err == nil {
			*to = v
		}
		return err
	}
}

// panicked is the panic of Each, Map or Backup after a panic of fn or of the iterator.
type panicked struct {
	value any
	// stack is the stack of the goroutine that panicked.
	stack []byte
}

func (p *panicked) Error() string {
	return fmt.Sprintf("aimd: panic on another goroutine: %v\n\n%s", p.value, p.stack)
}

func (p *panicked) Unwrap() error {
	err, _ := p.value.(error)
	return err
}

// errExited is the error of an item whose fn ended its goroutine, and the panic of a loop whose items did.
var errExited = errors.New("aimd: the function called runtime.Goexit")

type ended[T any] struct {
	item T
	err  error
}

// mostAside is the greatest number of items aside that make room for others: each holds a goroutine. Our choice.
const mostAside = 10_000

// bulk is one run of Each.
type bulk[T any] struct {
	// pulled counts the items that were pulled and not yet yielded, and the feeder while it runs. At zero
	// ended is closed. It comes first to be aligned on 32-bit machines.
	pulled atomic.Int64
	// aside counts those of them that are aside.
	aside atomic.Int64
	// put counts in aside.
	put func(int)

	limiter *Limiter
	fn      func(context.Context, T) error
	// stopped is the feeder's until ended is closed.
	stopped *error
	// ended takes every item that was pulled, once. It is closed after the last one.
	ended chan ended[T]
	// room is signalled when pulled falls, or aside changes.
	room chan struct{}
	// soon is nil, or a second after nothing but items aside was left. told: that was said.
	soon <-chan time.Time
	told bool

	panicked atomic.Pointer[panicked]
}

func (b *bulk[T]) feed(ctx context.Context, items iter.Seq[T]) {
	through := false
	defer b.yielded()
	defer func() {
		v := recover()
		if v == nil && !through {
			v = errExited
		}
		if v != nil {
			b.keep(v)
		}
	}()
	err := b.limiter.endless()
	for item := range items {
		if err != nil {
			b.pulled.Inc()
			*b.stopped = err
			b.ended <- ended[T]{item, &attempt.Error{Reason: err}}
			break
		}
		if !b.start(ctx, item) || !b.admits(ctx) {
			break
		}
	}
	for b.pulled.Load() > 1 {
		b.awaits(nil)
	}
	through = true
}

// start starts an item, and reports false if it is useless to pull more.
func (b *bulk[T]) start(ctx context.Context, item T) bool {
	b.pulled.Inc()
	started := false
	defer func() {
		if !started { // a guard panicked
			b.yielded()
		}
	}()
	held := b.limiter.holds(ctx) // a context that panics has no attempt yet
	a, err := b.limiter.Begin(ctx)
	started = true
	if err != nil {
		b.ended <- ended[T]{item, &attempt.Error{Reason: err}}
		for _, final := range []error{ErrClosed, ErrQueueFull, ErrWait, ErrQuota, context.DeadlineExceeded} {
			if errors.Is(err, final) {
				*b.stopped = final
				return false
			}
		}
		return ctx.Err() == nil
	}
	if !held {
		go b.work(a, item)
		return true
	}
	done := make(chan struct{}) // all items share one slot
	go func() {
		defer close(done)
		b.work(a, item)
	}()
	<-done
	return true
}

// admits waits until there is room for one more item, and reports false if it is useless to wait.
func (b *bulk[T]) admits(ctx context.Context) bool {
	for {
		if ctx.Err() != nil || b.panicked.Load() != nil {
			return false
		}
		if b.hasRoom() {
			return true
		}
		b.awaits(ctx.Done())
	}
}

// awaits waits until pulled or aside changes. Once nothing but items aside is left for a second, it says so.
func (b *bulk[T]) awaits(done <-chan struct{}) {
	n := b.aside.Load()
	alone := n > 0 && n == b.pulled.Load()-1
	if alone && !b.told && b.soon == nil {
		b.soon = b.limiter.clock.After(time.Second)
	}
	select {
	case <-b.room:
	case <-done:
	case <-b.soon:
		if b.soon, b.told = nil, alone; alone {
			b.limiter.leftAside(n)
		}
	}
}

// hasRoom reports whether one more item may be pulled. The feeder counts as one.
func (b *bulk[T]) hasRoom() bool {
	if c := b.limiter.settings.Load(); c.Shadow && c.MaxWindow < window.MaxWindow {
		return b.pulled.Load() <= int64(c.MaxWindow)
	}
	return b.pulled.Load()-min(b.aside.Load(), mostAside) <= 2*int64(b.limiter.cwnd())+2
}

func (b *bulk[T]) work(a *attempt.Attempt, item T) {
	err := errExited
	defer func() {
		if v := recover(); v != nil {
			b.keep(v)
			b.yielded()
			return
		}
		b.ended <- ended[T]{item, err}
	}()
	err = a.Run(func(ctx context.Context) error { return b.fn(ctx, item) }, b.put)
}

// yielded counts down, and closes ended after the last.
func (b *bulk[T]) yielded() {
	if b.pulled.Dec() == 0 {
		close(b.ended)
	}
	b.signal()
}

// putAside counts an item that goes aside, by 1, or that ends there, by -1.
func (b *bulk[T]) putAside(n int) {
	b.aside.Add(int64(n))
	b.signal()
}

func (b *bulk[T]) signal() {
	select {
	case b.room <- struct{}{}:
	default:
	}
}

func (b *bulk[T]) keep(v any) {
	p, ok := v.(*panicked) // of Backup
	if !ok {
		p = &panicked{v, debug.Stack()}
	}
	b.panicked.CompareAndSwap(nil, p)
}
