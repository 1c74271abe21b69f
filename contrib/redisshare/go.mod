module github.com/aimd-go/aimd/contrib/redisshare

go 1.25.0

require (
	github.com/aimd-go/aimd v0.1.0
	github.com/redis/go-redis/v9 v9.14.1
)

require (
	github.com/benbjohnson/clock v1.3.5 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/dgryski/go-rendezvous v0.0.0-20200823014737-9f7001d12a5f // indirect
	go.uber.org/atomic v1.12.0 // indirect
)

replace github.com/aimd-go/aimd => ../..
