package aimdotel_test

import (
	"context"
	"fmt"
	"log"

	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/aimdotel"
	"github.com/aimd-go/aimd/live"
)

func ExampleRegister() {
	reader := sdk.NewManualReader() // in your program: a periodic one with an exporter
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	observe, err := aimdotel.NewObserver(aimdotel.WithMeterProvider(provider))
	if err != nil {
		log.Fatal(err)
	}
	lim, err := aimd.New(aimd.Config{Name: "photos", Observer: observe})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := aimdotel.Register(live.Of(lim), aimdotel.WithMeterProvider(provider)); err != nil {
		log.Fatal(err)
	}

	if err := lim.Do(context.Background(), func(context.Context) error { return nil }); err != nil {
		log.Fatal(err)
	}
	var told metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &told); err != nil {
		log.Fatal(err)
	}
	for _, m := range told.ScopeMetrics[0].Metrics {
		fmt.Println(m.Name, m.Unit)
	}
	// Unordered output:
	// aimd.attempt.duration s
	// aimd.cwnd {attempt}
	// aimd.ssthresh {attempt}
	// aimd.in_flight {attempt}
	// aimd.queued {operation}
	// aimd.attempts {attempt}
	// aimd.cuts {cut}
	// aimd.pauses {pause}
	// aimd.too_late {operation}
	// aimd.aside {operation}
	// aimd.open {answer}
	// aimd.gap s
	// aimd.paused_until s
}
