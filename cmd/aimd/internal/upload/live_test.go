package upload

import (
	"bufio"
	"bytes"
	"net/http"
	"regexp"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The store looks at the page when the first file comes.
func TestLive(t *testing.T) {
	w := newWorld(t)
	w.write("a", "content")
	cmd := Command()
	var stderr bytes.Buffer // nothing writes to it but before the work and, with --quiet, after it
	seen := ""
	var once sync.Once
	w.set(func(_ http.ResponseWriter, r *http.Request) bool {
		if isPut(r) {
			once.Do(func() { seen = look(t, stderr.String()) })
		}
		return false
	})
	cmd.SetOut(new(bytes.Buffer))
	cmd.SetErr(&stderr)
	cmd.SetArgs([]string{w.dir, "s3://" + testBucket, "--endpoint", w.URL, "--live", "--quiet"})
	require.NoError(t, cmd.ExecuteContext(t.Context()))
	assert.Contains(t, seen, `"name":"upload"`)
	assert.Len(t, w.stored(), 1)
}

// look returns what the page is told first.
func look(t *testing.T, stderr string) string {
	address := regexp.MustCompile(`^live: (http://127\.0\.0\.1:\d+/)\n$`).FindStringSubmatch(stderr)
	if !assert.NotNil(t, address, stderr) {
		return ""
	}
	res, err := http.Get(address[1] + "events")
	if !assert.NoError(t, err) {
		return ""
	}
	defer res.Body.Close()
	line, err := bufio.NewReader(res.Body).ReadString('\n')
	assert.NoError(t, err)
	return line
}
