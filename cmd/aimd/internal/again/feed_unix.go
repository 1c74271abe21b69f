//go:build unix

package again

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"

	"golang.org/x/sys/unix"
)

// page is the most that the command is given at once, in bytes.
const page = 4 << 10

// feeder copies a stream to the command's standard input while the command runs. On Linux
// tee(2) copies a page of a pipe to the command, and takes it when the command has read it:
// so a shell's loop keeps its unread lines. From any other stream it reads one page ahead.
type feeder struct {
	*input
	from, r, w int
	stop       *os.File
	// offered is how many bytes the command has been given that are still in the stream.
	offered int
	buf     [page]byte
}

// feed starts to copy the stream to cmd.
func (i *input) feed(cmd *exec.Cmd) (end func(), err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stop, ask, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, r.Close(), w.Close())
	}
	cmd.Stdin = r
	f := &feeder{input: i, from: int(i.file.Fd()), r: int(r.Fd()), w: int(w.Fd()), stop: stop}
	onePage(f.w)
	var done sync.WaitGroup
	done.Go(func() {
		f.copy()
		_ = w.Close() // the command reads to the end
	})
	return func() {
		_ = ask.Close()
		done.Wait()
		f.settle()
		_, _ = r.Close(), stop.Close()
	}, nil
}

// copy gives the command the bytes that earlier tries have read, then the rest of the stream.
func (f *feeder) copy() {
	for given := 0; f.wait(f.w, unix.POLLOUT); {
		f.settle()
		n := 0
		if given < len(f.kept) {
			n, _ = unix.Write(f.w, f.kept[given:min(given+page, len(f.kept))])
		} else if f.wait(f.from, unix.POLLIN) {
			n = f.next()
		}
		if n <= 0 {
			return
		}
		given += n
	}
}

// next gives the command up to a page of the stream. It returns 0 at its end.
func (f *feeder) next() int {
	n, err := tee(f.from, f.w, page)
	if err == nil {
		f.offered = n
		return n
	}
	n, err = unix.Read(f.from, f.buf[:])
	if n <= 0 || err != nil {
		return 0
	}
	f.keep(f.buf[:n])
	_, _ = unix.Write(f.w, f.buf[:n])
	return n
}

// settle takes the bytes from the stream that the command has read, and keeps them.
func (f *feeder) settle() {
	if f.offered == 0 {
		return
	}
	left, err := unread(f.r)
	if err != nil {
		f.lose(fmt.Errorf("standard input: %w", err))
		return
	}
	n, err := unix.Read(f.from, f.buf[:f.offered-left])
	if f.offered = 0; err == nil {
		f.keep(f.buf[:n])
	}
}

// wait waits for events of fd. It returns false if the command has ended.
func (f *feeder) wait(fd int, events int16) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: events}, {Fd: int32(f.stop.Fd()), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(fds, -1); !errors.Is(err, unix.EINTR) {
			return err == nil && fds[1].Revents == 0
		}
	}
}
