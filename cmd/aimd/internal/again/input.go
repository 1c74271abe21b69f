package again

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
)

// input is the standard input of each try.
type input struct {
	// file is nil for none.
	file *os.File
	// start is where each try begins to read; -1: there is no going back, as with a
	// terminal.
	start int64
	// own: the file is a copy, to be closed.
	own bool
}

// patience is how long standard input may take before it is said what is waited for.
const patience = time.Second

// keep makes an input of standard input that can be read again and again. What is no
// file is copied into one, of no more than so many bytes; 0: there is no input.
func keep(ctx context.Context, in io.Reader, most int64, told io.Writer) (*input, error) {
	f, ok := in.(*os.File)
	if most == 0 {
		return &input{}, nil
	}
	if ok {
		info, err := f.Stat()
		switch {
		case err != nil:
			return &input{}, nil // it is closed
		case info.Mode().IsRegular():
			start, err := f.Seek(0, io.SeekCurrent)
			return &input{file: f, start: start}, err
		case info.Mode()&os.ModeCharDevice != 0:
			return &input{file: f, start: -1}, nil
		}
	}
	waits := time.AfterFunc(patience, func() {
		fmt.Fprintln(told, "aimd: reading standard input, to give it to each try; --stdin-max 0 gives it none")
	})
	defer waits.Stop()
	return spool(ctx, in, most)
}

// spool copies all of in.
func spool(ctx context.Context, in io.Reader, most int64) (*input, error) {
	f, err := os.CreateTemp("", "aimd-stdin-")
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	_ = os.Remove(f.Name()) // so nothing stays, however it ends; where that is refused, close does it
	i := &input{file: f, own: true}
	copied := make(chan error, 1)
	go func() {
		n, err := io.Copy(f, io.LimitReader(in, most+1))
		if err == nil && n > most {
			err = fmt.Errorf("more than %s is not allowed, want less, a file with <, a larger --stdin-max, or 0 for none; nothing was run", value.ShowSize(most))
		}
		copied <- err
	}()
	select {
	case err = <-copied:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil {
		return i, nil
	}
	i.close()
	if errors.Is(err, context.Canceled) {
		return nil, err
	}
	return nil, fmt.Errorf("standard input: %w", err)
}

// rewound is the file for the next try, nil for none.
func (i *input) rewound() (*os.File, error) {
	if i == nil {
		return nil, nil
	}
	if i.file == nil || i.start < 0 {
		return i.file, nil
	}
	_, err := i.file.Seek(i.start, io.SeekStart)
	return i.file, err
}

func (i *input) close() {
	if i.own {
		i.file.Close()
		_ = os.Remove(i.file.Name())
	}
}
