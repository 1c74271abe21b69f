package live_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/live"
)

func ExampleHandler() {
	lim, err := aimd.New(aimd.Config{Name: "api.example.com"})
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/debug/aimd/", live.Handler(live.Of(lim)))
	server := httptest.NewServer(mux)
	defer server.Close()

	resp, err := http.Get(server.URL + "/debug/aimd/")
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status, resp.Header.Get("Content-Type"))
	// Output: 200 OK text/html; charset=utf-8
}

// All limiters of a Keyed, as they come and go.
func ExampleKeyed() {
	buckets, err := aimd.NewKeyed(func(bucket string) (*aimd.Limiter, error) {
		return aimd.New(aimd.Config{Name: bucket})
	}, aimd.KeyedConfig{Idle: time.Hour})
	if err != nil {
		panic(err)
	}
	http.Handle("/debug/aimd/", live.Handler(live.Keyed(buckets)))
}
