package httplimit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"

	"github.com/aimd-go/aimd/admission"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/tag"
)

// full is a controller whose one place is taken, and which has no queue.
func full() *admission.Controller {
	c, err := admission.New(admission.Fixed(1), admission.Config{QueueBound: -1})
	if err != nil {
		panic(err)
	}
	if _, err := c.Admit(context.Background(), tag.Tags{}); err != nil {
		panic(err)
	}
	return c
}

// Clients that may lie: the name is that of the API key, and only our own may say that they are more than
// critical. What is malformed is logged.
func ExampleHandlerConfig_tags() {
	c, err := admission.New(admission.Fixed(32), admission.Config{})
	if err != nil {
		panic(err)
	}
	owners := map[string]string{"k-17": "photos"}
	app := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		fmt.Printf("%+v\n", tag.FromContext(r.Context()))
	})
	h, err := httplimit.NewHandler(app, c, httplimit.HandlerConfig{Tags: func(r *http.Request) tag.Tags {
		tags, err := httplimit.ParseTags(r.Header)
		if err != nil {
			fmt.Println("log:", err)
		}
		tags.Client = owners[r.Header.Get("X-Api-Key")]
		tags.Criticality = min(tags.Criticality, tag.Critical)
		return tags
	}})
	if err != nil {
		panic(err)
	}
	req := httptest.NewRequest(http.MethodGet, "/", nil)
	req.Header.Set("X-Api-Key", "k-17")
	req.Header.Set("Aimd-Client", "somebody else")
	req.Header.Set("Aimd-Criticality", "critical-plus")
	h.ServeHTTP(httptest.NewRecorder(), req)
	// Output:
	// log: httplimit: Aimd-Client: "somebody else" is not allowed, want 1 to 128 visible ASCII characters other than " , ; \
	// {Client:photos Version: Feature: Criticality:critical Attempt:0}
}

// An API whose errors are JSON.
func ExampleHandlerConfig_refusal() {
	h, err := httplimit.NewHandler(http.NotFoundHandler(), full(), httplimit.HandlerConfig{
		Status: http.StatusTooManyRequests,
		Refusal: func(w http.ResponseWriter, _ *http.Request, shed *admission.Shed) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusTooManyRequests)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": "overloaded", "why": shed.Reason.String()})
		},
	})
	if err != nil {
		panic(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	fmt.Print(w.Code, " ", w.Header().Get("Retry-After") != "", " ", w.Body)
	// Output: 429 true {"error":"overloaded","why":"full"}
}

// A probe is served though nothing else fits.
func ExampleHandlerConfig_bypass() {
	app := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	h, err := httplimit.NewHandler(app, full(), httplimit.HandlerConfig{Bypass: func(r *http.Request) bool {
		return r.URL.Path == "/healthz"
	}})
	if err != nil {
		panic(err)
	}
	for _, path := range []string{"/", "/healthz"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		fmt.Println(path, w.Code)
	}
	// Output:
	// / 503
	// /healthz 200
}

// A gateway: so many requests at a time for the service behind, which is told who sends them as the
// gateway knows it.
func ExampleHandler_reverseProxy() {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tags, err := httplimit.ParseTags(r.Header)
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
			httplimit.SetTags(r.Out.Header, tag.FromContext(r.In.Context()))
		},
	}
	gateway, err := httplimit.NewHandler(proxy, c, httplimit.HandlerConfig{Tags: func(*http.Request) tag.Tags {
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
