package aimdprom_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/aimdprom"
	"github.com/aimd-go/aimd/live"
)

func ExampleNew() {
	lim, err := aimd.New(aimd.Config{Name: "photos"})
	if err != nil {
		log.Fatal(err)
	}
	reg := prometheus.NewRegistry() // in your program: prometheus.DefaultRegisterer
	reg.MustRegister(aimdprom.New(live.Of(lim)))
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))

	if err := lim.Do(context.Background(), func(context.Context) error { return nil }); err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(scrape(mux)) {
		if strings.Contains(line, "success") || strings.HasPrefix(line, "aimd_cwnd") {
			fmt.Print(line)
		}
	}
	// Output:
	// aimd_attempts_total{limiter="photos",outcome="success"} 1
	// aimd_cwnd{limiter="photos"} 20
}

// The two histograms need an observer, one for all limiters.
func ExampleNewObserver() {
	reg := prometheus.NewRegistry()
	observe, err := aimdprom.NewObserver(reg)
	if err != nil {
		log.Fatal(err)
	}
	lim, err := aimd.New(aimd.Config{Name: "photos", Observer: observe})
	if err != nil {
		log.Fatal(err)
	}
	if err := lim.Do(context.Background(), func(context.Context) error { return nil }); err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(scrape(promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))) {
		if strings.HasPrefix(line, `aimd_attempt_duration_seconds_count{limiter="photos",outcome="success"}`) {
			fmt.Print(line)
		}
	}
	// Output:
	// aimd_attempt_duration_seconds_count{limiter="photos",outcome="success"} 1
}

func scrape(h http.Handler) string {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	text, err := io.ReadAll(w.Result().Body)
	if err != nil {
		log.Fatal(err)
	}
	return string(text)
}
