package riverlimit_test

import (
	"context"
	"fmt"
	"log"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/riverlimit"
	"github.com/aimd-go/aimd/httplimit"
)

// The job is worked again until the service accepts the request.
func ExampleLimit() {
	lim, err := aimd.New(aimd.Config{})
	if err != nil {
		log.Fatal(err)
	}
	cfg := &river.Config{} // and then river.NewClient(driver, cfg)
	riverlimit.Limit(cfg, lim)
	asked := 0
	err = cfg.Middleware[0].(rivertype.WorkerMiddleware).Work(context.Background(), &rivertype.JobRow{}, func(context.Context) error {
		if asked++; asked < 3 {
			return &httplimit.StatusError{StatusCode: 503}
		}
		return nil
	})
	fmt.Println(err, lim.Snapshot().Attempts)
	// Output: <nil> 3
}
