// A service that refuses the first request: Do tries again, and says so.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
)

func main() {
	asked := 0
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer service.Close()
	lim, err := aimd.NewReno(aimd.WithFactor(0.9))
	if err != nil {
		log.Fatal(err)
	}
	err = lim.Do(context.Background(), func(context.Context) error {
		resp, err := http.Get(service.URL)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		return httplimit.Check(resp)
	})
	if err != nil || asked != 2 || lim.Snapshot().Successes != 1 {
		log.Fatal(err, asked, lim.Snapshot())
	}
	fmt.Println("refused once, then served")
}
