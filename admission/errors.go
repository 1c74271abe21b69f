package admission

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aimd-go/aimd/tag"
)

// errReleased is what a second release gives.
var errReleased = errors.New("admission: permit released already")

// Shed is the error of a request that was shed.
type Shed struct {
	// Reason is why.
	Reason Reason
	// RetryAfter is what to tell the client to wait, jittered; more than 0.
	RetryAfter time.Duration
	// Waited is how long it waited in the queue.
	Waited time.Duration
	// Tags are those of the request.
	Tags tag.Tags
}

func (e *Shed) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "admission: shed (%v): %v", e.Reason, e.Tags.Criticality)
	if e.Tags.Client != "" {
		fmt.Fprintf(&s, " request of %q", e.Tags.Client)
	} else {
		s.WriteString(" request")
	}
	fmt.Fprintf(&s, ", to come back after %v", e.RetryAfter.Round(time.Millisecond))
	return s.String()
}
