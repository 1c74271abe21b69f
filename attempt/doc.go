// Package attempt is the life of an attempt: its guards, the meaning of its error, and whether and when another
// attempt follows. Limiters, retry policies, throttles and all integrations (HTTP, gRPC, SDKs) share it.
//
// An [Attempt] begins with the guards and a slot. It ends with an error or a body, and always gives the slot back.
// Package verdict says what the error means. A [Policy] or the verdict decides on the next
// attempt. A [Runner] drives the attempts, with a limiter or without.
//
// An integration is a few lines around a call, see the example. An integration that tries again on its own
// continues with the failed attempt: [Attempt.Next] waits for the right time, at the front of the queue. Errors of
// an integration are verdict.Factual: they report their verdict.
//
//	event                                              outcome
//	the caller cancels                                 neutral; what the head said, if nobody waits for the rest
//	the caller's deadline passes                       unclear, if the attempt had half of the time, and for guards a timeout
//	the attempt's own timeout passes                   timeout, and tried again
//	the service was never reached, or hangs up         neutral, tried again for the time of the first contact
//	its name is not found once it has answered         neutral, tried again for the time of MaxRetryAfter
//	the context has a slot of the same limiter         the attempt uses that slot, and asks no guard
//	a function, classifier, policy or guard panics,
//	or a method of the context                         the slot is given back, the panic continues
//
// A classifier that knows the error decides first, and then a timeout. If the wait for the slot took most of the
// time, a deadline means that the queue was too long. It is neutral, since a narrower window would make the
// queue slower still.
package attempt
