package setting_test

import (
	"errors"
	"fmt"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/setting"
)

func ExampleError() {
	_, err := aimd.New(aimd.Config{InitialWindow: -1})
	fmt.Println(err)
	var wrong *setting.Error
	if errors.As(err, &wrong) {
		fmt.Printf("%s is %s\n", wrong.Name, wrong.Value)
	}
	fmt.Println(&setting.Error{Name: "Guard", Value: "nil"})
	// Output:
	// aimd: InitialWindow: -1 is not allowed, want a number from 1 to 1048576
	// InitialWindow is -1
	// Guard: nil is not allowed
}
