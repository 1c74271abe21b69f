package retry

import "context"

// Do runs fn, and again while the policy allows it. It returns nil once fn did,
// else an *attempt.Error that tells how often fn ran, why it was given up and
// what its last error was; it matches both with errors.Is and errors.As. nil
// is the default policy.
//
// No attempt is made after ctx has ended. fn is given a context that tells the
// attempt's number (attempt.Number); if the policy has an
// attempt timeout, it has that too.
func Do(ctx context.Context, p *Policy, fn func(context.Context) error) error {
	return p.Runner().Do(ctx, fn)
}

// Value is Do for a function that returns a value: that of the attempt which
// succeeded. With an error it is the zero value.
func Value[T any](ctx context.Context, p *Policy, fn func(context.Context) (T, error)) (T, error) {
	var value T
	err := p.Runner().Do(ctx, func(ctx context.Context) error {
		v, err := fn(ctx)
		if err == nil {
			value = v
		}
		return err
	})
	return value, err
}
