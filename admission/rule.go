package admission

import (
	"fmt"
	"strings"

	"github.com/aimd-go/aimd/internal/setting"
	"github.com/aimd-go/aimd/tag"
)

// Turn is what a rule says of those whom it matches.
type Turn int8

const (
	// First: shed before all others, however critical they call themselves, and
	// served after them. For a client with a bug that one must work around.
	First Turn = iota - 1
	// Ordinary: by criticality, as without a rule.
	Ordinary
	// Last: shed after all others, and served before them. For those of whom one
	// knows that refusing them makes more work than serving them: a client in
	// the field that answers a refusal with a burst of retries.
	Last
)

// turns are all there are, in the order of their values.
var turns = [...]string{"first", "ordinary", "last"}

func (t Turn) valid() bool { return t >= First && t <= Last }

// String returns the turn's name in lower case.
func (t Turn) String() string {
	if t.valid() {
		return turns[t-First]
	}
	return fmt.Sprintf("Turn(%d)", int8(t))
}

// Rule says of requests with certain tags when it is their turn to be shed.
// Safe Client Behaviour, of what a server can do that knows its clients: "Avoid dropping
// requests known to trigger a retry storm", "Work around client bugs".
//
// Client, Version and Feature are patterns: a * stands for any characters, or
// none; everything else for itself. An empty pattern matches all, and an empty
// tag matches only an empty pattern and *. All three must match.
//
// Which of the two for a client that makes storms? [Last] while it is broken
// and can't be mended soon: a refusal of it costs several requests more, a
// service of it one. It takes precedence then over critical work, and can
// starve it if it is much; once it sends more than fits, only First, or a
// change at the client (package remote), helps.
//
// Tags are what a client says of itself. Where a client may lie, take its tags
// from something better than its word, such as its credentials; see
// httplimit.WithTags.
type Rule struct {
	Client, Version, Feature string
	// Shed is when it is their turn.
	Shed Turn
}

func (r Rule) check() error {
	return setting.OneOf("shed", r.Shed, First, Ordinary, Last)
}

// Matches reports whether the rule speaks of requests with these tags.
func (r Rule) Matches(t tag.Tags) bool {
	return matches(r.Client, t.Client) && matches(r.Version, t.Version) && matches(r.Feature, t.Feature)
}

// matches reports whether the pattern matches the text. It takes time in
// proportion to the product of their lengths at the worst, and no stack.
func matches(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	parts := strings.Split(pattern, "*")
	head, tail := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return text == pattern
	}
	text, ok := strings.CutPrefix(text, head)
	if !ok {
		return false
	}
	if text, ok = strings.CutSuffix(text, tail); !ok {
		return false
	}
	// Each part at its first place leaves the most for those after it.
	for _, part := range parts[1 : len(parts)-1] {
		if _, text, ok = strings.Cut(text, part); !ok {
			return false
		}
	}
	return true
}
