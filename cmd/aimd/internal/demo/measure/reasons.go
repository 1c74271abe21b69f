package measure

import (
	"errors"
	"strings"
)

// reasons counts why operations failed. Reasons that differ in their numbers
// only are the same.
type reasons map[string]*reason

type reason struct {
	text  string
	count int
}

func (r reasons) add(err error) {
	text := Innermost(err).Error()
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

// most is the most frequent reason, "" if there is none.
func (r reasons) most() string {
	var best reason
	for _, v := range r {
		if v.count > best.count || v.count == best.count && v.text < best.text {
			best = *v
		}
	}
	return best.text
}

// Innermost follows the chain of causes to its end, the first cause where
// there are several.
func Innermost(err error) error {
	for {
		var inner error
		if several, ok := err.(interface{ Unwrap() []error }); ok && len(several.Unwrap()) > 0 {
			inner = several.Unwrap()[0]
		} else {
			inner = errors.Unwrap(err)
		}
		if inner == nil {
			return err
		}
		err = inner
	}
}
