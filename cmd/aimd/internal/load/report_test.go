package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// output is a bytes.Buffer that may be read while it is written.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// wait waits until the output matches, and returns the match's groups.
func (o *output) wait(t *testing.T, form string) []string {
	t.Helper()
	r := regexp.MustCompile(form)
	require.Eventually(t, func() bool { return r.MatchString(o.String()) }, 20*time.Second, time.Millisecond, "%s in %s", form, o)
	return r.FindStringSubmatch(o.String())
}

// asked runs a quick server for one request, until the lines are as wanted.
func asked(t *testing.T, json bool, line string) (stdout string) {
	t.Helper()
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	var lines, said output
	s := server{slowdown: textual(), address: "127.0.0.1:0", stderr: &said}
	s.every, s.json, s.to = 5*time.Millisecond, json, &lines
	s.base, s.recheck = 10*time.Millisecond, time.Millisecond
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx) }()
	url := said.wait(t, `Listening at (http://127\.0\.0\.1:\d+/api),`)[1]

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, errors.Join(err, resp.Body.Close()))
	assert.Equal(t, "OK", string(body))

	lines.wait(t, line)
	end()
	require.NoError(t, <-ended)
	return lines.String()
}

// The form of the text: "Jun 21 22:13:07.492: concurrency: 1040, last delay: 2.671444385s".
func TestServerLines(t *testing.T) {
	out := asked(t, false, `(?m)^[A-Z][a-z]{2} [ 123]\d \d\d:\d\d:\d\d\.\d{3}: concurrency:    [01], last delay: 10ms$`)
	assert.Regexp(t, `\nServed 1 requests in \d.*s, 0 of them for clients that had given up, at most 1 at a time; 0 were not done.\n$`, out)

	at := time.Date(2014, 6, 21, 22, 13, 7, 492e6, time.UTC)
	for want, c := range map[string]serviceCounts{
		"Jun 21 22:13:07.492: concurrency: 1040, last delay: 2.671444385s": {Concurrency: 1040, LastDelay: 2671444385},
		"Jun 21 22:13:07.492: concurrency:    8, last delay: 100ms":        {Concurrency: 8, LastDelay: 100 * time.Millisecond},
	} {
		assert.Equal(t, want, c.report(at).line)
	}

	out = asked(t, true, `"served":1,"abandoned":0,"last_delay_s":0.01}`)
	all := strings.Split(strings.TrimSpace(out), "\n")
	var line struct{ Time time.Time }
	require.NoError(t, json.Unmarshal([]byte(all[0]), &line))
	assert.WithinDuration(t, time.Now(), line.Time, time.Minute)
	assert.Regexp(t, `^{"summary":{"seconds":\d.*,"concurrency":0,"peak":1,"served":1,"abandoned":0}}$`, all[len(all)-1])
}

func TestWhatCanNotListenSaysSo(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	err = server{address: l.Addr().String()}.run(t.Context())
	require.ErrorContains(t, err, "address already in use")
}

// On Linux a full backlog answers no client.
func TestBacklog(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems round it up, or refuse")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	require.NoError(t, setBacklog(l, 1))
	for range 2 { // one more than it says
		c, err := net.DialTimeout("tcp", l.Addr().String(), 20*time.Second)
		require.NoError(t, err)
		defer c.Close()
	}
	_, err = net.DialTimeout("tcp", l.Addr().String(), 50*time.Millisecond)
	require.ErrorContains(t, err, "timeout")
}
