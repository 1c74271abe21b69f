package fact

// NumberKey is the key of the attempt's number in its context, an int. See attempt.Number.
type NumberKey struct{}
