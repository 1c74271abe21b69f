package httplimit

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/aimd-go/aimd/internal/run"
)

func hold(a *run.Attempt, resp *http.Response) io.ReadCloser {
	if w, ok := resp.Body.(io.Writer); ok && resp.StatusCode == http.StatusSwitchingProtocols {
		return &duplex{a.Connection(resp.Body), w}
	}
	return a.Body(resp.Body)
}

// duplex is a body that is a connection: an io.ReadWriteCloser, with CloseWrite as net/http has it.
type duplex struct {
	io.ReadCloser
	writer io.Writer
}

func (d *duplex) Write(p []byte) (int, error) { return d.writer.Write(p) }

func (d *duplex) CloseWrite() error {
	if c, ok := d.writer.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return fmt.Errorf("httplimit: CloseWrite: %w", errors.ErrUnsupported)
}
