package httplimit_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/tag"
)

// For a client that is not of net/http: what to put into its headers.
func ExampleSetTags() {
	h := http.Header{}
	httplimit.SetTags(h, tag.Tags{Client: "photos", Version: "2.1", Feature: "thumbnails", Criticality: tag.SheddablePlus, Attempt: 2})
	for _, name := range []string{"Aimd-Client", "Aimd-Client-Version", "Aimd-Feature", "Aimd-Criticality", "Aimd-Attempt"} {
		fmt.Printf("%s: %s\n", name, h.Get(name))
	}
	// Output:
	// Aimd-Client: photos
	// Aimd-Client-Version: 2.1
	// Aimd-Feature: thumbnails
	// Aimd-Criticality: sheddable-plus
	// Aimd-Attempt: 2
}

// A gateway relays what its client said, and adds the rest. It sends for the second time what its client
// sent for the first.
func ExampleAddTags() {
	h := http.Header{"Aimd-Client": {"tv"}, "Aimd-Attempt": {"1"}}
	httplimit.AddTags(h, tag.Tags{Client: "gateway", Version: "3", Criticality: tag.Sheddable, Attempt: 2})
	tags, err := httplimit.ParseTags(h)
	fmt.Printf("%+v %v\n", tags, err)
	// Output: {Client:tv Version: Feature: Criticality:sheddable Attempt:2} <nil>
}

// What is malformed counts as not given.
func ExampleParseTags() {
	tags, err := httplimit.ParseTags(http.Header{
		"Aimd-Client":      {"photos"},
		"Aimd-Criticality": {"urgent"},
	})
	fmt.Printf("%+v\n%v\n", tags, err)
	// Output:
	// {Client:photos Version: Feature: Criticality:critical Attempt:0}
	// httplimit: Aimd-Criticality: criticality: "urgent" is not allowed, want sheddable, sheddable-plus, critical or critical-plus
}

func ExampleRetryAfter() {
	now := time.Date(2024, time.May, 1, 12, 0, 0, 0, time.UTC)
	for _, h := range []http.Header{
		{"Retry-After": {"120"}},
		{"Retry-After": {"Wed, 01 May 2024 12:00:30 GMT"}},
		{"Retry-After": {"2"}, "Retry-After-Ms": {"1300"}},
		{"Retry-After": {"-1"}},
	} {
		fmt.Println(httplimit.RetryAfter(h, now))
	}
	// Output:
	// 2m0s true
	// 30s true
	// 1.3s true
	// 0s false
}

// A loop of your own marks its retries, so that they do not wait at the end again. The limiter is closed
// here: nothing is sent, and the error says so.
func ExampleWithRetry() {
	lim, err := aimd.New()
	if err != nil {
		panic(err)
	}
	client := &http.Client{Transport: httplimit.New(nil, lim)}
	lim.Close()

	req, err := http.NewRequestWithContext(attempt.WithRetry(context.Background()), http.MethodGet, "http://photos.example/", nil)
	if err != nil {
		panic(err)
	}
	_, err = client.Do(req)
	var unsent *attempt.Error
	fmt.Println(errors.As(err, &unsent) && unsent.NotSent(), errors.Is(err, limiter.ErrClosed))
	// Output: true true
}
