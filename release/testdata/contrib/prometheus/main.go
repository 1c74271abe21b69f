// An operation that Prometheus sees.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aimd-go/aimd"
	aimdprom "github.com/aimd-go/aimd/contrib/prometheus"
	"github.com/aimd-go/aimd/live"
	"github.com/prometheus/client_golang/prometheus"
)

func main() {
	lim, err := aimd.New(aimd.WithName("photos"))
	if err != nil {
		log.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(aimdprom.New(live.Of(lim)))
	if err := lim.Do(context.Background(), func(context.Context) error { return nil }); err != nil {
		log.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil || len(families) == 0 || families[0].GetName() != "aimd_attempts_total" {
		log.Fatal(err, families)
	}
	fmt.Println(families[0].GetName(), "is gathered")
}
