package again

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"

	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
)

// input gives each try the same standard input. It is for one try at a time. The zero value gives none.
type input struct {
	// file is nil if the command gets no input.
	file *os.File
	// start is the offset in a regular file where each try begins to read, or -1.
	start int64
	// chunks has the pieces of a stream, which cannot be read again, in their order; nil: file is no stream.
	chunks chan []byte
	reader sync.Once
	// kept is the stream so far, of at most most bytes.
	kept []byte
	most int64
	// lost is the reason why no other try can have the same input, or nil.
	lost error
}

// newInput decides how to give file to each try. If most is 0, the command gets no input.
func newInput(file *os.File, most int64) (*input, error) {
	info, err := file.Stat()
	switch {
	case most == 0 || err != nil: // it is closed
		return &input{}, nil
	case info.Mode().IsRegular():
		start, err := file.Seek(0, io.SeekCurrent)
		return &input{file: file, start: start}, err
	case info.Mode()&os.ModeCharDevice != 0: // a terminal
		return &input{file: file, start: -1}, nil
	}
	return &input{file: file, chunks: make(chan []byte), most: most}, nil
}

// connect gives cmd its standard input. Call disconnect after the command has ended.
func (i *input) connect(cmd *exec.Cmd) (disconnect func(), err error) {
	disconnect = func() {}
	switch {
	case i.file == nil:
		return disconnect, nil
	case i.chunks != nil:
		return i.feed(cmd)
	case i.start >= 0:
		_, err = i.file.Seek(i.start, io.SeekStart)
	}
	cmd.Stdin = i.file
	return disconnect, err
}

// feed begins to give cmd the stream: what earlier tries got, and then the rest.
func (i *input) feed(cmd *exec.Cmd) (disconnect func(), err error) {
	w, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	i.reader.Do(func() { go i.read() })
	ended := make(chan struct{})
	var copied sync.WaitGroup
	copied.Go(func() {
		defer w.Close()
		_, err := w.Write(i.kept)
		for more := true; more && err == nil; {
			var chunk []byte
			select {
			case chunk, more = <-i.chunks:
				i.keep(chunk)
				_, err = w.Write(chunk)
			case <-ended:
				return
			}
		}
	})
	return func() {
		close(ended)
		_ = w.Close() // a child of the command may have the pipe, and not read it
		copied.Wait()
	}, nil
}

// read reads the stream to its end, not more than a chunk ahead.
func (i *input) read() {
	defer close(i.chunks)
	for {
		chunk := make([]byte, 32<<10)
		n, err := i.file.Read(chunk)
		if i.chunks <- chunk[:n]; err != nil {
			return
		}
	}
}

func (i *input) keep(chunk []byte) {
	if i.lost == nil && int64(len(i.kept)+len(chunk)) > i.most {
		i.kept = nil
		i.lost = fmt.Errorf("no other try: the command got more than %s of standard input; want a file with <, or a larger --stdin-max",
			value.ShowSize(i.most))
	}
	if i.lost == nil {
		i.kept = append(i.kept, chunk...)
	}
}
