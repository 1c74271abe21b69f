package measure

import (
	"strings"

	"github.com/aimd-go/aimd/cmd/aimd/internal/reach"
)

// reasons counts why operations failed. Reasons that differ in their numbers
// only are the same.
type reasons map[string]*reason

type reason struct {
	text  string
	count int
}

func (r reasons) add(err error) {
	text := reach.Innermost(err).Error()
	key := strings.Map(func(c rune) rune {
		if '0' <= c && c <= '9' {
			return -1
		}
		return c
	}, text)
	if r[key] == nil {
		r[key] = &reason{text: text}
	}
	r[key].count++
}

func (r reasons) most() string {
	var best reason
	for _, v := range r {
		if v.count > best.count || v.count == best.count && v.text < best.text {
			best = *v
		}
	}
	return best.text
}
