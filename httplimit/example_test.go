package httplimit_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/retry"
)

// A client that retries on its own, or not at all: put the Transport into it.
func ExampleTransport() {
	service := hello(0)
	defer service.Close()

	lim, err := aimd.New(aimd.Config{})
	if err != nil {
		panic(err)
	}
	client := &http.Client{Transport: &httplimit.Transport{Base: service.Client().Transport, Limiter: lim}}

	resp, err := client.Get(service.URL)
	if err != nil {
		panic(err)
	}
	fmt.Println("in flight with the body open:", lim.Snapshot().InFlight)
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		panic(err)
	}
	resp.Body.Close()
	fmt.Printf("%s, in flight: %d\n", body, lim.Snapshot().InFlight)
	// Output:
	// in flight with the body open: 1
	// hello, in flight: 0
}

// A service whose answers mean something of their own: the page of its firewall, and an error that it calls a success.
func ExampleTransport_read() {
	service := httptest.NewServer(http.HandlerFunc(func() http.HandlerFunc {
		refusals := []int{http.StatusForbidden, http.StatusOK}
		return func(w http.ResponseWriter, _ *http.Request) {
			if len(refusals) > 0 {
				w.Header().Set("X-Throttled", "1")
				w.WriteHeader(refusals[0])
				refusals = refusals[1:]
				return
			}
			fmt.Fprint(w, "hello")
		}
	}()))
	defer service.Close()

	lim, err := aimd.New(aimd.Config{})
	if err != nil {
		panic(err)
	}
	client := (&httplimit.Transport{
		Base:    service.Client().Transport,
		Limiter: lim,
		Read: func(a answer.Answer) answer.Answer {
			if a.Status == http.StatusForbidden || a.Header["X-Throttled"] != nil {
				return a.As(answer.Refused)
			}
			return a
		},
	}).Client()

	resp, err := client.Get(service.URL)
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Printf("%s, error: %v, refused: %d\n", body, err, lim.Snapshot().Overloads)
	// Output: hello, error: <nil>, refused: 2
}

// A client that talks to many services, each with a limit of its own.
func ExamplePerHost() {
	service := hello(0)
	defer service.Close()
	// For the example every name leads to one server.
	base := &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return url.Parse(service.URL) }}
	defer base.CloseIdleConnections()

	limiters, err := aimd.NewKeyed(func(host string) (*aimd.Limiter, error) {
		fmt.Println("new:", host)
		return aimd.New(aimd.Config{Name: host})
	}, aimd.KeyedConfig{})
	if err != nil {
		panic(err)
	}
	client := (&httplimit.Transport{Base: base, Of: httplimit.PerHost(limiters)}).Client()
	for _, u := range []string{"http://one.example/a", "http://ONE.example:80/b", "http://two.example/"} {
		resp, err := client.Get(u)
		if err != nil {
			panic(err)
		}
		resp.Body.Close()
	}
	// The one used last comes first.
	for host, lim := range limiters.All() {
		fmt.Println(host, lim.Snapshot().Successes)
	}
	// Output:
	// new: one.example:80
	// new: two.example:80
	// two.example:80 1
	// one.example:80 2
}

// A store that limits reads and writes apart: a limiter for each.
func ExampleReadWrite() {
	store := hello(0)
	defer store.Close()

	limiters, err := aimd.NewKeyed(func(class string) (*aimd.Limiter, error) {
		return aimd.New(aimd.Config{Name: class})
	}, aimd.KeyedConfig{})
	if err != nil {
		panic(err)
	}
	client := (&httplimit.Transport{
		Base: store.Client().Transport,
		Of:   httplimit.By(limiters, httplimit.ReadWrite),
	}).Client()
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodHead} {
		req, err := http.NewRequest(method, store.URL, nil)
		if err != nil {
			panic(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			panic(err)
		}
		resp.Body.Close()
	}
	for class, lim := range limiters.All() {
		fmt.Println(class, lim.Snapshot().Attempts)
	}
	// Output:
	// read 2
	// write 1
}

// A plain client that sends again what failed, each attempt with a slot of its own, and no more than a
// tenth of all requests twice.
func ExampleNewRetrier() {
	service := hello(1) // refuses the first request
	defer service.Close()

	lim, err := aimd.New(aimd.Config{})
	if err != nil {
		panic(err)
	}
	budget, err := retry.NewBudget(retry.BudgetConfig{})
	if err != nil {
		panic(err)
	}
	policy, err := retry.New(retry.Config{Guards: []attempt.Guard{budget}})
	if err != nil {
		panic(err)
	}
	retrier, err := httplimit.NewRetrier(&httplimit.Transport{Base: service.Client().Transport, Limiter: lim}, policy)
	if err != nil {
		panic(err)
	}
	client := &http.Client{Transport: retrier}

	resp, err := client.Get(service.URL) // a POST would not be sent twice, but after a 429
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Printf("%s, error: %v\n", body, err)
	// Output: hello, error: <nil>
}

// A plain client: Do retries, and Check tells it when.
func ExampleCheck() {
	service := hello(1) // refuses the first request
	defer service.Close()

	lim, err := aimd.New(aimd.Config{})
	if err != nil {
		panic(err)
	}
	var body []byte
	err = lim.Do(context.Background(), func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, service.URL, nil)
		if err != nil {
			return err
		}
		resp, err := service.Client().Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if err := httplimit.Check(resp); err != nil {
			fmt.Println(err)
			return err
		}
		body, err = io.ReadAll(resp.Body)
		return err
	})
	fmt.Printf("%s, error: %v\n", body, err)
	// Output:
	// httplimit: 503 Service Unavailable: Please reduce your request rate.
	// hello, error: <nil>
}

// hello starts the service of the examples, which refuses so many requests first.
func hello(refuse int) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if refuse--; refuse >= 0 {
			http.Error(w, "Please reduce your request rate.", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, "hello")
	}))
}
