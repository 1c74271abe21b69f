package throttle_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/throttle"
	"github.com/aimd-go/aimd/window"
)

// Admit and Ended are for those who send by themselves.
func ExampleThrottle_Admit() {
	th, err := throttle.New(throttle.Config{})
	if err != nil {
		panic(err)
	}
	ctx := tag.WithCriticality(context.Background(), tag.Sheddable)
	rejected := 0
	for range 1000 {
		err := th.Admit(ctx, 1)
		if errors.Is(err, throttle.ErrThrottled) {
			rejected++ // nothing is sent
			continue
		}
		// Send the request; here all of them are refused.
		th.Ended(ctx, window.Overload)
	}
	fmt.Println("most are rejected:", rejected > 900)
	fmt.Println("interactive requests go:", th.Admit(context.Background(), 1) == nil)
	// Output:
	// most are rejected: true
	// interactive requests go: true
}

// The pure part takes the time as an argument.
func ExampleCore() {
	core, err := throttle.NewCore(throttle.Settings{})
	if err != nil {
		panic(err)
	}
	fmt.Println("the first goes:", core.Asked(start, tag.Critical))
	for i := range 99 {
		o := window.Overload
		if i < 33 {
			o = window.Success
		}
		core.Ended(start, tag.Critical, o)
	}
	fmt.Println("of the next are rejected:", core.Rejection(start, tag.Critical))
	fmt.Println("other kinds:", core.Rejection(start, tag.Sheddable))
	// Output:
	// the first goes: true
	// of the next are rejected: 0.33
	// other kinds: 0
}
