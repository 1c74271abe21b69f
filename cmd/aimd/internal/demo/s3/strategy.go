package s3

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/measure"
	aimdaws "github.com/aimd-go/aimd/contrib/aws"
	"github.com/aimd-go/aimd/sim"
)

// plain are the ways to deal with a store that says SlowDown without a limiter. The
// names are fixed, scripts know them.
var plain = []string{"sdk-default", "backoff", "sdk-adaptive"}

// Strategies are the names of all strategies, in the order in which they run: without
// a limiter, then with one of each law.
func Strategies() []string { return slices.Concat(plain, sim.Laws()) }

func setUp(name string, factor float64, config *aws.Config) (measure.Setup, error) {
	switch name {
	case "sdk-default": // what everybody starts with: 3 attempts, and a retry quota for the whole client
		config.Retryer = func() aws.Retryer { return retry.NewStandard() }
	case "sdk-adaptive": // the SDK's own answer to throttling, a token bucket on the client's side
		config.Retryer = func() aws.Retryer { return retry.NewAdaptiveMode() }
	case "backoff":
		config.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	}
	set, err := measure.SetUp(name, factor)
	if set.Limiter != nil { // one call of contrib/aws on the config, and the client retries
		aimdaws.Limit(config, set.Limiter)
		set.Retry = measure.Once
	}
	return set, err
}
