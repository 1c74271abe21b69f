package share_test

import (
	"context"
	"fmt"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/internal/sharetest"
	"github.com/aimd-go/aimd/share"
)

// A quota of all processes. Take the Store of contrib/redisshare or contrib/pgshare.
func ExampleJoin() {
	fleet, err := share.Join(share.Config{Store: new(sharetest.Memory), Logger: silent})
	if err != nil {
		panic(err)
	}
	defer fleet.Close()
	lim, err := fleet.New(aimd.Config{MaxRate: 100}) // 100 a second for all processes together
	if err != nil {
		panic(err)
	}
	err = lim.Do(context.Background(), func(context.Context) error { return nil })
	fmt.Println(err)
	// Output: <nil>
}
