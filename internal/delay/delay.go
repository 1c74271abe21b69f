// Package delay decides when an operation backs off on its own.
package delay

// Patience is the number of overloads in a row after which an operation backs off. It is also the number of cuts in
// a row from which a Retry-After pauses all operations. Our choice: with less, operations that lose their place in
// an ordinary overshoot back off (TestRetryAfterOfASmoothRateCap in internal/sim).
const Patience = 5

// Backoffs is the number of the backoff that is due after n failures in a row; 0: no backoff. After overloads it
// begins when the Patience is over.
func Backoffs(failures int, overloaded bool) int {
	if !overloaded {
		return failures
	}
	return max(0, failures-Patience)
}
