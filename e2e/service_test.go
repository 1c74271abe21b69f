package e2e

import (
	"encoding/json"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/aimd-go/aimd/admission"
	"github.com/aimd-go/aimd/httplimit"
)

const (
	// serviceRole makes the test binary a service behind an httplimit.Handler: the
	// server of TestOverload.
	serviceRole = "service"
	// operationHeader is the operation's name; the service's answer is the same.
	operationHeader = "E2e-Operation"
)

// ledger is what the service tells at /ledger.
type ledger struct {
	// Served are the operations that were done, Most is how many requests
	// were in service at a time at most.
	Served []string `json:"served"`
	Most   int64    `json:"most"`
	// Door is how its controller stands.
	Door admission.Snapshot `json:"door"`
}

// serveBusy is the main function of that process: it says where it listens, and
// ends when its standard input does.
func serveBusy() int {
	door, err := admission.New(admission.Fixed(slots), admission.Config{
		QueueBound: slots,
	})
	if err != nil {
		log.Print(err)
		return 1
	}
	w := &work{door: door, served: make(chan string, 1<<16)}
	mux := http.NewServeMux()
	mux.Handle("/work", w)
	mux.HandleFunc("/ledger", w.ledger)
	h, err := httplimit.NewHandler(mux, door, httplimit.HandlerConfig{Bypass: func(r *http.Request) bool { return r.URL.Path == "/ledger" }})
	if err != nil {
		log.Print(err)
		return 1
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Print(err)
		return 1
	}
	go func() { log.Print(http.Serve(l, h)) }()
	_, _ = io.WriteString(os.Stdout, l.Addr().String()+"\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// work is the handler behind: slow, by a fifth more or less, and it knows nothing
// of any limit.
type work struct {
	door         *admission.Controller
	inside, most atomic.Int64
	served       chan string
}

func (w *work) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	n := w.inside.Add(1)
	defer w.inside.Add(-1)
	for m := w.most.Load(); n > m && !w.most.CompareAndSwap(m, n); m = w.most.Load() {
	}
	time.Sleep(time.Duration(float64(service) * (0.8 + 0.4*rand.Float64())))
	operation := r.Header.Get(operationHeader)
	w.served <- operation
	_, _ = io.WriteString(rw, operation)
}

// ledger tells what was done since it told the last time.
func (w *work) ledger(rw http.ResponseWriter, _ *http.Request) {
	l := ledger{Served: []string{}, Most: w.most.Load(), Door: w.door.Snapshot()}
	for len(w.served) > 0 {
		l.Served = append(l.Served, <-w.served)
	}
	if err := json.NewEncoder(rw).Encode(l); err != nil {
		log.Print(err)
	}
}
