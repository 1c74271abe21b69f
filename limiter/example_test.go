package limiter_test

import (
	"context"
	"fmt"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/limiter"
)

// busy is an answer of a service that has too much to do.
var busy = status{code: 503}

func ExampleNew() {
	lim, err := limiter.New(aimd.Reno, limiter.Config{
		Settings:    limiter.Settings{QueueBound: 100},
		MaxAttempts: 3,
	})
	if err != nil {
		panic(err)
	}
	err = lim.Do(context.Background(), func(context.Context) error { return busy })
	fmt.Println(err)
	// Output: gave up after 3 attempts: attempt limit reached; last error: 503 Service Unavailable
}

// A limiter for each bucket, since each has a limit of its own.
func ExampleNewKeyed() {
	buckets, err := limiter.NewKeyed(func(bucket string) (*limiter.Limiter, error) {
		fmt.Println("a limiter for", bucket)
		return aimd.NewReno()
	}, limiter.KeyedConfig{Idle: time.Hour})
	if err != nil {
		panic(err)
	}
	for _, bucket := range []string{"photos", "backups", "photos"} {
		lim, err := buckets.For(bucket)
		if err != nil {
			panic(err)
		}
		_ = lim.Do(context.Background(), func(context.Context) error { return nil })
	}
	// Output:
	// a limiter for photos
	// a limiter for backups
}
