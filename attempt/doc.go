// Package attempt is the life of an attempt: who is asked before it, what its error means, whether another one follows,
// and when. Limiters, retry policies, throttles and all integrations (HTTP, gRPC, SDKs) share it.
//
// An [Attempt] begins with the guards and a slot. It ends with an error or a body, and gives the slot back whatever
// happens. [Classify] reads the error as a [Verdict]; package answer reads what a service says in it. A [Policy] or the
// verdict decides on the next attempt. A [Runner] drives all that, with a limiter or without.
//
// An integration is a few lines around a call, see the example. One that tries again on its own continues with
// the attempt that failed: [Attempt.Next] waits for as long as it should, at the front of the queue. Errors of an
// integration say what they know as a [Factual].
//
//	event                                              outcome
//	the caller cancels                                 neutral
//	the caller's deadline passes                       timeout, if the attempt had half of the time
//	the attempt's own timeout passes                   timeout, and tried again
//	the service was never reached, or hangs up         neutral, tried again for the time of the first contact
//	its name is not found once it has answered         neutral, tried again for the time of MaxRetryAfter
//	the context has a slot of the same limiter         the attempt uses that slot, and asks no guard
//	a function, classifier, policy or guard panics     the slot is given back, the panic continues
//
// A classifier that knows the error decides before a timeout does. If the wait for the slot took
// most of the time, a deadline says that the queue was too long: a narrower window would make it slower still.
package attempt
