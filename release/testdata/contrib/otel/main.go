// An operation that OpenTelemetry sees.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aimd-go/aimd"
	aimdotel "github.com/aimd-go/aimd/contrib/otel"
	"github.com/aimd-go/aimd/live"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

func main() {
	lim, err := aimd.New(aimd.WithName("photos"))
	if err != nil {
		log.Fatal(err)
	}
	reader := metric.NewManualReader()
	_, err = aimdotel.Register(live.Of(lim), aimdotel.WithMeterProvider(metric.NewMeterProvider(metric.WithReader(reader))))
	if err != nil {
		log.Fatal(err)
	}
	var told metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &told); err != nil {
		log.Fatal(err)
	}
	scope := told.ScopeMetrics[0]
	if scope.Scope.Version == "" || len(scope.Metrics) == 0 {
		log.Fatal(told)
	}
	fmt.Println(len(scope.Metrics), "instruments of", scope.Scope.Name, scope.Scope.Version)
}
