package admission_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/admission"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

func ExampleController_Admit() {
	c, err := admission.New(admission.Fixed(1), admission.Config{QueueBound: -1})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	first, _ := c.Admit(ctx, tag.Tags{Client: "photos"})
	_, err = c.Admit(ctx, tag.Tags{Client: "backup", Criticality: tag.Sheddable})
	var shed *admission.Shed
	if errors.As(err, &shed) {
		fmt.Println(shed.Reason, shed.Tags.Client, shed.RetryAfter > 0)
	}
	first.Done(window.Success)
	// Output:
	// full backup true
}

func ExampleAdaptive() {
	c, err := admission.New(admission.Adaptive(aimd.Probe(), window.Settings{Initial: 32, Min: 4, Max: 256}), admission.Config{
		QueueBound: 32, QueueTime: 100 * time.Millisecond,
	})
	if err != nil {
		panic(err)
	}
	var all []admission.Place
	for range 32 {
		p, _ := c.Admit(context.Background(), tag.Tags{})
		all = append(all, p)
	}
	for _, p := range all { // all are refused behind: 22 of these may be chance, and each of the others takes one
		p.Done(window.Overload)
	}
	fmt.Println(c.Snapshot().Limit)
	// Output: 22
}

// How each request ended, with its tags and the reason, for metrics and logs. Who sends how much is best counted by
// client, feature and criticality where these are known names: a client can make up as many as it likes.
func ExampleConfig() {
	ends := map[string]int{} // in your program: a counter with labels
	c, err := admission.New(admission.Fixed(1), admission.Config{
		QueueBound: -1,
		Turn: func(t tag.Tags) int {
			if t.Client == "tv" && strings.HasPrefix(t.Version, "1.") {
				return 1 // it answers a refusal with a burst of retries: shed it last
			}
			return 0
		},
		Observer: func(e admission.Event) {
			switch {
			case e.Shed != nil:
				ends[fmt.Sprintf("%s %v", e.Shed.Reason, e.Tags.Criticality)]++
			case e.Outcome != 0:
				ends[fmt.Sprintf("%v %v", e.Outcome, e.Tags.Criticality)]++
			}
		},
	})
	if err != nil {
		panic(err)
	}
	p, _ := c.Admit(context.Background(), tag.Tags{Criticality: tag.SheddablePlus})
	for range 2 {
		_, _ = c.Admit(context.Background(), tag.Tags{Criticality: tag.SheddablePlus})
	}
	p.Done(window.Success)
	fmt.Println(ends)
	// Output: map[full sheddable-plus:2 success sheddable-plus:1]
}

// A stream of events costs next to nothing once it is open: it gives its place back.
func ExampleFromContext() {
	c, err := admission.New(admission.Fixed(1), admission.Config{})
	if err != nil {
		panic(err)
	}
	// As admission.NewHandler and contrib/grpclimit do:
	p, err := c.Admit(context.Background(), tag.Tags{})
	if err != nil {
		panic(err)
	}
	ctx := admission.NewContext(context.Background(), p)

	// In the application:
	if p, ok := admission.FromContext(ctx); ok {
		fmt.Println("waited", p.Waited())
		p.Done(window.Success)
	}
	fmt.Println(c.Snapshot().InFlight)
	// Output:
	// waited 0s
	// 0
}

// A gateway: so many requests at a time for the service behind, which is told who sends them as the
// gateway knows it.
func ExampleNewHandler_reverseProxy() {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tags, err := tag.FromHeader(r.Header)
		fmt.Fprintln(w, "hello", tags.Client, err)
	}))
	defer service.Close()
	target, err := url.Parse(service.URL)
	if err != nil {
		panic(err)
	}
	c, err := admission.New(admission.Fixed(32), admission.Config{})
	if err != nil {
		panic(err)
	}
	proxy := &httputil.ReverseProxy{
		Transport: service.Client().Transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			tag.SetHeader(r.Out.Header, tag.FromContext(r.In.Context()))
		},
	}
	gateway, err := admission.NewHandler(proxy, c, admission.HandlerConfig{Tags: func(*http.Request) tag.Tags {
		return tag.Tags{Client: "photos"} // from the API key, say
	}})
	if err != nil {
		panic(err)
	}
	w := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodGet, "/", nil)
	req.Header.Set("Aimd-Client", "an-impostor")
	gateway.ServeHTTP(w, req)
	fmt.Print(w.Body)
	// Output: hello photos <nil>
}
