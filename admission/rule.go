package admission

import (
	"strings"

	"github.com/aimd-go/aimd/tag"
)

// Turn is the time at which a rule lets requests be shed: [First], [Last], or the zero Turn, which is by criticality,
// as without a rule.
type Turn int8

const (
	// First: shed before all others, whatever their criticality, and served after them. For a client with a
	// bug.
	First Turn = iota - 1
	ordinary
	// Last: shed after all others, and served before them. For a client that answers a refusal with a
	// burst of retries.
	Last
)

// Rule says when requests with certain tags are shed. Safe Client Behaviour, on a server that knows its
// clients: "Avoid dropping requests known to trigger a retry storm", "Work around client bugs".
//
// Client, Version and Feature are patterns, and all three must match: a * stands for any number of
// characters, and every other character for itself. An empty pattern matches all; an empty tag matches only
// an empty pattern and *.
//
// For a client that makes retry storms, use [Last] until the client is mended. If the client sends more than
// the server can serve, only [First] helps, or a change at the client (package remote). A client that may lie
// needs tags from its credentials: httplimit.HandlerConfig.Tags.
type Rule struct {
	Client, Version, Feature string
	// Shed is the turn of these requests.
	Shed Turn
}

func (r Rule) matches(t tag.Tags) bool {
	return matches(r.Client, t.Client) && matches(r.Version, t.Version) && matches(r.Feature, t.Feature)
}

// matches reports whether the pattern matches the text, in time in proportion to the product of their
// lengths.
func matches(pattern, text string) bool {
	head, rest, wild := strings.Cut(pattern, "*")
	text, ok := strings.CutPrefix(text, head)
	if !ok || !wild {
		return pattern == "" || ok && text == ""
	}
	for { // each part at its first place leaves the most for those after it
		part, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(text, part)
		}
		if _, text, ok = strings.Cut(text, part); !ok {
			return false
		}
		rest = after
	}
}
