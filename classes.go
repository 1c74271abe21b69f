package aimd

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/aimd-go/aimd/internal/check"
)

// NewClasses returns a Keyed with a limiter for each class: operations of one client that the service limits
// separately, such as reads and writes. The keys are the classes; httplimit.By or the LimitBy of a contrib names
// the class of each operation. A limiter's Name is its class, unless its Config has a Name. For another class For
// returns an error that names the classes. No limiter is evicted.
//
// The error names the class whose Config is wrong, and why.
func NewClasses(configs map[string]Config) (*Keyed[string], error) {
	if len(configs) == 0 {
		return nil, wrong(check.Wrong("classes", "none", "one at least"))
	}
	configs = maps.Clone(configs)
	names := slices.Sorted(maps.Keys(configs))
	k, err := NewKeyed(func(class string) (*Limiter, error) {
		c, ok := configs[class]
		if !ok {
			return nil, wrong(check.Wrong("class", strconv.Quote(class), "%s", strings.Join(names, ", ")))
		}
		c.Name = cmp.Or(c.Name, class)
		return New(c)
	}, KeyedConfig{Idle: math.MaxInt64, Keys: len(names)})
	for _, class := range names {
		if err == nil {
			if _, err = k.For(class); err != nil {
				return nil, fmt.Errorf("aimd: class %q: %w", class, errors.Unwrap(err))
			}
		}
	}
	return k, err
}
