package e2e

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/contrib/pgshare"
	"github.com/aimd-go/aimd/contrib/redisshare"
	"github.com/aimd-go/aimd/internal/sharetest"
	"github.com/aimd-go/aimd/proof/e2e/internal/program"
	"github.com/aimd-go/aimd/share"
)

// valkey, in the environment, is the path of a valkey-server, which Debian has since its release 13 and among the backports of 12.
const valkey = "E2E_VALKEY"

// client is a client of a Redis that the test closes.
func client[C redis.UniversalClient](t *testing.T, c C) C {
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func pool(t *testing.T, url string) *pgxpool.Pool {
	p, err := pgxpool.New(context.Background(), url)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// ownPostgres is a PostgreSQL without river.
func ownPostgres(t *testing.T) *postgres {
	p := newPostgres(t)
	p.start(t)
	return p
}

// Each store does what package share wants of it.
func TestStoresOfAFleet(t *testing.T) {
	conforms := func(name string, store func(t *testing.T) share.Store) {
		t.Run(name, func(t *testing.T) {
			beside(t)
			sharetest.Conforms(t, store(t), time.Sleep)
		})
	}
	conforms("redis", func(t *testing.T) share.Store {
		r := startRedis(t)
		return redisshare.Store{Client: client(t, redis.NewClient(&redis.Options{Addr: r.address})), Name: "a fleet/of: mine"}
	})
	conforms("redis of asynq", func(t *testing.T) share.Store {
		c := asynq.RedisClientOpt{Addr: startRedis(t).address}.MakeRedisClient().(redis.UniversalClient)
		return redisshare.Store{Client: client(t, c), Name: "x"}
	})
	conforms("redis with a user", func(t *testing.T) share.Store {
		r := startRedis(t)
		rule := []any{"acl", "setuser", "sharer", "on", ">right"}
		for word := range strings.FieldsSeq(redisshare.Access) {
			rule = append(rule, word)
		}
		require.NoError(t, r.redis.Do(t.Context(), rule...).Err())
		c := redis.NewClient(&redis.Options{Addr: r.address, Username: "sharer", Password: "right"})
		return redisshare.Store{Client: client(t, c), Name: "x"}
	})
	conforms("node of a cluster", func(t *testing.T) share.Store {
		address := startNode(t)
		return redisshare.Store{Client: client(t, redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{address}})), Name: "x"}
	})
	conforms("valkey", func(t *testing.T) share.Store {
		path, err := exec.LookPath(cmp.Or(os.Getenv(valkey), "valkey-server"))
		if err != nil {
			t.Skipf("NOT TESTED on Valkey: %v; install valkey-server, or let %s name one", err, valkey)
		}
		address := program.Address(t)
		redisProcess(t, path, address, t.TempDir())
		return redisshare.Store{Client: client(t, redis.NewClient(&redis.Options{Addr: address})), Name: "x"}
	})
	conforms("postgres", func(t *testing.T) share.Store {
		return pgshare.Store{DB: pool(t, ownPostgres(t).url()), Name: "a fleet/of: mine {1}"}
	})
}

// startNode starts a node of a cluster that has all slots, and returns its address.
func startNode(t *testing.T) string {
	address := program.Address(t)
	redisProcess(t, program.Path(t, "redis-server", "redis-server"), address, t.TempDir(),
		"--cluster-enabled", "yes", "--cluster-port", port2(t))
	c := client(t, redis.NewClient(&redis.Options{Addr: address}))
	require.NoError(t, c.ClusterAddSlotsRange(t.Context(), 0, 16383).Err())
	eventually(t, func() bool {
		state, _ := c.ClusterInfo(t.Context()).Result()
		return strings.Contains(state, "cluster_state:ok")
	}, "the cluster does not begin")
	return address
}

func port2(t *testing.T) string {
	_, port, err := net.SplitHostPort(program.Address(t))
	require.NoError(t, err)
	return port
}

// What a store refuses is share.ErrRefused, and the error says what is wanted. What passes by itself is not.
func TestStoresThatRefuse(t *testing.T) {
	beside(t)
	r, p := startRedis(t), ownPostgres(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	refused := func(t *testing.T, s share.Store, words ...string) {
		t.Helper()
		_, err := s.Report(ctx, "aaaaaaaaaaaa", []byte("{}"), time.Minute)
		require.ErrorIs(t, err, share.ErrRefused)
		for _, w := range words {
			assert.ErrorContains(t, err, w)
		}
		assert.NotContains(t, err.Error(), "secret")
	}
	for name, brace := range map[string]string{"open": "a{b", "closed": "a}b", "none": "", "long": strings.Repeat("x", 201)} {
		t.Run("a name: "+name, func(t *testing.T) {
			refused(t, redisshare.Store{Client: r.redis, Name: brace}, "Name", fmt.Sprintf("%q", brace), "1 to 200 bytes without a brace")
		})
	}
	t.Run("no client", func(t *testing.T) {
		refused(t, redisshare.Store{Name: "x"}, "Client", "nil", "a client of Redis")
		refused(t, pgshare.Store{Name: "x"}, "DB", "nil", "*pgxpool.Pool")
		refused(t, pgshare.Store{DB: p.pool, Name: "a\x00b"}, "Name", "UTF-8 without a zero byte")
	})
	with := func(t *testing.T, o redis.Options) redisshare.Store {
		o.Addr = r.address
		return redisshare.Store{Client: client(t, redis.NewClient(&o)), Name: "x"}
	}
	user := func(t *testing.T, name string, rule ...any) redisshare.Store {
		require.NoError(t, r.redis.Do(ctx, append([]any{"acl", "setuser", name, "on", ">secret"}, rule...)...).Err())
		return with(t, redis.Options{Username: name, Password: "secret"})
	}
	t.Run("redis: a wrong password", func(t *testing.T) {
		refused(t, with(t, redis.Options{Username: "nobody", Password: "secret"}), "WRONGPASS", "the user and the password")
	})
	t.Run("redis: no scripts", func(t *testing.T) {
		refused(t, user(t, "noscript", "~*", "+@all", "-eval", "-evalsha"), "NOPERM", redisshare.Access)
	})
	t.Run("redis: other keys", func(t *testing.T) {
		refused(t, user(t, "otherkeys", "~other:*", "+@all"), "NOPERM", redisshare.Access)
	})
	t.Run("redis: no hashes", func(t *testing.T) {
		refused(t, user(t, "nohash", "~*", "+@all", "-hset"), redisshare.Access)
	})
	t.Run("redis: a replica", func(t *testing.T) {
		replica := startRedis(t)
		host, port, err := net.SplitHostPort(r.address)
		require.NoError(t, err)
		require.NoError(t, replica.redis.Do(ctx, "replicaof", host, port).Err())
		refused(t, redisshare.Store{Client: client(t, redis.NewClient(&redis.Options{Addr: replica.address, MaxRetries: -1})), Name: "x"}, "READONLY", "the primary")
	})
	t.Run("redis: a key of another type", func(t *testing.T) {
		require.NoError(t, r.redis.Set(ctx, "aimd:{taken}:rows", 1, 0).Err())
		refused(t, redisshare.Store{Client: r.redis, Name: "taken"}, "WRONGTYPE", "a Name")
	})
	t.Run("redis: a server of something else", func(t *testing.T) {
		api := (&backend{}).serve(t)
		away(t, redisshare.Store{Client: client(t, redis.NewClient(&redis.Options{Addr: api.address})), Name: "x"})
	})
	t.Run("postgres: a wrong password", func(t *testing.T) {
		_, err := p.pool.Exec(ctx, "CREATE ROLE sharer LOGIN PASSWORD 'right'")
		require.NoError(t, err)
		refused(t, pgshare.Store{DB: pool(t, p.as("sharer:secret")), Name: "x"}, "28P01", "the user and the password")
		refused(t, pgshare.Store{DB: pool(t, p.as("sharer:right")), Name: "x"}, "42501", "pgshare.Table makes")
		_, err = p.pool.Exec(ctx, pgshare.Table+"; GRANT SELECT, INSERT, UPDATE, DELETE ON aimd_share TO sharer")
		require.NoError(t, err)
		sharetest.Conforms(t, pgshare.Store{DB: pool(t, p.as("sharer:right")), Name: "x"}, time.Sleep)
	})
	t.Run("postgres: read only", func(t *testing.T) {
		readOnly := p.url() + "&default_transaction_read_only=on"
		refused(t, pgshare.Store{DB: pool(t, readOnly), Name: "x"}, "25006", "the primary")
	})
	t.Run("postgres: no database", func(t *testing.T) {
		refused(t, pgshare.Store{DB: pool(t, strings.Replace(p.url(), "/postgres?", "/none?", 1)), Name: "x"}, "3D000")
	})
}

func away(t *testing.T, s share.Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err := s.Report(ctx, "aaaaaaaaaaaa", []byte("{}"), time.Minute)
	require.Error(t, err)
	require.NotErrorIs(t, err, share.ErrRefused)
}

// A store that cannot be reached, one that loads its data, and one that hangs are away. No call waits longer than its context,
// whatever the client does.
func TestStoresThatAreAway(t *testing.T) {
	beside(t)
	nobody := program.Address(t)
	away(t, redisshare.Store{Client: client(t, redis.NewClient(&redis.Options{Addr: nobody})), Name: "x"})
	away(t, pgshare.Store{DB: pool(t, (&postgres{address: nobody}).url()), Name: "x"})

	for _, text := range []string{"OOM command not allowed", "MISCONF Errors writing to the AOF file", "NOREPLICAS Not enough good replicas to write"} {
		for _, before := range []string{"", "ERR Error running script (call to f_0): @user_script:8: @user_script: 8: -"} { // Redis 5 and 6
			says := redis.Options{Addr: saying(t, before+text), MaxRetries: -1, Protocol: 2, DisableIdentity: true}
			away(t, redisshare.Store{Client: client(t, redis.NewClient(&says)), Name: "x"})
		}
	}

	address := program.Address(t)
	server := redisProcess(t, program.Path(t, "redis-server", "redis-server"), address, t.TempDir())
	s := redisshare.Store{Client: client(t, redis.NewClient(&redis.Options{Addr: address, ReadTimeout: time.Hour})), Name: "x"}
	_, err := s.Report(t.Context(), "aaaaaaaaaaaa", []byte("{}"), time.Minute)
	require.NoError(t, err)
	server.signal(t, syscall.SIGSTOP)
	away(t, s)
	server.signal(t, syscall.SIGCONT)
	_, err = s.Report(t.Context(), "aaaaaaaaaaaa", []byte("{}"), time.Minute)
	require.NoError(t, err)
}

// saying is the address of a server that answers each command with an error of this text.
func saying(t *testing.T, text string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			go func() {
				defer c.Close()
				for buffer := make([]byte, 64<<10); ; {
					if _, err := c.Read(buffer); err != nil {
						return
					}
					_, _ = fmt.Fprintf(c, "-%s\r\n", text)
				}
			}()
		}
	}()
	return l.Addr().String()
}
