// Package redisshare is where the processes of a fleet meet that share one window, in Redis, Valkey or a Redis Cluster:
// the Store of package share.
//
//	rdb := redis.NewClient(&redis.Options{Addr: "redis:6379", MaxRetries: -1, ContextTimeoutEnabled: true})
//	fleet, err := share.Join(share.Config{Store: redisshare.Store{Client: rdb, Name: "openai/gpt"}})
//	...
//	lim, err := fleet.New(aimd.Config{})
//
// The client of asynq will do: asynq.RedisClientOpt.MakeRedisClient().(redis.UniversalClient). A client without
// ContextTimeoutEnabled and with retries, as that one, keeps a connection for up to 12 s after the server has fallen silent;
// no call of this package waits for it. go-redis logs failed connections by itself (redis.SetLogger).
//
// A fleet has two keys, with one hash tag: aimd:{NAME}:fleet and aimd:{NAME}:rows. They expire a minute after the last
// process. A server that is full may evict them: the next reports write them again. HGETALL on the second shows who has
// what. The time is the server's. Reports are scripts, which the server need not know before. Users of the server need the
// rule Access. docs/fleet.md of the repository says what a fleet costs the server.
package redisshare
