//go:build !unix

package race

import "time"

func processorTime() time.Duration { return 0 }
