package httplimit_test

import (
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
)

// A PUT that writes at an offset was sent again after an end that leaves open whether the part was taken
// (OneDrive/onedrive-api-docs#64, iterate-ch/cyberduck#18393): 416 for its own fragment, or a block that is there twice.
// taker takes the part that comes first, and does not say so: it answers with a status, or breaks off (0).
type taker struct {
	says, then int
	sent       int
}

func (s *taker) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	time.Sleep(50 * time.Millisecond)
	status := s.says
	if s.sent++; s.sent > 1 {
		status = s.then
	}
	if status == 0 {
		return nil, syscall.ECONNRESET
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody, ProtoMajor: 1, Request: r}, nil
}

func TestAPartAtAnOffsetIsSentOnce(t *testing.T) {
	for name, c := range map[string]struct {
		header, value string
		says, then    int
	}{
		"a fragment, 503":                  {"Content-Range", "bytes 0-9/100", 503, 416},
		"a fragment, no answer":            {"Content-Range", "bytes 0-9/100", 0, 416},
		"a block at a position, no answer": {"X-Ms-Blob-Condition-Appendpos", "0", 0, 412},
		"an offset of S3, 503":             {"X-Amz-Write-Offset-Bytes", "0", 503, 400},
		"an append, no answer":             {"", "", 0, 412},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lim, err := aimd.New(aimd.Config{})
				require.NoError(t, err)
				service := &taker{says: c.says, then: c.then}
				client := (&httplimit.Transport{Base: service, Limiter: lim}).Client()
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://store.example/upload/1", strings.NewReader("0123456789"))
				require.NoError(t, err)
				if c.header == "" {
					req.URL.RawQuery = "comp=appendblock"
				} else {
					req.Header.Set(c.header, c.value)
				}
				resp, err := client.Do(req)
				if c.says == 0 {
					assert.ErrorIs(t, err, syscall.ECONNRESET)
				} else if assert.NoError(t, err) {
					assert.Equal(t, c.says, resp.StatusCode)
				}
				if resp != nil {
					resp.Body.Close()
				}
				assert.Equal(t, 1, service.sent)
				_ = lim.Close()
			})
		})
	}
}
