package retry

import "context"

// Do runs fn, and again while the policy allows it. It returns nil once fn did, otherwise an
// *attempt.Error. A nil policy is the default policy.
//
// No attempt is made after ctx has ended. The context of fn has the attempt's number (attempt.Number),
// and the policy's attempt timeout, if there is one.
func Do(ctx context.Context, p *Policy, fn func(context.Context) error) error {
	return p.Runner().Do(ctx, fn)
}

// Value is Do for a function that returns a value. It returns the value of the attempt that succeeded;
// with an error, the zero value.
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
