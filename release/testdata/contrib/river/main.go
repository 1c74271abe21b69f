// A service that refuses the first job: it is worked again in its worker.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aimd-go/aimd"
	aimdriver "github.com/aimd-go/aimd/contrib/river"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

func main() {
	lim, err := aimd.NewReno()
	if err != nil {
		log.Fatal(err)
	}
	cfg := &river.Config{}
	if err := aimdriver.Limit(cfg, aimdriver.Settings{Limiter: lim}); err != nil {
		log.Fatal(err)
	}
	asked := 0
	err = cfg.Middleware[0].(rivertype.WorkerMiddleware).Work(context.Background(), &rivertype.JobRow{}, func(context.Context) error {
		if asked++; asked == 1 {
			return &httplimit.StatusError{StatusCode: 503}
		}
		return nil
	})
	if err != nil || asked != 2 {
		log.Fatal(err, asked)
	}
	fmt.Println("refused once, then done")
}
