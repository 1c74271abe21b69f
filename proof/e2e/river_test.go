package e2e

import (
	"context"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/riverlimit"
	"github.com/aimd-go/aimd/proof/e2e/internal/program"
)

// postgres is river on a PostgreSQL of its own.
type postgres struct {
	address string
	data    string
	pool    *pgxpool.Pool
}

func startPostgres(t *testing.T) *postgres {
	t.Helper()
	p := newPostgres(t)
	p.start(t)
	m, err := rivermigrate.New(riverpgxv5.New(p.pool), &rivermigrate.Config{Logger: quiet})
	require.NoError(t, err)
	_, err = m.Migrate(t.Context(), rivermigrate.DirectionUp, nil)
	require.NoError(t, err)
	return p
}

// newPostgres makes a database. The user sharer has to have a password.
func newPostgres(t *testing.T) *postgres {
	t.Helper()
	p := &postgres{address: program.Address(t), data: filepath.Join(t.TempDir(), "data")}
	require.NoError(t, os.Mkdir(p.data, 0o700))
	if os.Getuid() == 0 {
		out, err := exec.Command("chown", "postgres", p.data).CombinedOutput()
		require.NoError(t, err, "Debian's package postgresql makes the user: %s", out)
		for dir := filepath.Dir(p.data); dir != os.TempDir(); dir = filepath.Dir(dir) {
			require.NoError(t, os.Chmod(dir, 0o711))
		}
	}
	initdb := asPostgres(program.Path(t, "initdb", "postgresql"), "-D", p.data, "-A", "trust", "-U", "e2e", "-E", "UTF8", "--locale=C", "--no-sync")
	out, err := exec.Command(initdb[0], initdb[1:]...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	hba, err := os.ReadFile(filepath.Join(p.data, "pg_hba.conf"))
	require.NoError(t, err)
	hba = append([]byte("host all sharer 127.0.0.1/32 scram-sha-256\n"), hba...)
	require.NoError(t, os.WriteFile(filepath.Join(p.data, "pg_hba.conf"), hba, 0o600))
	return p
}

// start starts the server, also after it was killed.
func (p *postgres) start(t *testing.T) *process {
	t.Helper()
	_, port, _ := net.SplitHostPort(p.address)
	// INT does not wait for clients.
	server := startProcess(t, server("INT", asPostgres(program.Path(t, "postgres", "postgresql"),
		"-D", p.data, "-p", port, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=")...)).listening(t, p.address)
	if p.pool == nil {
		var err error
		p.pool, err = pgxpool.New(t.Context(), p.url())
		require.NoError(t, err)
		t.Cleanup(p.pool.Close)
	}
	eventually(t, func() bool { return p.pool.Ping(t.Context()) == nil }, "PostgreSQL does not answer")
	return server
}

var quiet = slog.New(slog.DiscardHandler)

// asPostgres is a command as another user if this is root, as whom PostgreSQL refuses to run.
func asPostgres(command ...string) []string {
	if os.Getuid() != 0 {
		return command
	}
	return append([]string{"setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"}, command...)
}

func (p *postgres) url() string { return p.as("e2e") }

func (p *postgres) as(user string) string {
	return "postgres://" + user + "@" + p.address + "/postgres?sslmode=disable"
}

// riverJob is the arguments of a job.
type riverJob struct {
	Number string `json:"number"`
}

func (riverJob) Kind() string { return "job" }

func (p *postgres) insert(t *testing.T, n int) {
	t.Helper()
	c, err := river.NewClient(riverpgxv5.New(p.pool), &river.Config{Logger: quiet})
	require.NoError(t, err)
	var all []river.InsertManyParams
	for i := range n {
		all = append(all, river.InsertManyParams{Args: riverJob{strconv.Itoa(i)}})
	}
	_, err = c.InsertManyFast(t.Context(), all)
	require.NoError(t, err)
}

func (p *postgres) open() int {
	n := -1
	_ = p.pool.QueryRow(context.Background(), `SELECT count(*) FROM river_job WHERE finalized_at IS NULL`).Scan(&n)
	return n
}

func (p *postgres) age(t *testing.T) int {
	t.Helper()
	done, err := p.pool.Exec(t.Context(), `UPDATE river_job SET attempted_at = attempted_at - interval '2 hours' WHERE state = 'running'`)
	require.NoError(t, err)
	// Only a leader looks for orphans, and the dead one's term lasts for 15 seconds.
	_, err = p.pool.Exec(t.Context(), `DELETE FROM river_leader`)
	require.NoError(t, err)
	return int(done.RowsAffected())
}

// full is by a trigger that says what PostgreSQL says of a full disk.
func (p *postgres) full(t *testing.T) (mended func()) {
	_, err := p.pool.Exec(t.Context(), `
		CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
		CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE OR DELETE ON river_job FOR EACH STATEMENT EXECUTE FUNCTION full_disk()`)
	require.NoError(t, err)
	return func() {
		_, err := p.pool.Exec(t.Context(), `DROP TRIGGER full_disk ON river_job`)
		require.NoError(t, err)
	}
}

func (p *postgres) tally(t *testing.T) (done, dead, failures int) {
	t.Helper()
	require.NoError(t, p.pool.QueryRow(t.Context(),
		`SELECT count(*) FILTER (WHERE state = 'completed'), count(*) FILTER (WHERE state <> 'completed'), sum(attempt - 1) FROM river_job`).
		Scan(&done, &dead, &failures))
	return done, dead, failures
}

func (p *postgres) worker() worker { return worker{Engine: "river", Server: p.url()} }

// riverWorker works the jobs of a worker.
type riverWorker struct {
	river.WorkerDefaults[riverJob]
	worker *worker
}

func (r *riverWorker) Work(ctx context.Context, j *river.Job[riverJob]) error {
	return r.worker.do(ctx, j.Args.Number)
}

// river starts a worker of river.
func (w *worker) river(l *aimd.Limiter) (stop func(), err error) {
	pool, err := pgxpool.New(context.Background(), w.Server)
	if err != nil {
		return nil, err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &riverWorker{worker: w})
	cfg := &river.Config{Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: heldJobs / engineWorkers}}, Workers: workers}
	riverlimit.Limit(cfg, l)
	c, err := river.NewClient(riverpgxv5.New(pool), cfg)
	if err != nil {
		return nil, err
	}
	return func() { _ = c.Stop(context.Background()) }, c.Start(context.Background())
}
