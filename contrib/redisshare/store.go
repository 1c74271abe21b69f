package redisshare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/aimd-go/aimd/setting"
	"github.com/aimd-go/aimd/share"
)

// Store is a share.Store in Redis. Both fields are required. It may be copied, and all goroutines may use it.
type Store struct {
	// Client is a client of the server: a *redis.Client, a *redis.ClusterClient, or what asynq's MakeRedisClient returns.
	Client redis.Scripter
	// Name names the fleet: processes with the same Name share a window. 1 to 200 bytes without a brace, since braces
	// say which node of a cluster has a key.
	Name string
}

var _ share.Store = Store{}

// A row is the time of its end, in microseconds and 16 digits, and the process's text. The keys are the fleet's hash and
// the hash of its rows.
const clock = `
local at = redis.call('TIME')
local now = at[1] * 1000000 + at[2]
local fleet, rows, id = KEYS[1], KEYS[2], ARGV[1]
local function till(lease) return string.format('%016.0f', now + lease) end
`

// ARGV: id, lease in microseconds, row.
var report = redis.NewScript(clock + `
redis.call('HSET', rows, id, till(ARGV[2]) .. ARGV[3])
local f = redis.call('HMGET', fleet, 'leader', 'until', 'run', 'message')
local leader, run = f[1], tonumber(f[3] or 0)
if not leader or tonumber(f[2]) <= now then
  leader, run = id, math.max(run + 1, now)
  redis.call('HSET', fleet, 'leader', id, 'until', till(ARGV[2]), 'run', string.format('%.0f', run))
end
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, 60000 + math.ceil(ARGV[2] / 1000)) end
return {f[4] or '', leader == id and run or 0, now}
`)

// ARGV: id, lease in microseconds, run, message.
var lead = redis.NewScript(clock + `
local f = redis.call('HMGET', fleet, 'leader', 'run')
if f[1] ~= id or f[2] ~= ARGV[3] then return false end
redis.call('HSET', fleet, 'until', till(ARGV[2]))
if ARGV[4] ~= '' then
  redis.call('HSET', fleet, 'message', ARGV[4])
  return {}
end
local all, live = redis.call('HGETALL', rows), {}
for i = 1, #all, 2 do
  if string.sub(all[i + 1], 1, 16) <= till(0) then
    redis.call('HDEL', rows, all[i])
  else
    live[#live + 1], live[#live + 2] = all[i], string.sub(all[i + 1], 17)
  end
end
return live
`)

// ARGV: id.
var leave = redis.NewScript(`
redis.call('HDEL', KEYS[2], ARGV[1])
if redis.call('HGET', KEYS[1], 'leader') == ARGV[1] then redis.call('HDEL', KEYS[1], 'leader') end
return 1
`)

// Report implements share.Store.
func (s Store) Report(ctx context.Context, id string, row []byte, lease time.Duration) (share.Answer, error) {
	v, err := s.call(ctx, report, id, lease.Microseconds(), row)
	if err != nil {
		return share.Answer{}, err
	}
	answer, ok := v.([]any)
	if !ok || len(answer) != 3 {
		return share.Answer{}, fmt.Errorf("redisshare: %v is no answer to a report", v)
	}
	message, _ := answer[0].(string)
	run, _ := answer[1].(int64)
	now, _ := answer[2].(int64)
	return share.Answer{Message: []byte(message), Run: run, Now: time.UnixMicro(now)}, nil
}

// Lead implements share.Store.
func (s Store) Lead(ctx context.Context, id string, run int64, message []byte, lease time.Duration) (map[string][]byte, error) {
	v, err := s.call(ctx, lead, id, lease.Microseconds(), run, message)
	if errors.Is(err, redis.Nil) {
		return nil, share.ErrLost
	}
	if err != nil {
		return nil, err
	}
	answer, _ := v.([]any)
	rows := make(map[string][]byte, len(answer)/2)
	for i := 1; i < len(answer); i += 2 {
		of, _ := answer[i-1].(string)
		row, _ := answer[i].(string)
		rows[of] = []byte(row)
	}
	return rows, nil
}

// Leave implements share.Store.
func (s Store) Leave(ctx context.Context, id string) error {
	_, err := s.call(ctx, leave, id)
	return err
}

// call runs a script. It ends with the context. A client without ContextTimeoutEnabled ignores the context.
func (s Store) call(ctx context.Context, script *redis.Script, args ...any) (any, error) {
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("redisshare: %w: %w", share.ErrRefused, err)
	}
	keys := []string{"aimd:{" + s.Name + "}:fleet", "aimd:{" + s.Name + "}:rows"}
	done := make(chan *redis.Cmd, 1)
	go func() { done <- script.Run(ctx, s.Client, keys, args...) }()
	select {
	case c := <-done:
		v, err := c.Result()
		return v, meaning(err)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s Store) check() error {
	switch {
	case s.Client == nil:
		return &setting.Error{Name: "Client", Value: "nil", Want: "a client of Redis"}
	case s.Name == "" || len(s.Name) > 200 || strings.ContainsAny(s.Name, "{}"):
		return &setting.Error{Name: "Name", Value: fmt.Sprintf("%.210q", s.Name), Want: "1 to 200 bytes without a brace"}
	}
	return nil
}

// refusals are the first words of replies that do not pass by themselves, and what is wanted instead.
var refusals = []struct{ reply, want string }{
	{"WRONGPASS", "the user and the password of the server"},
	{"NOAUTH", "the user and the password of the server"},
	{"NOPERM", Access},
	{"READONLY", "the primary: a replica takes no writes"},
	{"MOVED", "a redis.ClusterClient: the server is a node of a cluster"},
	{"WRONGTYPE", "a Name whose keys nothing else uses"},
	{"DENIED", "a server that takes this machine's connections"},
	{"ERR ", "a server of Redis 5 or Valkey that runs scripts, and " + Access},
}

// passing are words of replies that pass. Before Redis 7 the error of a command in a script is within another one.
var passing = []string{"ERR max number of clients", " -OOM ", " -MISCONF ", " -NOREPLICAS "}

// Access is the rule of ACL SETUSER that a user of the server needs.
const Access = "~aimd:* +@connection +eval +evalsha +time +hset +hget +hmget +hgetall +hdel +pexpire"

// meaning wraps share.ErrRefused if the reply is a refusal.
func meaning(err error) error {
	if err == nil || errors.Is(err, redis.Nil) {
		return err
	}
	reply := redis.Error(nil)
	passes := !errors.As(err, &reply) || slices.ContainsFunc(passing, func(words string) bool { return strings.Contains(reply.Error(), words) })
	for _, r := range refusals {
		if !passes && strings.HasPrefix(reply.Error(), r.reply) {
			return fmt.Errorf("redisshare: %w: %w; want %s", share.ErrRefused, err, r.want)
		}
	}
	return fmt.Errorf("redisshare: %w", err)
}
