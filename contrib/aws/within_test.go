package aimdaws_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/limiter"
)

// Whoever has a slot does not wait for another, in both orders: an operation within Do or
// Each stands in limit_test.go; here is what an attempt of the SDK begins by itself.
func TestNothingWithinAnAttemptWaitsForASlot(t *testing.T) {
	nothing := func(context.Context) error { return nil }
	for name, within := range map[string]func(context.Context, *limiter.Limiter) error{
		"Do": func(ctx context.Context, l *limiter.Limiter) error { return l.Do(ctx, nothing) },
		"Each": func(ctx context.Context, l *limiter.Limiter) error {
			for _, err := range aimd.Each(ctx, l, func(yield func(int) bool) { _ = yield(1) && yield(2) },
				func(ctx context.Context, _ int) error { return nothing(ctx) }) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"Begin": func(ctx context.Context, l *limiter.Limiter) error {
			a, err := l.Begin(ctx)
			if err == nil {
				a.End(nil)
			}
			return err
		},
		"Acquire": func(ctx context.Context, l *limiter.Limiter) error {
			if _, err := l.Acquire(ctx); err != limiter.ErrHasSlot {
				return fmt.Errorf("want ErrHasSlot: %w", err)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := oneSlot(t)
				asked := false
				c := newStore(t).client(l, func(cfg *aws.Config) {
					cfg.Credentials = aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
						asked = true
						if err := within(ctx, l); err != nil {
							return aws.Credentials{}, err
						}
						return fixedCredentials(ctx)
					})
				})
				require.NoError(t, put(t.Context(), c, "k", "x"))
				require.True(t, asked)
				requireOutcomes(t, l, outcomes{successes: 1})
			})
		})
	}
}
