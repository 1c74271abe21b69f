package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
)

const (
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
	// start starts the server, also once more after stop.
	start(t *testing.T)
	stop()
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
func runEngineWorker(settings string) {
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	var w worker
	check(json.Unmarshal([]byte(settings), &w))
	l, err := aimd.New(aimd.Config{})
	check(err)
	stop, err := map[string]func(*aimd.Limiter) (stop func(), err error){"asynq": w.asynq, "river": w.river}[w.Engine](l)
	check(err)
	_, _ = io.Copy(io.Discard, os.Stdin)
	stop()
}

// engineClient keeps a connection for each job.
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
	return exchange(engineClient(), req)
}

func (w worker) start(t *testing.T) *process {
	t.Helper()
	settings, err := json.Marshal(w)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), engineWorker+"="+string(settings))
	return startProcess(t, cmd)
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
	fault func(t *testing.T, a *backend, first *process)
	// orphans: the fault leaves jobs without a worker.
	orphans bool
}

// run does the jobs, requires that none is lost, and returns the cost.
func (r *engineRun) run(t *testing.T) cost {
	t.Helper()
	a := (&backend{slots: slots, delay: service}).serve(t)
	r.engine.clear(t)
	r.engine.insert(t, r.jobs, r.attempts)
	var all []*process
	for range r.workers {
		all = append(all, r.start(t, a, len(all)))
	}
	if r.fault != nil {
		eventually(t, func() bool { n, _ := a.paths(); return n > r.jobs/3 }, "the jobs do not begin")
		r.fault(t, a, all[0])
	}
	aged := 0
	eventually(t, func() bool {
		time.Sleep(50 * time.Millisecond)
		open := r.engine.open()
		if _, last := a.paths(); r.orphans && aged == 0 && open > 0 && time.Since(last) > amount(4*time.Second, 2*time.Second) {
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

func (r *engineRun) start(t *testing.T, a *backend, number int) *process {
	t.Helper()
	w := r.engine.worker()
	w.API, w.Name, w.Recipe, w.Jobs = a.address, fmt.Sprint(number), r.recipe, heldJobs/r.workers
	return w.start(t)
}

// cost requires what must hold on every machine, and logs the figures.
func (r *engineRun) cost(t *testing.T, a *backend, aged int) cost {
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
		attempts: float64(a.requests) / float64(r.jobs),
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
		{"a worker is killed", engineRun{workers: 3, jobs: faultJobs, orphans: true, fault: func(_ *testing.T, _ *backend, first *process) { first.kill() }}, cost{}},
		{"the server restarts", engineRun{workers: 3, jobs: faultJobs, orphans: true, fault: func(*testing.T, *backend, *process) {
			e.stop()
			time.Sleep(amount(time.Second, 300*time.Millisecond))
			e.start(whole)
		}}, cost{}},
		{"the API is down, on the last attempt", engineRun{workers: 3, jobs: faultJobs, attempts: 1, fault: func(t *testing.T, a *backend, _ *process) {
			a.close()
			time.Sleep(amount(10*time.Second, time.Second))
			require.NoError(t, a.open())
		}}, cost{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			attempt(t, func(t *testing.T) bool {
				c.engine = e
				got := c.run(t)
				return c.most == cost{} || got.within(c.most.eased())
			})
		})
	}
}
