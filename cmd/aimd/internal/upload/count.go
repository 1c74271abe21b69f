package upload

import (
	"context"
	"os"
	"sync"
	"sync/atomic"

	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/walk"
)

// count is a second walk, ahead of the first, that tells how much there is to do.
// It holds no more than the first does.
type count struct {
	files, bytes atomic.Int64
	// over: all is counted.
	over atomic.Bool
	wg   sync.WaitGroup
}

// begin counts in the background until the context ends.
func (c *count) begin(ctx context.Context, w walk.Walker, roots []string) {
	c.wg.Go(func() {
		for e := range w.Files(ctx, roots) {
			c.files.Add(1)
			if e.Err != nil {
				continue
			}
			if info, err := os.Stat(e.Path); err == nil {
				c.bytes.Add(info.Size())
			}
		}
		c.over.Store(ctx.Err() == nil)
	})
}
