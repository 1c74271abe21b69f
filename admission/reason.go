package admission

// Reason is why a request was shed.
type Reason uint8

const (
	// Full: the queue was full, and no request in it was to be shed before this one.
	Full Reason = iota + 1
	// Displaced: it waited in a full queue, and a more important one came.
	Displaced
	// Expired: it waited as long as the queue time, and no place came free.
	Expired
)

var reasons = [...]string{"none", "full", "displaced", "expired"}

// String returns the reason's name in lower case.
func (r Reason) String() string {
	if int(r) < len(reasons) {
		return reasons[r]
	}
	return reasons[0]
}
