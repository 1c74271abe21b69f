// A service that refuses the first task: it is tried again in its worker.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aimd-go/aimd"
	aimdasynq "github.com/aimd-go/aimd/contrib/asynq"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/hibiken/asynq"
)

func main() {
	lim, err := aimd.NewReno()
	if err != nil {
		log.Fatal(err)
	}
	limit, err := aimdasynq.Limit(&asynq.Config{}, aimdasynq.Settings{Limiter: lim})
	if err != nil {
		log.Fatal(err)
	}
	asked := 0
	task := limit(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
		if asked++; asked == 1 {
			return &httplimit.StatusError{StatusCode: 503}
		}
		return nil
	}))
	if err := task.ProcessTask(context.Background(), asynq.NewTask("upload", nil)); err != nil || asked != 2 {
		log.Fatal(err, asked)
	}
	fmt.Println("refused once, then done")
}
