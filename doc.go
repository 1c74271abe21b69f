// Package aimd lets a client take all that a remote service will give, and no more. A limiter finds how many requests
// the service takes at a time, while the program works, and stays there. It is TCP's congestion control: a window bounds
// the attempts in flight, the others wait in a queue. Successes widen the window, and the first refusal of each burst
// narrows it.
//
//	lim, err := aimd.New(aimd.Config{})
//	...
//	err = lim.Do(ctx, func(ctx context.Context) error { return upload(ctx, file) })
//
// One limiter is for one limit: a service, a bucket, or an API key. All goroutines that use the service share it.
//
//   - [Limiter.Do] runs one operation, and again until it succeeds. [Do] is the same with a result.
//   - [Each] runs a function for every item of an iterator. [Map] is the same with results.
//   - [Limiter.Acquire] is for callers that make each attempt themselves.
//   - Package httplimit is for an http.Client. contrib/awslimit, miniolimit, grpclimit, asynqlimit and riverlimit are for
//     SDKs and job engines.
//
// Three rules keep work safe. The function must be safe to repeat. If a person waits for the result, ctx needs a
// deadline, since Do tries a refusal again until ctx ends. An error that nobody knows is final: [Refused], [Passing] and
// [Final] say what an error of your own means.
//
// # What happens if
//
//   - the service refuses: the first refusal of a burst narrows the window, the others do not. The refused operation is
//     tried again before those that wait.
//   - the service continues to refuse: all operations pause, or one attempt is sent in each gap, until a success.
//   - the service asks for a wait (Retry-After): the operation waits, for [Config].MaxRetryAfter at most. It fails at once
//     if its deadline comes before.
//   - the service answers 500: the operation is tried again. If it fails again and again while others succeed, it ends
//     with [ErrOwnFault]. Where 500 is how the service refuses, say so with [Refused].
//   - the service has never answered: operations fail after [Config].FirstContact.
//   - the context of an operation that waits ends: Do returns at once, and its turn goes to the next.
//   - a permit is released twice: the second release has no effect.
//
// # Settings
//
// A zero is the default in all packages. A wrong value is an error of the constructor, a
// [github.com/aimd-go/aimd/setting.Error], with the field's name, the value and the allowed values. A required argument
// that is nil is an error of the constructor. Functions without an error result panic.
//
// # Where to read on
//
// The laws are [Probe], which needs no tuning, and [Tahoe] and [Reno] of "Improve on exponential backoff". The window of
// that text is package window, its queue is package queue, and package limiter decides when an operation is sent. This
// package adds a lock, goroutines that wait, contexts and a clock. In the repository docs/design.md has the rules and the
// measurements, docs/parts.md the packages by trouble, docs/trouble.md the cause of each symptom.
package aimd
