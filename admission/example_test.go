package admission_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/admission"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

func ExampleController_Admit() {
	c, err := admission.New(admission.Fixed(1), admission.Config{Settings: admission.Settings{QueueBound: -1}})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	first, _ := c.Admit(ctx, tag.Tags{Client: "photos"})
	_, err = c.Admit(ctx, tag.Tags{Client: "backup", Criticality: tag.Sheddable})
	var shed *admission.Shed
	if errors.As(err, &shed) {
		fmt.Println(shed.Reason, shed.Tags.Client, shed.RetryAfter > 0)
	}
	fmt.Println(first.Done(window.Success))
	// Output:
	// full backup true
	// <nil>
}

func ExampleAdaptive() {
	c, err := admission.New(admission.Adaptive(aimd.Reno, window.Settings{Initial: 32, Min: 4, Max: 256, Factor: 0.9}), admission.Config{
		Settings: admission.Settings{QueueBound: 32, QueueTime: 100 * time.Millisecond},
	})
	if err != nil {
		panic(err)
	}
	p, _ := c.Admit(context.Background(), tag.Tags{})
	_ = p.Done(window.Overload) // what is behind was too loaded
	fmt.Printf("%.1f\n", c.Snapshot().Limit)
	// Output: 28.8
}
