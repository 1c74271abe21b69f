package redisshare_test

import (
	"context"
	"fmt"
	"log"

	"github.com/redis/go-redis/v9"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/redisshare"
	"github.com/aimd-go/aimd/share"
)

// All processes of the fleet send 100 requests a second together, and no more than the service takes. There is no server at
// this address: until there is, the limiter is of this process alone.
func ExampleStore() {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, ContextTimeoutEnabled: true})
	fleet, err := share.Join(share.Config{Store: redisshare.Store{Client: rdb, Name: "openai/gpt"}})
	if err != nil {
		log.Fatal(err)
	}
	defer fleet.Close()
	lim, err := fleet.New(aimd.Config{MaxRate: 100})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := aimd.Do(context.Background(), lim, func(context.Context) (string, error) { return "accepted", nil })
	fmt.Println(answer, err)
	// Output: accepted <nil>
}
