package upload

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
)

// raceKey is the key of a *atomic.Bool in the contexts of the two requests of an attempt: one request is done.
type raceKey struct{}

// twice is once with a backup. The requests of both are attempts of the limiter, and Do sends them again.
func twice(l *aimd.Limiter, once func(context.Context, whole) (*s3.PutObjectOutput, error)) func(context.Context, whole) (*s3.PutObjectOutput, error) {
	backed := aimd.BackupValue(l, func(ctx context.Context, w whole) (*s3.PutObjectOutput, error) {
		out, err := once(ctx, w)
		if done, ok := ctx.Value(raceKey{}).(*atomic.Bool); ok && err == nil {
			done.Store(true)
		}
		return out, err
	})
	return func(ctx context.Context, w whole) (*s3.PutObjectOutput, error) {
		out, err := aimd.Do(ctx, l, func(ctx context.Context) (*s3.PutObjectOutput, error) {
			return backed(context.WithValue(ctx, raceKey{}, new(atomic.Bool)), w)
		})
		var story *attempt.Error
		if errors.As(err, &story) && story.Reason == nil {
			err = story.Cause // as without a backup
		}
		return out, err
	}
}

// lost reports whether the other request of an attempt was sooner: the store has the file.
func lost(request context.Context) bool {
	done, ok := request.Value(raceKey{}).(*atomic.Bool)
	return ok && done.Load()
}
