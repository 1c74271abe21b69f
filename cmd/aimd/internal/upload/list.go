package upload

import (
	"bufio"
	"context"
	"errors"
	"io"
	"path"
	"path/filepath"
)

// list finds the files of a list: each line is a path below the directory. They may come in any order.
func (w walker) list(ctx context.Context, dir string, list io.Reader) {
	lines, read := make(chan string), make(chan error, 1)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // who writes the list may be slow, or never end
		in := bufio.NewScanner(list)
		for in.Scan() {
			select {
			case lines <- in.Text():
			case <-ctx.Done():
				return
			}
		}
		read <- in.Err()
	}()
	for more := true; more; {
		select {
		case line := <-lines:
			more = line == "" || w.line(dir, line)
		case err := <-read:
			if err != nil {
				w.yield(entry{path: "--files-from", err: err})
			}
			return
		case <-ctx.Done():
			return
		}
	}
}

func (w walker) line(dir, line string) bool {
	key := w.prefix + path.Clean(filepath.ToSlash(line))
	if local := filepath.FromSlash(line); filepath.IsLocal(local) {
		return w.file(filepath.Join(dir, local), key)
	}
	return w.yield(entry{line, key, 0, errors.New("want a path below the directory")})
}
