package demo

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"path"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/time/rate"

	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/race"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/internal/s3test"
)

// jobs is the work of aimd demo api: requests for an API with a token bucket.
type jobs struct {
	race.Race           // and the flags by their names
	rate                float64
	burst               int
	service, retryAfter time.Duration
}

func newJobs() *jobs {
	return &jobs{
		Race: race.Race{Operations: 1000, Goroutines: 64, Factor: 0.9, Rivals: []string{"plain", "backoff"}},
		rate: 100, burst: 20, service: 200 * time.Millisecond, retryAfter: time.Second,
	}
}

func (j *jobs) race() *race.Race { return &j.Race }

func (j *jobs) flags(f *pflag.FlagSet) (quick map[string]string) {
	f.Var(value.Whole(&j.Operations, 1, 1_000_000), "requests", "how many requests to send")
	f.Var(value.Whole(&j.Goroutines, 1, 10_000), "workers", "how many workers send at a time")
	f.Var(value.Decimal(&j.rate, 0.1, 100_000), "rate", "how many requests the API serves per second")
	f.Var(value.Whole(&j.burst, 1, 100_000), "burst", "how many it serves at once after a rest")
	f.Var(value.Duration(&j.service, time.Millisecond, time.Minute), "service", "how long it takes for each")
	f.Var(value.Duration(&j.retryAfter, time.Second, time.Hour), "retry-after", "the Retry-After of a refusal, in whole seconds")
	return map[string]string{"requests": "300"}
}

func (j *jobs) report() (Report, error) {
	return Report{
		Title: fmt.Sprintf("%d requests from a pool of %d workers", j.Operations, j.Goroutines),
		Service: fmt.Sprintf("The API serves %g requests per second, %d at once after a rest, %v each, and refuses more with 429 and Retry-After: %g.",
			j.rate, j.burst, j.service, j.retryAfter.Seconds()),
		Optimum: fmt.Sprintf("The optimum is %.2f s = (%d requests - burst of %d) / %g per second + %v.",
			j.Optimum(j.Operations).Seconds(), j.Operations, j.burst, j.rate, j.service),
		Operation: "request", Done: "done",
	}, nil
}

// Optimum implements race.Work: the burst at once, the others as the tokens come, and the last service time.
func (j *jobs) Optimum(requests int) time.Duration {
	rest := max(0, float64(requests-j.burst))
	return time.Duration(rest/j.rate*float64(time.Second)) + j.service
}

// Start implements race.Work. POST /jobs/{i} does a job.
func (j *jobs) Start(_ *race.Strategy, client *http.Client) (race.Service, error) {
	bucket := rate.NewLimiter(rate.Limit(j.rate), j.burst)
	var done sync.Map
	api := &s3test.Store{
		Service: j.service,
		Admit:   bucket.Allow,
		Next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			done.Store(path.Base(r.URL.Path), true)
			w.WriteHeader(http.StatusNoContent)
		}),
		Refusal: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(j.retryAfter.Seconds()))))
			http.Error(w, "too many requests", http.StatusTooManyRequests)
		},
	}
	api.Start()
	return race.Service{
		Do: func(ctx context.Context, i int) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, api.URL+"/jobs/"+strconv.Itoa(i), nil)
			if err != nil {
				return err
			}
			res, err := client.Do(req)
			if err != nil {
				return err
			}
			defer res.Body.Close()
			return httplimit.Check(res)
		},
		Has: func(i int) bool {
			_, has := done.Load(strconv.Itoa(i))
			return has
		},
		Peak: api.Peak, Close: api.Stop,
	}, nil
}
