package attempt

import "context"

// Policy decides whether a failed attempt is followed by another, and when.
// retry.Policy is one. It must be safe for any number of goroutines.
//
// Without one a limiter's Do and Each go by the classifier: what may be
// retried is, without end unless there is an attempt limit, and an operation
// backs off as limiter.Do says.
type Policy interface {
	// Decide is asked after each failed attempt, with the operation's context,
	// which has not ended then.
	Decide(ctx context.Context, f Failure) Decision
}
