package viewer

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/aimd-go/aimd"
)

// BenchmarkTick is the cost of one event of a page, without the writing.
func BenchmarkTick(b *testing.B) {
	l, err := aimd.NewReno()
	if err != nil {
		b.Fatal(err)
	}
	w, p := Handler(of(l), nil, nil).(*handler).watch, page{every: usual, seen: map[int]known{}}
	b.ReportAllocs()
	for b.Loop() {
		w.polled = time.Time{}
		if _, err := json.Marshal(w.news(&p)); err != nil {
			b.Fatal(err)
		}
	}
}
