package aimdotel

import (
	"runtime/debug"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

const scopeName = "github.com/aimd-go/aimd/contrib/otel"

const (
	nameKey    = attribute.Key("aimd.limiter.name")
	quotaKey   = attribute.Key("aimd.quota")
	outcomeKey = attribute.Key("aimd.outcome")
)

// version is the module's in the program, and the instrumentation scope's; "(devel)" or "" if the program
// was built from a work tree.
var version = sync.OnceValue(func() string {
	info, _ := debug.ReadBuildInfo()
	return versionIn(info)
})

func versionIn(info *debug.BuildInfo) string {
	if info == nil {
		return ""
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == scopeName {
			return m.Version
		}
	}
	return ""
}

// Option is a setting of Register and NewObserver.
type Option func(*config)

type config struct{ provider metric.MeterProvider }

// WithMeterProvider sets where the meter comes from. Default, and with nil: otel.GetMeterProvider.
func WithMeterProvider(p metric.MeterProvider) Option {
	return func(c *config) { c.provider = p }
}

// meter is the module's, from the provider of the options.
func meter(opts []Option) metric.Meter {
	var c config
	for _, o := range opts {
		o(&c)
	}
	if c.provider == nil {
		c.provider = otel.GetMeterProvider()
	}
	return c.provider.Meter(scopeName, metric.WithInstrumentationVersion(version()))
}
