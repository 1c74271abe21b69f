package body

import (
	"bytes"
	"io"
)

// mostEvent is the part of an event that is kept. Our choice: errors are short.
const mostEvent = 4 << 10

// events is a stream of events that passes as it comes.
type events struct {
	io.ReadCloser
	failed func(event []byte)
	event  []byte
	// blank: the last line has ended. long: the event has more than is kept.
	blank, long bool
}

// Watch returns a stream of events, and calls failed with each event that may be an error: its name or its data has the
// word. The bytes pass as they come.
func Watch(stream io.ReadCloser, failed func(event []byte)) io.ReadCloser {
	return &events{ReadCloser: stream, failed: failed, blank: true}
}

func (e *events) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n') + 1
		if i == 0 {
			i = len(rest)
		}
		e.add(rest[:i])
		rest = rest[i:]
	}
	return n, err
}

// add takes a line, or a part of one.
func (e *events) add(line []byte) {
	ends := line[len(line)-1] == '\n'
	if e.blank && len(bytes.TrimSpace(line)) == 0 {
		if !ends { // half of a line's end
			return
		}
		if !e.long && (bytes.Contains(e.event, []byte("rror")) || bytes.Contains(e.event, []byte("failed"))) {
			e.failed(append(e.event, '\n'))
		}
		e.event, e.long = e.event[:0], false
		return
	}
	e.blank = ends
	if e.long = e.long || len(e.event)+len(line) > mostEvent; !e.long {
		e.event = append(e.event, line...)
	}
}
