// Package attempt is one attempt of an operation, from the wait for its slot to
// its end, and what follows a failure. It is what limiters, retry policies,
// throttles and all integrations (HTTP, gRPC, SDKs) have in common.
//
// An integration is a few lines around a call:
//
//	a, err := limiter.Begin(ctx, attempt.Number(ctx))
//	if err != nil {
//		return err // nothing was sent
//	}
//	defer a.Drop() // a panic leaves nothing behind
//	reply, err := call(a.Context())
//	a.End(err)
//
// One that tries again by itself goes on with the attempt that failed, which waits for
// as long as it should, at the front of the queue:
//
//	next, err := a.Next(ctx)
//
// [Attempt] is the one place that asks the guards, puts a retry at the front of
// the queue, classifies the error, tells whose time ran out and whether the
// service answered, and gives the slot back whatever happens.
//
// [Runner] runs whole operations: it is the loop of limiter.Do, aimd.Each and
// retry.Do. [Decide] is its pure half.
//
// What happens if
//   - the context holds a slot of the same limiter already: the attempt is made
//     under that slot. It waits for no other, asks no guard again and tells the
//     limiter nothing: that is for the attempt that has the slot.
//   - the caller's deadline passes: that is a timeout if the attempt had at least
//     half of the time from the request to the deadline, else neutral. The
//     rest of the time went in the queue, and a window that narrows for
//     that makes the queue slower still.
//   - the caller cancels: neutral.
//   - the attempt's own timeout passes, and the caller's does not: a timeout, and
//     tried again, unless the classifier knows better from the error.
//   - nobody is there, or hangs up at once, and nobody answered since the limiter was made: neutral, tried again
//     for as long as the limiter's first contact may take, and then final (ErrNoContact).
//   - the function, the classifier, the policy or a guard panics or ends its
//     goroutine: the slot is given back, the guards are told, and it goes on.
package attempt
