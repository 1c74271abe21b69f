package retry_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aimd-go/aimd/retry"
)

// A budget for those who send by themselves.
func ExampleBudget() {
	budget, err := retry.NewBudget(retry.BudgetSettings{}, nil)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	for range 90 {
		_ = budget.Admit(ctx, 1) // first attempts always go
	}
	retries := 0
	for !errors.Is(budget.Admit(ctx, 2), retry.ErrBudget) {
		retries++
	}
	fmt.Println("retries with 90 first attempts:", retries)
	// Output: retries with 90 first attempts: 10
}

// The pure part takes the time as an argument.
func ExampleBudgetCore() {
	core, err := retry.NewBudgetCore(retry.BudgetSettings{Share: 0.2})
	if err != nil {
		panic(err)
	}
	for range 80 {
		core.Sent(start)
	}
	retries := 0
	for core.Asked(start) {
		retries++
	}
	fmt.Println(core.Counts(start))
	fmt.Println(retries)
	// Output:
	// 100 20
	// 20
}
