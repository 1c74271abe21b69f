package asynqlimit_test

import (
	"context"
	"fmt"
	"log"

	"github.com/hibiken/asynq"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/asynqlimit"
	"github.com/aimd-go/aimd/httplimit"
)

// The handler is called again until the service accepts the request.
func ExampleLimit() {
	lim, err := aimd.New(aimd.Config{})
	if err != nil {
		log.Fatal(err)
	}
	cfg := asynq.Config{Concurrency: 64} // and then asynq.NewServer(redis, cfg)
	mux := asynq.NewServeMux()
	mux.Use(asynqlimit.Limit(&cfg, lim))
	asked := 0
	mux.HandleFunc("upload", func(context.Context, *asynq.Task) error {
		if asked++; asked < 3 {
			return &httplimit.StatusError{StatusCode: 503}
		}
		return nil
	})
	fmt.Println(mux.ProcessTask(context.Background(), asynq.NewTask("upload", nil)), lim.Snapshot().Attempts)
	// Output: <nil> 3
}

// A limiter for each queue. The limiters of queues without tasks are forgotten.
func ExampleSettings() {
	perQueue, err := aimd.NewKeyed(func(string) (*aimd.Limiter, error) { return aimd.New(aimd.Config{}) }, aimd.KeyedConfig{})
	if err != nil {
		log.Fatal(err)
	}
	cfg := asynq.Config{Concurrency: 64, Queues: map[string]int{"openai": 1, "mail": 1}}
	limit, err := asynqlimit.LimitBy(&cfg, asynqlimit.Settings{
		Of: func(ctx context.Context, _ *asynq.Task) (*aimd.Limiter, error) {
			queue, _ := asynq.GetQueueName(ctx)
			return perQueue.For(queue)
		},
		Waiters: 16,
	})
	if err != nil {
		log.Fatal(err)
	}
	mux := asynq.NewServeMux()
	mux.Use(limit)
}
