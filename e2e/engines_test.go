package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/e2e/internal/program"
	"github.com/aimd-go/aimd/limiter"
)

const (
	// engineRole makes the test binary a worker of a job engine.
	engineRole = "engine"
	// workerSettings is a worker as JSON.
	workerSettings = "E2E_WORKER"
	// heldJobs is how many jobs all workers have at a time: enough for all slots, whoever has them, and
	// for the time until the engine brings the next ones. More would make the end of a run longer, if a
	// worker with a narrow window holds many of the last jobs.
	heldJobs = 3 * slots
)

// engineJobs are the jobs of a run whose figures count. Few jobs pay a larger part for slow start.
// faultJobs are those of a run whose figures do not.
var (
	engineJobs = amount(2000, 640)
	faultJobs  = amount(2000, 320)
)

// engine is a job engine on its server. Its jobs are numbers.
type engine interface {
	// clear removes all jobs.
	clear(t *testing.T)
	// insert inserts the jobs 0 to n-1, each with that number of attempts for the engine.
	insert(t *testing.T, n, attempts int)
	// open counts the jobs that have not come to an end.
	open() int
	// age makes the jobs of crashed workers old enough to be started again, and counts them.
	age(t *testing.T) int
	// tally counts the jobs that were done and those given up, and the attempts of the engine that
	// were no success.
	tally(t *testing.T) (done, dead, failures int)
	// restart stops the server and starts it again.
	restart(t *testing.T)
	// worker is a worker without a name.
	worker() worker
}

// worker is a process with a limiter of its own, or with the engine's own recipe.
type worker struct {
	Engine, Server, API, Name string
	// Jobs is how many jobs it has at a time.
	Jobs   int
	Recipe bool
}

// runEngineWorker is the main function of such a process, which ends with its standard input.
func runEngineWorker() int {
	var w worker
	if err := json.Unmarshal([]byte(os.Getenv(workerSettings)), &w); err != nil {
		log.Print(err)
		return 1
	}
	l, err := aimd.New()
	if err != nil {
		log.Print(err)
		return 1
	}
	start := map[string]func(*limiter.Limiter) (stop func(), err error){"asynq": w.asynq, "river": w.river}
	stop, err := start[w.Engine](l)
	if err != nil {
		log.Print(err)
		return 1
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	stop()
	return 0
}

// client keeps a connection for each job.
var engineClient = sync.OnceValue(func() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: heldJobs}, Timeout: 10 * time.Second}
})

// do does a job: one request.
func (w *worker) do(ctx context.Context, job string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://"+w.API+"/"+job, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Worker", w.Name)
	_, err = exchange(engineClient(), req)
	return err
}

func (w worker) start(t *testing.T) *process {
	t.Helper()
	settings, err := json.Marshal(w)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), role+"="+engineRole, workerSettings+"="+string(settings))
	return startProcess(t, cmd)
}

// api does jobs, at most slots at a time, and refuses others. It notes what it did.
type api struct {
	address string
	server  *http.Server

	mu                        sync.Mutex
	attempts, inside, refused int
	busy                      time.Duration
	first, last               time.Time
	// done counts each job, and by the jobs of each worker.
	done, by map[string]int
}

func startAPI(t *testing.T) *api {
	t.Helper()
	a := &api{address: program.Address(t), done: map[string]int{}, by: map[string]int{}}
	a.open(t)
	t.Cleanup(a.close)
	return a
}

func (a *api) open(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", a.address)
	require.NoError(t, err)
	a.server = &http.Server{Handler: a}
	go func() { _ = a.server.Serve(l) }()
}

func (a *api) close() { _ = a.server.Close() }

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	a.mu.Lock()
	if a.attempts++; a.first.IsZero() {
		a.first = began
	}
	if a.inside >= slots {
		a.refused++
		a.mu.Unlock()
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	a.inside++
	a.mu.Unlock()
	time.Sleep(service)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inside--
	if r.Context().Err() != nil {
		return // the caller was killed, or the API was
	}
	a.last = time.Now()
	a.busy += a.last.Sub(began)
	a.done[strings.TrimPrefix(r.URL.Path, "/")]++
	a.by[r.Header.Get("Worker")]++
}

// count is how many jobs were done, and when the last request ended that was served.
func (a *api) count() (int, time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.done), a.last
}

// engineRun is a run of all jobs.
type engineRun struct {
	engine  engine
	workers int
	jobs    int
	// recipe: the workers have no limiter, and do as the engine's documentation advises.
	recipe bool
	// attempts are those that the engine has for each job.
	attempts int
	// fault happens once a third of the jobs is done. It may be nil.
	fault func(t *testing.T, a *api, first *process)
	// orphans: the fault leaves jobs without a worker.
	orphans bool
}

// run does the jobs, requires that none is lost, and returns the cost.
func (r *engineRun) run(t *testing.T) cost {
	t.Helper()
	a := startAPI(t)
	r.engine.clear(t)
	r.engine.insert(t, r.jobs, r.attempts)
	var all []*process
	for range r.workers {
		all = append(all, r.start(t, a, len(all)))
	}
	if r.fault != nil {
		eventually(t, func() bool { n, _ := a.count(); return n > r.jobs/3 }, "the jobs do not begin")
		r.fault(t, a, all[0])
	}
	aged := 0
	eventually(t, func() bool {
		time.Sleep(50 * time.Millisecond)
		open := r.engine.open()
		if _, last := a.count(); r.orphans && aged == 0 && open > 0 && time.Since(last) > amount(4*time.Second, 2*time.Second) {
			// The engine waits for a minute, or an hour, before it takes a job for an orphan. A worker
			// that starts looks for orphans at once.
			stopAll(all)
			aged = r.engine.age(t)
			all = append(all, r.start(t, a, len(all)))
		}
		return open == 0
	}, "jobs are left")
	stopAll(all)
	return r.cost(t, a, aged)
}

func stopAll(all []*process) {
	var ends sync.WaitGroup
	for _, p := range all {
		ends.Go(p.stop)
	}
	ends.Wait()
}

func (r *engineRun) start(t *testing.T, a *api, number int) *process {
	t.Helper()
	w := r.engine.worker()
	w.API, w.Name, w.Recipe, w.Jobs = a.address, fmt.Sprint(number), r.recipe, heldJobs/r.workers
	return w.start(t)
}

// cost requires what must hold on every machine, and logs the figures.
func (r *engineRun) cost(t *testing.T, a *api, aged int) cost {
	t.Helper()
	done, dead, failures := r.engine.tally(t)
	a.mu.Lock()
	defer a.mu.Unlock()
	twice := 0
	for _, n := range a.done {
		if n > 1 {
			twice++
		}
	}
	got := cost{
		span:     ratio(a.last.Sub(a.first), a.busy/time.Duration(slots)),
		attempts: float64(a.attempts) / float64(r.jobs),
	}
	figures.log(t, "%v; %d of %d done, %d twice, %d given up; %d refused, %d failures of the engine, %d jobs of crashes; by worker %v",
		got, len(a.done), r.jobs, twice, dead, a.refused, failures, aged, a.by)
	require.Len(t, a.done, r.jobs, "lost")
	require.Equal(t, r.jobs, done)
	require.Zero(t, dead)
	if !r.recipe {
		assert.LessOrEqual(t, failures, aged, "a refusal costs no attempt of the engine, a crash one")
	}
	if r.fault == nil {
		assert.Zero(t, twice)
	}
	return got
}

// testEngine runs the jobs of an engine with and without faults, and by the engine's own recipe.
func testEngine(t *testing.T, e engine) {
	whole := t // a server that restarts outlives the run
	for _, c := range []struct {
		name string
		engineRun
		most cost
	}{
		{"one worker", engineRun{workers: 1, jobs: engineJobs}, cost{span: 1.10, attempts: 1.03}},
		{"three workers", engineRun{workers: 3, jobs: engineJobs}, cost{span: 1.20, attempts: 1.10}},
		{"the engine's own recipe", engineRun{workers: 1, jobs: faultJobs, recipe: true}, cost{}},
		{"a worker is killed", engineRun{workers: 3, jobs: faultJobs, orphans: true, fault: func(_ *testing.T, _ *api, first *process) { first.kill() }}, cost{}},
		{"the server restarts", engineRun{workers: 3, jobs: faultJobs, orphans: true, fault: func(*testing.T, *api, *process) { e.restart(whole) }}, cost{}},
		{"the API is down, on the last attempt", engineRun{workers: 3, jobs: faultJobs, attempts: 1, fault: func(t *testing.T, a *api, _ *process) {
			a.close()
			time.Sleep(amount(10*time.Second, time.Second))
			a.open(t)
		}}, cost{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			attempt(t, func(t *testing.T) bool {
				c.engine = e
				got := c.run(t)
				return c.most == cost{} || got.within(amount(c.most, cost{span: noise * c.most.span, attempts: c.most.attempts + strays}))
			})
		})
	}
}
