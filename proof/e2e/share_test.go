package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/pgshare"
	"github.com/aimd-go/aimd/contrib/redisshare"
	"github.com/aimd-go/aimd/proof/e2e/internal/program"
	"github.com/aimd-go/aimd/share"
)

const (
	// sharers are processes with one window, at a service of so many slots. Each has some operations waiting.
	sharers, sharedSlots, sharedService, sharedWaiters = 30, 90, 200 * time.Millisecond, 12
	// slice is the time of which Jain's index is.
	slice = 5 * time.Second
)

// errands are tasks that processes fetch and do.
type errands struct {
	mu    sync.Mutex
	began time.Time
	left  []int
	// held are the tasks of a process that are not done.
	held map[int]map[int]bool
	done map[int]int
	// by is what each of the processes did in each slice, and empty when the last task was fetched.
	by        [][]float64
	processes int
	empty     time.Duration
}

func newErrands(n, processes int) *errands {
	e := &errands{began: time.Now(), held: map[int]map[int]bool{}, done: map[int]int{}, processes: processes}
	for i := range n {
		e.left = append(e.left, i)
	}
	return e
}

// ServeHTTP hands out tasks: GET /PROCESS. No content: there is none at the moment. Gone: all are done.
func (e *errands) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	process, _ := strconv.Atoi(r.URL.Path[1:])
	e.mu.Lock()
	defer e.mu.Unlock()
	n := min(4, len(e.left))
	switch {
	case n > 0:
	case e.open() == 0:
		w.WriteHeader(http.StatusGone)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
	for _, task := range e.left[:n] {
		fmt.Fprintln(w, task)
		if e.held[process] == nil {
			e.held[process] = map[int]bool{}
		}
		e.held[process][task] = true
	}
	if e.left = e.left[n:]; n > 0 {
		e.empty = time.Since(e.began)
	}
}

// open counts the tasks that are not done.
func (e *errands) open() int {
	n := len(e.left)
	for _, held := range e.held {
		n += len(held)
	}
	return n
}

// work does a task: PUT /PROCESS/TASK.
func (e *errands) work(w http.ResponseWriter, r *http.Request, _ int) {
	_, _ = io.Copy(io.Discard, r.Body)
	time.Sleep(time.Duration(float64(sharedService) * (0.8 + 0.4*rand.Float64())))
	from, name, _ := strings.Cut(r.URL.Path[1:], "/")
	process, _ := strconv.Atoi(from)
	task, _ := strconv.Atoi(name)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done[task]++
	delete(e.held[process], task)
	at := int(time.Since(e.began) / slice)
	for len(e.by) <= at {
		e.by = append(e.by, make([]float64, e.processes))
	}
	e.by[at][process]++
	_, _ = io.WriteString(w, r.URL.Path)
}

// back puts the tasks of processes that died into the queue, and counts them.
func (e *errands) back(dead int) (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for process := range dead {
		for task := range maps.Keys(e.held[process]) {
			e.left = append(e.left, task)
			n++
		}
		delete(e.held, process)
	}
	return n
}

// errand is the settings of a process that does some.
type errand struct {
	Process                  int
	Store, Server, API, From string
}

// runErrand is the main function of such a process.
func runErrand(settings string) error {
	var e errand
	if err := json.Unmarshal([]byte(settings), &e); err != nil {
		return err
	}
	config := aimd.Config{}
	lim, err := aimd.New(config)
	if e.Store != "" {
		var fleet *share.Fleet
		if fleet, err = share.Join(share.Config{Store: e.store()}); err != nil {
			return err
		}
		defer fleet.Close()
		lim, err = fleet.New(config)
	}
	if err != nil {
		return err
	}
	ctx, tasks := context.Background(), make(chan string)
	var all sync.WaitGroup
	for range sharedWaiters {
		all.Go(func() {
			for task := range tasks {
				_, _ = aimd.Do(ctx, lim, func(ctx context.Context) (struct{}, error) { return struct{}{}, e.do(ctx, task) })
			}
		})
	}
	for more := true; more; {
		more = e.fetch(tasks)
	}
	close(tasks)
	all.Wait()
	return nil
}

func (e *errand) store() share.Store {
	if e.Store == "postgres" {
		config, _ := pgxpool.ParseConfig(e.Server)
		config.MaxConns = 2
		p, _ := pgxpool.NewWithConfig(context.Background(), config)
		return pgshare.Store{DB: p, Name: "e2e"}
	}
	return redisshare.Store{Client: redis.NewClient(&redis.Options{Addr: e.Server, MaxRetries: -1, PoolSize: 2, ContextTimeoutEnabled: true}), Name: "e2e"}
}

func (e *errand) do(ctx context.Context, task string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, fmt.Sprintf("http://%s/%d/%s", e.API, e.Process, task), nil)
	if err != nil {
		return err
	}
	return exchange(engineClient(), req)
}

// fetch fetches tasks; false: there will be no more.
func (e *errand) fetch(tasks chan<- string) bool {
	resp, err := engineClient().Get(fmt.Sprintf("http://%s/%d", e.From, e.Process))
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	for task := range strings.FieldsSeq(string(text)) {
		tasks <- task
	}
	if resp.StatusCode == http.StatusNoContent {
		time.Sleep(20 * time.Millisecond)
	}
	return err == nil && resp.StatusCode != http.StatusGone
}

func (e errand) start(t *testing.T) *process {
	t.Helper()
	settings, err := json.Marshal(e)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), errandRunner+"="+string(settings), "GOMAXPROCS=1")
	return startProcess(t, cmd)
}

// Thirty processes share one window. A third of the way ten of them are killed, kill -9, and at half of it the store, which
// comes back empty. No task is lost or done twice, and the processes have equal parts.
func TestFleetOfOneWindow(t *testing.T) {
	stores := map[string]func(t *testing.T) (address string, kill func(), again func()){
		"": func(*testing.T) (string, func(), func()) { return "", func() {}, func() {} }, // each for itself
		"redis": func(t *testing.T) (string, func(), func()) {
			address := program.Address(t)
			start := func() *process {
				return redisProcess(t, program.Path(t, "redis-server", "redis-server"), address, t.TempDir())
			}
			p := start()
			return address, p.kill, func() { start() }
		},
		"postgres": func(t *testing.T) (string, func(), func()) {
			p := newPostgres(t)
			server := p.start(t)
			return p.url(), server.kill, func() { p.start(t) }
		},
	}
	for name, store := range stores {
		if name == "" && !earnest() {
			continue // a comparison
		}
		t.Run("store "+name, func(t *testing.T) {
			attempt(t, func(t *testing.T) bool { return oneWindow(t, name, store) })
		})
	}
}

func oneWindow(t *testing.T, name string, store func(t *testing.T) (string, func(), func())) (good bool) {
	const killed = sharers / 3
	optimum, outage := amount(45*time.Second, 15*time.Second), amount(10*time.Second, 3*time.Second)
	n := int(optimum/sharedService) * sharedSlots
	server, kill, again := store(t)
	e := newErrands(n, sharers)
	api, all := e.start(t, name, server)
	wait := func(part time.Duration) { time.Sleep(time.Until(e.began.Add(part))) }
	wait(optimum / 3)
	for _, p := range all[:killed] {
		p.kill()
	}
	time.Sleep(2 * sharedService) // what they sent is done
	given := e.back(killed)
	wait(optimum / 2)
	kill()
	wait(optimum/2 + outage)
	again()
	for _, p := range all[killed:] {
		require.NoError(t, p.cmd.Wait(), "%v", &p.output)
	}
	took := time.Since(e.began)

	e.mu.Lock()
	defer e.mu.Unlock()
	e.once(t, n)
	got := cost{ratio(took, optimum), float64(api.requests) / float64(n)}
	least, line := e.fair(int(optimum/3/slice), killed)
	figures.log(t, "%v, %d given back; use and Jain %s", got, given, line)
	return name == "" || got.within(amount(cost{1.2, 1.06}, cost{2, 1.3})) && least >= amount(0.95, 0.8)
}

// start starts the service and the processes, which have a store of that name.
func (e *errands) start(t *testing.T, store, server string) (api *backend, all []*process) {
	api = (&backend{slots: sharedSlots, serves: e.work}).serve(t)
	from := (&backend{serves: func(w http.ResponseWriter, r *http.Request, _ int) { e.ServeHTTP(w, r) }}).serve(t)
	e.began = time.Now()
	for i := range e.processes {
		all = append(all, errand{i, store, server, api.address, from.address}.start(t))
	}
	return api, all
}

// once requires that each of n tasks is done, and none twice.
func (e *errands) once(t *testing.T, n int) {
	require.Len(t, e.done, n, "lost")
	for task, times := range e.done {
		require.Equal(t, 1, times, "task %d", task)
	}
}

// fair is the share of the slots that was used in each slice, while there were tasks, and Jain's index of those that live; least
// is the least index but that of the kill.
func (e *errands) fair(kill, killed int) (least float64, line string) {
	least = 1
	for i, by := range e.by {
		if time.Duration(i+1)*slice > e.empty {
			break
		}
		if i > kill {
			by = by[killed:]
		}
		fair, all := jain(by), 0.0
		for _, n := range by {
			all += n
		}
		line += fmt.Sprintf("%.2f,%.3f ", all*sharedService.Seconds()/slice.Seconds()/sharedSlots, fair)
		if i != kill {
			least = min(least, fair)
		}
	}
	return least, line
}

// Two proxies with one store have the window of one: a service that takes more refuses hardly any.
func TestTwoProxiesShareAWindow(t *testing.T) {
	beside(t)
	const window, n = 8, 400
	r, b := startRedis(t), (&backend{slots: window * 3 / 2, delay: 50 * time.Millisecond}).serve(t)
	var all sync.WaitGroup
	for i := range 2 {
		g := startGuard(t, b.address, "--one", "--max-window", fmt.Sprint(window), "--share", "redis://"+r.address)
		all.Go(func() {
			together(40, n, func(j int) {
				req, err := http.NewRequest(http.MethodPut, fmt.Sprintf("http://%s/%d/%d", g.address, i, j), nil)
				if assert.NoError(t, err) {
					assert.NoError(t, exchange(engineClient(), req))
				}
			})
		})
	}
	all.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	figures.log(t, "%d of %d attempts were refused", b.refused, b.requests)
	require.Len(t, b.done, 2*n)
	require.LessOrEqual(t, b.refused, n/20)
}
