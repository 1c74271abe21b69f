package viewer

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/aimd-go/aimd"
)

// BenchmarkTick is what a page costs each time it is told, but for the writing.
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
