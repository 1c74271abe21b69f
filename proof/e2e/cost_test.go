package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/contrib/pgshare"
	"github.com/aimd-go/aimd/contrib/redisshare"
	"github.com/aimd-go/aimd/share"
)

// row and message are as long as those of a fleet at work.
const (
	row     = `{"w":1,"q":12,"f":3.0412,"s":15.2031,"k":512,"a":123456,"r":1234,"t":24691200000000,"u":1234000000,"o":{"w":90.51,"s":90.51,"t":200000000}}`
	message = `{"l":"ABCDEFGHIJKL","w":90.51,"s":90.51,"t":200000000,"n":1000,"e":1000000000,"c":123456.21,"r":0.4512,"at":1795869191000000000,"ls":{"h":0.0905,"e":0.0905},"lr":{"h":0,"e":0},"la":{"h":0,"e":0}}`
)

// populate calls the store as a fleet of n does, until the function ends it.
func populate(t *testing.T, n int, s share.Store) (end func()) {
	ctx, cancel := context.WithCancel(t.Context())
	every := max(100*time.Millisecond, time.Duration(n)*time.Millisecond)
	var all sync.WaitGroup
	repeat := func(every time.Duration, call func() error) {
		all.Go(func() {
			time.Sleep(rand.N(every))
			for tick := time.NewTicker(every); ctx.Err() == nil; <-tick.C {
				if err := call(); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	id := func(i int) string { return fmt.Sprintf("process%05d", i) }
	first, err := s.Report(ctx, id(0), []byte(row), time.Hour)
	require.NoError(t, err)
	for i := range n {
		repeat(every, func() error {
			_, err := s.Report(ctx, id(i), []byte(row), time.Minute)
			return err
		})
	}
	repeat(every*2/5, func() error {
		_, err := s.Lead(ctx, id(0), first.Run, nil, time.Hour)
		if err == nil {
			_, err = s.Lead(ctx, id(0), first.Run, []byte(message), time.Hour)
		}
		return err
	})
	return func() { cancel(); all.Wait() }
}

// rates are counters of a server over a time, each second.
func rates(t *testing.T, read func() map[string]float64) (rates map[string]float64) {
	over := amount(20*time.Second, 4*time.Second)
	time.Sleep(3 * time.Second)
	before, began := read(), time.Now()
	time.Sleep(over)
	rates = read()
	for name, was := range before {
		rates[name] = (rates[name] - was) / time.Since(began).Seconds()
	}
	return rates
}

// redisRates are what a Redis did for scripts, the bytes to it and back, and the time of its processor, each second.
func redisRates(t *testing.T, r *redisServer) map[string]float64 {
	return rates(t, func() map[string]float64 {
		info, err := r.redis.Info(t.Context(), "stats", "cpu", "commandstats").Result()
		require.NoError(t, err)
		number := func(pattern string) float64 {
			m := regexp.MustCompile(pattern).FindStringSubmatch(info)
			require.NotNil(t, m, pattern)
			x, err := strconv.ParseFloat(m[1], 64)
			require.NoError(t, err)
			return x
		}
		return map[string]float64{
			"calls": number(`cmdstat_evalsha:calls=(\d+)`), "us": number(`cmdstat_evalsha:calls=\d+,usec=(\d+)`),
			"in": number(`total_net_input_bytes:(\d+)`), "out": number(`total_net_output_bytes:(\d+)`),
			"cpu": number(`used_cpu_user:([\d.]+)`) + number(`used_cpu_sys:([\d.]+)`),
		}
	})
}

// What a fleet costs its store: the commands a second that docs/fleet.md names, and at most 1 KB for each process.
func TestWhatAFleetCostsItsStore(t *testing.T) {
	for _, n := range []int{30, 1000} {
		t.Run(fmt.Sprint("redis ", n), func(t *testing.T) {
			r := startRedis(t)
			s := redisshare.Store{Client: client(t, redis.NewClient(&redis.Options{Addr: r.address, ContextTimeoutEnabled: true})), Name: "x"}
			end := populate(t, n, s)
			got := redisRates(t, r)
			rows, err := r.redis.MemoryUsage(t.Context(), "aimd:{x}:rows", 0).Result()
			require.NoError(t, err)
			end()
			figures.log(t, "%.0f calls a second, %.0f us each; %.0f KB/s in, %.0f KB/s out; %.1f%% of a core; %d bytes a process",
				got["calls"], got["us"]/got["calls"], got["in"]/1e3, got["out"]/1e3, 100*got["cpu"], rows/int64(n))
			require.LessOrEqual(t, got["calls"], 1200.0)
			require.LessOrEqual(t, rows/int64(n), int64(1000))
		})
		t.Run(fmt.Sprint("postgres ", n), func(t *testing.T) {
			p := ownPostgres(t)
			end := populate(t, n, pgshare.Store{DB: pool(t, p.url()+"&pool_max_conns=10"), Name: "x"})
			got := rates(t, func() map[string]float64 {
				var commits, wal float64
				require.NoError(t, p.pool.QueryRow(t.Context(), `SELECT d.xact_commit::float8, w.wal_bytes::float8
					FROM pg_stat_database d, pg_stat_wal w WHERE d.datname = current_database()`).Scan(&commits, &wal))
				return map[string]float64{"commits": commits, "wal": wal, "cpu": p.cpu(t)}
			})
			var size int
			require.NoError(t, p.pool.QueryRow(t.Context(), `SELECT pg_total_relation_size('aimd_share')`).Scan(&size))
			end()
			figures.log(t, "%.0f statements a second; %.0f KB/s of WAL; %.1f%% of a core; %d KB of table and index",
				got["commits"], got["wal"]/1e3, 100*got["cpu"], size/1000)
			require.LessOrEqual(t, got["commits"], 1200.0)
		})
	}
}

// cpu is the time that the server and its children took, in seconds.
func (p *postgres) cpu(t *testing.T) (seconds float64) {
	pid, err := os.ReadFile(filepath.Join(p.data, "postmaster.pid"))
	require.NoError(t, err)
	master, _, _ := strings.Cut(string(pid), "\n")
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	for _, path := range stats {
		text, _ := os.ReadFile(path) // it may have ended
		_, rest, _ := strings.Cut(string(text), ") ")
		if f := strings.Fields(rest); len(f) > 14 && (f[1] == master || filepath.Base(filepath.Dir(path)) == master) {
			user, _ := strconv.ParseFloat(f[11], 64)
			system, _ := strconv.ParseFloat(f[12], 64)
			seconds += (user + system) / 100
		}
	}
	return seconds
}
