package remote_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/remote"
)

// The document in the package comment is one, and the table of fields is the
// code's: all of them, and the ends of what is allowed.
func TestDoc(t *testing.T) {
	data, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	doc := strings.ReplaceAll(string(data), "\n//\t", "\n\t")

	sample := regexp.MustCompile(`(?s)\n\t\{.*?\n\t\}`).FindString(doc)
	d, err := remote.Parse([]byte(sample))
	require.NoError(t, err)
	assert.EqualValues(t, 42, d.Version)

	accepts := func(path, value string, want bool) {
		_, err := remote.Parse(with(path, value))
		assert.Equal(t, want, err == nil, "%s: %s: %v", path, value, err)
	}
	_, table, _ := strings.Cut(doc, "\n\tfield ")
	table, _, _ = strings.Cut(table, "\n//\n")
	span := regexp.MustCompile(`^("?)([0-9]+)(\w*)"?(?: \(no retries\))? to "?([0-9]+)(\w*)`)
	var paths []string
	for _, row := range regexp.MustCompile(`(?m)^\t([a-z_.]+)  +.*?\S  +(\S.*)$`).FindAllStringSubmatch(table, -1) {
		path, allowed := row[1], row[2]
		paths = append(paths, path)
		switch b := span.FindStringSubmatch(allowed); {
		case path == "version": // "1 to 2^53 - 1, rising"
			accepts(path, "9007199254740991", true)
			accepts(path, "9007199254740992", false)
		case allowed == "above 0, below 1":
			accepts(path, "0.5", true)
			accepts(path, "0", false)
			accepts(path, "1", false)
		case b != nil && b[1] == "":
			most, err := strconv.Atoi(b[4])
			require.NoError(t, err)
			accepts(path, b[2], true)
			accepts(path, "0", false)
			accepts(path, b[4], true)
			accepts(path, strconv.Itoa(most+1), false)
		case b != nil:
			accepts(path, `"`+b[2]+b[3]+`"`, true)
			accepts(path, `"0"`, false)
			accepts(path, `"`+b[4]+b[5]+`"`, true)
			accepts(path, `"`+b[4]+b[5]+`1ns"`, false)
		default:
			assert.Contains(t, []string{"1", "at most 1000, of 1 to 128 bytes"}, allowed, path)
		}
	}
	assert.Equal(t, []string{
		"format", "version", "window.min", "window.max", "window.factor", "retry.max_attempts",
		"retry.max_pause", "retry.budget_share", "schedule.period", "features_off",
	}, paths)
}
