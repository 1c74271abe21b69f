// Package attempt has the vocabulary of an attempt: what its error means, whether another one follows,
// and who is asked before it. Limiters, retry policies, throttles and all integrations (HTTP, gRPC, SDKs)
// share it.
//
// An integration is a few lines around a call, see the example. One that tries again on its own continues with
// the attempt that failed: Attempt.Next waits for as long as it should, at the front of the queue.
//
//	event                                              outcome
//	the caller cancels                                 neutral
//	the caller's deadline passes                       timeout, if the attempt had half of the time
//	the attempt's own timeout passes                   timeout, and tried again
//	the service was never reached, or hangs up         neutral, tried again for the time of the first contact
//	its name is not found once it has answered         neutral, tried again for aimd.Rules.MaxRetryAfter
//	the context has a slot of the same limiter         the attempt uses that slot, and asks no guard
//	a function, classifier, policy or guard panics     the slot is given back, the panic continues
//
// A classifier that knows the error decides before a timeout does. If the wait for the slot took
// most of the time, a deadline says that the queue was too long: a narrower window would make it slower still.
package attempt
