package again

import (
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
)

// input gives each try the same standard input. It is for one try at a time.
type input struct {
	// file is nil if the command gets no input.
	file *os.File
	// stream: file cannot be read again, so kept has the bytes that the tries have read.
	stream bool
	// start is the offset in a regular file where each try begins to read, or -1.
	start int64
	// most bounds kept, in bytes.
	most int64
	kept []byte
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
	}
	return &input{file: file, start: -1, stream: info.Mode()&os.ModeCharDevice == 0, most: most}, nil
}

// connect gives cmd its standard input. Call end after the command has ended.
func (i *input) connect(cmd *exec.Cmd) (end func(), err error) {
	end = func() {}
	switch {
	case i == nil || i.file == nil:
		return end, nil
	case i.stream:
		return i.feed(cmd)
	case i.start >= 0:
		_, err = i.file.Seek(i.start, io.SeekStart)
	}
	cmd.Stdin = i.file
	return end, err
}

func (i *input) keep(read []byte) {
	if i.lost == nil && int64(len(i.kept)+len(read)) > i.most {
		i.lose(fmt.Errorf("the command read more than %s of standard input; want a file with <, or a larger --stdin-max",
			value.ShowSize(i.most)))
	}
	if i.lost == nil {
		i.kept = append(i.kept, read...)
	}
}

func (i *input) lose(err error) { i.kept, i.lost = nil, fmt.Errorf("no other try: %w", err) }
