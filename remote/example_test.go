package remote_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/remote"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/setting"
	"github.com/aimd-go/aimd/tag"
)

// A client of a service that tells its clients how to behave.
func Example() {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"format": 1, "version": 7, "window": {"max": 8}, "features_off": ["thumbnails"]}`)
	}))
	defer service.Close()

	lim, err := aimd.New(aimd.Config{})
	if err != nil {
		panic(err)
	}
	var features remote.Features
	source, err := remote.NewHTTP(service.URL, nil, nil)
	if err != nil {
		panic(err)
	}
	var limiters remote.Limiters
	if err := limiters.Add(lim); err != nil {
		panic(err)
	}
	budget, err := retry.NewBudget(retry.BudgetConfig{})
	if err != nil {
		panic(err)
	}
	share := func(d remote.Document) error { return budget.SetShare(d.Retry.BudgetShare) }
	client := remote.New(source, limiters.Apply, features.Apply, share)
	if err := client.Refresh(context.Background()); err != nil {
		fmt.Println("begins with settings of its own:", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go client.Run(ctx, 5*time.Minute)

	fmt.Println("version in force:", client.Snapshot().Document.Version)
	fmt.Println("most in flight:", lim.Snapshot().Config.MaxWindow)
	fmt.Println(features.Admit(tag.WithFeature(context.Background(), "thumbnails"), 1))
	// Output:
	// version in force: 7
	// most in flight: 8
	// aimd: feature is off: "thumbnails"
}

// A bad document is refused, and the error says why.
func ExampleParse() {
	_, err := remote.Parse([]byte(`{"format": 1, "version": 2, "window": {"max": -8}}`))
	var field *setting.Error
	fmt.Println(errors.As(err, &field), field.Name)
	fmt.Println(err)
	// Output:
	// true window.max
	// remote: window.max: -8 is not allowed, want a number from 1 to 1048576
}

// A secret goes into the header, and into no error and no snapshot.
func ExampleNewHTTP() {
	source, err := remote.NewHTTP("https://me@config.example/clients.json?key=1", nil, http.Header{"Authorization": {"Bearer secret"}})
	fmt.Println(source, err)
	// Output: https://config.example/clients.json <nil>
}

// A limiter for each host gets the settings of the document when it is made.
func ExampleLimiters_Add() {
	var limiters remote.Limiters // its Apply is given to the program's Client
	document, err := remote.Parse([]byte(`{"format": 1, "version": 1, "window": {"max": 8}}`))
	if err != nil {
		panic(err)
	}
	fmt.Println(limiters.Apply(document)) // as the Client does

	hosts, err := aimd.NewKeyed(func(string) (*aimd.Limiter, error) {
		l, err := aimd.New(aimd.Config{})
		if err != nil {
			return nil, err
		}
		if err := limiters.Add(l); err != nil {
			fmt.Println("goes on with settings of its own:", err)
		}
		return l, nil
	}, aimd.KeyedConfig{})
	if err != nil {
		panic(err)
	}
	l, err := hosts.For("one.example")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Snapshot().Config.MaxWindow)
	// Output:
	// <nil>
	// 8
}

func ExampleFeatures() {
	var features remote.Features // its Apply is given to the program's Client
	lim, err := aimd.New(aimd.Config{Law: aimd.Reno(0.5), Guards: []attempt.Guard{&features}})
	if err != nil {
		panic(err)
	}
	document, err := remote.Parse([]byte(`{"format": 1, "version": 1, "features_off": ["thumbnails"]}`))
	if err != nil {
		panic(err)
	}
	if err := features.Apply(document); err != nil {
		panic(err)
	}

	ctx := tag.WithFeature(context.Background(), "thumbnails")
	err = lim.Do(ctx, func(context.Context) error {
		fmt.Println("sent")
		return nil
	})
	fmt.Println(err)
	fmt.Println(errors.Is(err, remote.ErrFeatureOff))
	// Output:
	// gave up before the first attempt: aimd: feature is off: "thumbnails"
	// true
}

// A part of one's own: the program sends in batches of the largest window that the service allows.
func ExampleNew() {
	size := 100
	batches := func(d remote.Document) error {
		if d.Window.Max > 0 && d.Window.Max < 10 {
			return &setting.Error{Name: "window.max", Value: fmt.Sprint(d.Window.Max), Want: "at least 10, the smallest batch"}
		}
		size = cmp.Or(int(d.Window.Max), 100)
		return nil
	}
	for _, most := range []int{64, 8} {
		document, err := remote.Parse(fmt.Appendf(nil, `{"format": 1, "version": 1, "window": {"max": %d}}`, most))
		if err != nil {
			panic(err)
		}
		fmt.Println(batches(document), size)
	}
	// Output:
	// <nil> 64
	// window.max: 8 is not allowed, want at least 10, the smallest batch 64
}
