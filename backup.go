package aimd

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

const (
	// backupAge is the age of an attempt, in mean answers, from which it may have a backup. Answers that differ in length by their
	// work end before; with 2 one in ten even answers has one, with 6 a batch waits twice as long for its slow ones.
	backupAge = 3
	// backupShare: one attempt in so many may be a backup, and backupsFirst at the start: a batch of 200 has no 5% of the last one.
	backupShare, backupsFirst = 20, 20
	// meanOf is the number of answers of the mean. If many begin at once, the shortest end first: in a mean of the latest 16 the
	// long ones are never old. lookAgain: after a part of its age it is looked again whether an attempt may have a backup.
	meanOf, lookAgain = 256, 16
)

// Backup is for the last items of a batch, which otherwise wait for a few slow answers. It returns a function for [Each], or
// for use within Do, that makes a second attempt if the first is slow, and returns when one of them has succeeded:
//
//	err := aimd.Each(ctx, lim, keys, aimd.Backup(lim, fetch))
//
// Two attempts of an item run at once. So fn must be safe for that: a reading, or a write of a whole object; never a part of a
// multipart upload, nor a POST. It must not write to variables of its caller; see [BackupValue]. The context of the slower
// attempt ends, and fn should heed it: it has no slot any more.
//
// The second attempt starts if the first is older than three mean answers of fn, nothing waits and a slot is free: so it takes
// nothing from other work of this limiter. An attempt has one backup at most, and one attempt in 20 has one. A backup may be
// refused, and counts as every attempt. If the first attempt fails, its error is the result, and Do tries again as always.
//
// Outside of an attempt of the limiter, and if the limiter has guards or a policy with guards, the function is fn. It is safe
// for any number of goroutines; its calls share one mean, so make it once. Snapshot.Backups counts backups.
func Backup[T any](l *Limiter, fn func(context.Context, T) error) func(context.Context, T) error {
	twice := BackupValue(l, func(ctx context.Context, item T) (struct{}, error) { return struct{}{}, fn(ctx, item) })
	return func(ctx context.Context, item T) error {
		_, err := twice(ctx, item)
		return err
	}
}

// BackupValue is [Backup] for a function with a value, for [Map] or within [Do]: the value is that of the attempt that
// succeeded.
func BackupValue[T, R any](l *Limiter, fn func(context.Context, T) (R, error)) func(context.Context, T) (R, error) {
	l.ready()
	mean := new(clipped)
	return func(ctx context.Context, item T) (R, error) {
		if !l.holds(ctx) || len(l.runner.Guards) > 0 {
			return fn(ctx, item)
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel() // the slower one's
		b := backup[R]{l: l, mean: mean, fn: func() (R, error) { return fn(ctx, item) }}
		return b.run(ctx)
	}
}

type backup[R any] struct {
	l    *Limiter
	mean *clipped
	fn   func() (R, error)
}

// result is the end of one of the two. panicked is what it panicked with.
type result[R any] struct {
	value    R
	err      error
	panicked *panicked
}

func (b *backup[R]) run(ctx context.Context) (R, error) {
	began := b.l.now()
	first, second := b.start(), make(chan result[R], 1)
	timer := b.l.clock.Timer(b.mean.in(0))
	defer timer.Stop()
	for {
		select {
		case r := <-first:
			if r.panicked != nil {
				panic(r.panicked)
			}
			if r.err == nil {
				b.mean.took(b.l.now() - began)
			}
			return r.value, r.err
		case r := <-second:
			return r.value, nil
		case <-timer.C:
			age := b.l.now() - began
			if b.mean.slow(age) {
				if p, ok := b.l.tryBackup(wanted(ctx)); ok {
					go b.second(ctx, p, second)
					continue
				}
			}
			timer.Reset(b.mean.in(age))
		}
	}
}

func (b *backup[R]) start() <-chan result[R] {
	end := make(chan result[R], 1)
	go func() {
		r := result[R]{err: errExited}
		defer func() {
			if v := recover(); v != nil {
				r.panicked = &panicked{v, debug.Stack()}
			}
			end <- r
		}()
		r.value, r.err = b.fn()
	}()
	return end
}

// second makes the backup under its permit, and reports a success only: what else it meets, the first attempt meets as well.
func (b *backup[R]) second(ctx context.Context, p Permit, won chan<- result[R]) {
	began := b.l.now()
	var r result[R]
	select {
	case r = <-b.start():
	case <-ctx.Done(): // fn may not heed it
		r.err = ctx.Err()
	}
	switch {
	case r.panicked != nil:
		p.release(window.Neutral, verdict.Verdict{}, nil, nil)
	case r.err == nil:
		p.End(nil)
		b.mean.took(b.l.now() - began)
		won <- r
	case ctx.Err() != nil: // the first one was sooner
		p.release(window.Neutral, verdict.Verdict{}, nil, nil)
	default:
		p.End(r.err)
	}
}

func (l *Limiter) tryBackup(of wants) (p Permit, ok bool) {
	l.lock()
	few := l.counts.Backups*backupShare < l.counts.Attempts+backupsFirst*backupShare && l.gate.Open() // in shadow all else goes
	l.mu.Unlock()
	if !few {
		return Permit{}, false
	}
	if p, ok = l.try(of); ok {
		l.lock()
		l.counts.Backups++
		l.mu.Unlock()
	}
	return p, ok
}

// clipped is the mean time of the answers of a function, of which a slow one counts as the age of a backup: in a plain mean the
// first slow ones put off the backups of the others.
type clipped struct {
	mu   sync.Mutex
	mean time.Duration
	// answers is the number of answers in the mean.
	answers time.Duration
}

func (c *clipped) took(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answers = min(c.answers+1, meanOf); c.mean == 0 {
		c.mean = d
	}
	c.mean += (min(d, backupAge*c.mean) - c.mean) / c.answers
}

// slow reports whether an attempt of an age may have a backup.
func (c *clipped) slow(age time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mean > 0 && age >= backupAge*c.mean
}

// in is the time until it is looked again whether an attempt of an age may have a backup.
func (c *clipped) in(age time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(backupAge*c.mean-age, age/lookAgain, time.Millisecond)
}
