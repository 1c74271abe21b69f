package e2e

import (
	"context"
	"encoding/json"
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
	// engineWorkers are the worker processes, each with a limiter of its own. heldJobs is how many jobs all workers
	// have at a time: enough for all slots, and for the time until the engine brings the next ones.
	engineWorkers = 3
	heldJobs      = 3 * slots
)

// engineJobs are the jobs of a run.
var engineJobs = amount(2000, 320)

// engine is a job engine on its server. Its jobs are numbers.
type engine interface {
	// insert inserts the jobs 0 to n-1.
	insert(t *testing.T, n int)
	// open counts the jobs that have not come to an end.
	open() int
	// age makes the jobs of crashed workers old enough to be started again, and counts them.
	age(t *testing.T) int
	// full fills the disk of the engine: it refuses each write, and mended lets them pass again.
	full(t *testing.T) (mended func())
	// tally counts the jobs that were done and those given up, and the attempts of the engine that
	// were no success.
	tally(t *testing.T) (done, dead, failures int)
	// worker is a worker without a name.
	worker() worker
}

// worker is a process with a limiter of its own.
type worker struct{ Engine, Server, API string }

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

// Once a third of the jobs is done one of three worker processes is killed, kill -9, or the disk of the engine is full
// for a while: no job is lost, and only the jobs that were held then cost an attempt of the engine.
func TestEngines(t *testing.T) {
	engines := map[string]func(*testing.T) engine{
		"asynq": func(t *testing.T) engine { return startRedis(t) }, "river": func(t *testing.T) engine { return startPostgres(t) },
	}
	accidents := map[string]func(*testing.T, engine, *process){
		"killed": func(_ *testing.T, _ engine, p *process) { p.kill() },
		"full": func(t *testing.T, e engine, _ *process) {
			mended := e.full(t)
			time.Sleep(5 * time.Second)
			mended()
		},
	}
	for name, start := range engines {
		for what, accident := range accidents {
			t.Run(name+" "+what, func(t *testing.T) {
				beside(t)
				e, api := start(t), (&backend{slots: slots, delay: service}).serve(t)
				e.insert(t, engineJobs)
				w := e.worker()
				w.API = api.address
				var all []*process
				for range engineWorkers {
					all = append(all, w.start(t))
				}
				eventually(t, func() bool { n, _ := api.paths(); return n > engineJobs/3 }, "the jobs do not begin")
				accident(t, e, all[0])
				aged := 0
				eventually(t, func() bool {
					time.Sleep(50 * time.Millisecond)
					open := e.open()
					if _, last := api.paths(); aged == 0 && open > 0 && time.Since(last) > amount(4*time.Second, 2*time.Second) {
						// The engine waits for a minute, or an hour, before it takes a job for an orphan. A worker
						// that starts looks for orphans at once.
						stopAll(all)
						aged = e.age(t)
						all = append(all, w.start(t))
					}
					return open == 0
				}, "jobs are left")
				stopAll(all)
				done, dead, failures := e.tally(t)
				api.mu.Lock()
				defer api.mu.Unlock()
				twice := 0
				for _, n := range api.done {
					twice += n - 1
				}
				figures.log(t, "%.3f attempts each; %d of %d done, %d twice; %d refused, %d failures of the engine, %d jobs were held",
					float64(api.requests)/float64(engineJobs), len(api.done), engineJobs, twice, api.refused, failures, aged)
				require.Len(t, api.done, engineJobs, "lost")
				require.Equal(t, engineJobs, done)
				require.Zero(t, dead)
				assert.LessOrEqual(t, failures, aged, "a refusal costs no attempt of the engine, a crash one")
				assert.LessOrEqual(t, twice, aged, "only what was held then may be done twice")
			})
		}
	}
}

func stopAll(all []*process) {
	var ends sync.WaitGroup
	for _, p := range all {
		ends.Go(p.stop)
	}
	ends.Wait()
}
