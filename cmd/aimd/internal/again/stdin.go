package again

import (
	"errors"
	"io"
	"os"
	"os/exec"
)

// input gives each try the same standard input. It is for one try at a time. The zero value gives none.
type input struct {
	// file is nil if the command gets no input.
	file *os.File
	// start is the offset in a regular file where each try begins to read, or -1.
	start int64
	// lost is the reason why no other try can have the same input, or nil.
	lost error
}

// errPipe is the end of a job whose input may be used up.
var errPipe = errors.New("no other try: the command may have read its standard input, a pipe; want a file, with < (put the pipe into a file first), or < /dev/null")

// newInput decides how to give file to each try. A pipe that is at its end, as cron's, is no input.
func newInput(file *os.File) (*input, error) {
	info, err := file.Stat()
	switch {
	case err != nil || atEnd(file): // or it is closed
		return &input{}, nil
	case info.Mode().IsRegular():
		start, err := file.Seek(0, io.SeekCurrent)
		return &input{file: file, start: start}, err
	case info.Mode()&os.ModeCharDevice != 0: // a terminal
		return &input{file: file, start: -1}, nil
	}
	return &input{file: file, start: -1, lost: errPipe}, nil
}

// connect gives cmd its standard input.
func (i *input) connect(cmd *exec.Cmd) (err error) {
	if i.file == nil {
		return nil
	}
	if cmd.Stdin = i.file; i.start >= 0 {
		_, err = i.file.Seek(i.start, io.SeekStart)
	}
	return err
}
