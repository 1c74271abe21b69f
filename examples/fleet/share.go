package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"github.com/aimd-go/aimd/contrib/pgshare"
	"github.com/aimd-go/aimd/contrib/redisshare"
	"github.com/aimd-go/aimd/share"
)

// shared is the store where the machines share their window; "": the Redis of the tasks. closed ends it.
func (f *fleet) shared(ctx context.Context, url string) (store share.Store, closed func(), err error) {
	url, name := cmp.Or(url, "redis://"+f.redis.Addr), "fleet/"+f.bucket
	if strings.HasPrefix(url, "postgres") {
		pool, err := pgxpool.New(ctx, url)
		if err != nil {
			return nil, nil, fmt.Errorf("-share: %w", err)
		}
		return pgshare.Store{DB: pool, Name: name}, pool.Close, nil
	}
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, nil, fmt.Errorf("-share: %w", err)
	}
	client := redis.NewClient(o)
	return redisshare.Store{Client: client, Name: name}, func() { client.Close() }, nil
}
