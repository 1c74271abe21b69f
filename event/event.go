// Package event has the kinds of events in the life of a limiter, for aimd.Event.Kind. Each kind is a word or two, the same in
// logs, in metrics and on the live page.
package event

// Kind is the kind of an aimd.Event. Compare it with the constants.
type Kind string

// The kinds of events. Each answer is an Answered or a Cut. The fields are those of aimd.Event.
const (
	// Answered: an attempt ended, for Outcome. The law may have moved the window, from Before.
	Answered Kind = "answered"
	// Cut: the first overload of a burst. The law reacted; the window may be the same.
	Cut Kind = "cut"
	// Paused: a pause for all operations began; no attempt is sent for Wait.
	Paused Kind = "paused"
	// Admitted: an operation got its slot after it waited for Wait.
	Admitted Kind = "admitted"
	// Late: a permit was released a second time.
	Late Kind = "late"
	// Full: an operation was turned away, the queue is full.
	Full Kind = "full"
	// TooLate: Count operations so far were not sent before their deadline, the last for the reason in Err. Once, and when the
	// number has doubled.
	TooLate Kind = "too late"
	// Aside: Count operations so far fail while the service takes others, the last with the error in Err. Once, and when the
	// number has doubled. Without Err: Each has waited for a second for nothing but Count items that failed. Once, and they are
	// given up in about Wait; 0: as in an outage, and with MaxFailures, nobody knows when.
	Aside Kind = "set aside"
	// Open: Count answers are open, nothing was sent, began or ended for Wait, and operations wait. So one attempt more was
	// sent. Once, and when the number has doubled.
	Open Kind = "open"
	// Held: Count attempts so far would have waited, for Wait in the mean as far as it was known, and went at once
	// (aimd.Config.Shadow). Once, and when the number has doubled.
	Held Kind = "held"
	// Closed: the limiter takes no more work.
	Closed Kind = "closed"
	// Reconfigured: the limiter has new settings.
	Reconfigured Kind = "reconfigured"
	// Away: an attempt found no service, for the reason in Err; once until the service answers.
	Away Kind = "away"
	// Blocked: answers of 403 in a row are taken for a block of the client by a firewall, the last in Err. All operations pause
	// for Wait.
	Blocked Kind = "blocked"
	// Unknown: an attempt failed with the error in Err, which no classifier knows, while others were refused in the last minute.
	// Once a minute at most: it may be a refusal too (aimd.Refused).
	Unknown Kind = "unknown"
	// UsedUp: the quota in Quota is used up for Wait.
	UsedUp Kind = "used up"
	// Share: the window is from elsewhere now, or the process leads or does not lead any longer, as Cause says. Count is the
	// number of processes, Err why the store is not heard.
	Share Kind = "share"
)
