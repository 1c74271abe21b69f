package pgshare_test

import (
	"context"
	"fmt"
	"log"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/pgshare"
	"github.com/aimd-go/aimd/share"
)

// All processes of the fleet have one window. There is no server at this address: until there is, the limiter is of this
// process alone.
func ExampleStore() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://river@127.0.0.1:1/river") // or the one that river has
	if err != nil {
		log.Fatal(err)
	}
	fleet, err := share.Join(share.Config{Store: pgshare.Store{DB: pool, Name: "openai/gpt"}})
	if err != nil {
		log.Fatal(err)
	}
	defer fleet.Close()
	lim, err := fleet.New(aimd.Config{})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := aimd.Do(ctx, lim, func(context.Context) (string, error) { return "accepted", nil })
	fmt.Println(answer, err)
	// Output: accepted <nil>
}
