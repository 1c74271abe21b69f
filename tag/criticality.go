package tag

import (
	"fmt"
	"strconv"

	"github.com/aimd-go/aimd/internal/setting"
)

// Criticality is how bad it is if a request fails: the four levels of the SRE book, chapter "Handling
// Overload". Less critical requests are shed first. The zero value is Critical, so that a request without a
// criticality is neither preferred nor dropped first. Values are ordered.
type Criticality int8

const (
	// Sheddable may fail often: work that can be done any time later.
	Sheddable Criticality = iota - 2
	// SheddablePlus may fail now and then: background and batch work that is tried again.
	SheddablePlus
	// Critical is for interactive requests, which a user notices. The default.
	Critical
	// CriticalPlus must not fail: what everything else hangs on.
	CriticalPlus
)

// Criticalities are all there are, the least critical first.
var Criticalities = [...]Criticality{Sheddable, SheddablePlus, Critical, CriticalPlus}

var names = map[Criticality]string{
	Sheddable: "sheddable", SheddablePlus: "sheddable-plus",
	Critical: "critical", CriticalPlus: "critical-plus",
}

// String returns the name: "critical-plus".
func (c Criticality) String() string {
	if n, ok := names[c]; ok {
		return n
	}
	return fmt.Sprintf("Criticality(%d)", int8(c))
}

// MarshalText returns the name, or an error if c is not among Criticalities.
func (c Criticality) MarshalText() ([]byte, error) {
	n, ok := names[c]
	if !ok {
		return nil, setting.Wrong("criticality", int8(c), "a number from %d to %d", Sheddable, CriticalPlus)
	}
	return []byte(n), nil
}

// UnmarshalText reads a name, or returns an error that lists the names and leaves c as it is.
func (c *Criticality) UnmarshalText(text []byte) error {
	for _, known := range Criticalities {
		if names[known] == string(text) {
			*c = known
			return nil
		}
	}
	return setting.Wrong("criticality", strconv.Quote(string(text)), "sheddable, sheddable-plus, critical or critical-plus")
}
