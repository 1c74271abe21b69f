package upload

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Status is what became of a file.
type Status string

const (
	// Uploaded: the store has it, verified.
	Uploaded Status = "uploaded"
	// Skipped: the store had it already, or it is no file to upload; then there is a reason.
	Skipped Status = "skipped"
	// Failed: the store may not have it, the reason is told.
	Failed Status = "failed"
	// Planned: a dry run would upload it.
	Planned Status = "planned"
)

// Result is what became of a file, and its line of --json.
type Result struct {
	Path, Key string
	Size      int64
	Status    Status
	Err       error
	Attempts  int64
	// sent is how many bytes of it went out, and need not go again.
	sent int64
	// cut: it was under way when the run was stopped.
	cut bool
}

// MarshalJSON implements json.Marshaler.
func (r Result) MarshalJSON() ([]byte, error) {
	line := struct {
		Path string `json:"path"`
		// PathBase64 is there if the path is not UTF-8, as JSON must be.
		PathBase64 string `json:"path_base64,omitempty"`
		Key        string `json:"key"`
		Size       int64  `json:"size"`
		Status     Status `json:"status"`
		Error      string `json:"error,omitempty"`
		Attempts   int64  `json:"attempts"`
	}{Path: r.Path, Key: r.Key, Size: r.Size, Status: r.Status, Attempts: r.Attempts}
	if !utf8.ValidString(r.Path) {
		line.PathBase64 = base64.StdEncoding.EncodeToString([]byte(r.Path))
	}
	if r.Err != nil {
		line.Error = r.Err.Error()
	}
	return json.Marshal(line)
}

// String is the result in a line for people.
func (r Result) String() string {
	s := fmt.Sprintf("%s: %s", r.Status, shown(r.Path))
	switch {
	case r.Err != nil:
		return s + ": " + strings.TrimPrefix(r.Err.Error(), "open "+r.Path+": ")
	case r.Status == Planned || r.Status == Uploaded:
		return fmt.Sprintf("%s -> %s (%s)", s, shown(r.Key), bytesShown(r.Size))
	}
	return s
}

// shown is a name such that it cannot upset a terminal.
func shown(name string) string {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}

// bytesShown is a number of bytes in a unit that suits it.
func bytesShown(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	x, unit := float64(n)/(1<<10), 0
	for ; x >= 999.95 && unit < 3; unit++ {
		x /= 1 << 10
	}
	return fmt.Sprintf("%.1f %s", x, []string{"KiB", "MiB", "GiB", "TiB"}[unit])
}
