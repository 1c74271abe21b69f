package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/aimd-go/aimd"
)

// file is a remote.Source: the file that --rules names.
type file string

func (f file) Fetch(context.Context, string) ([]byte, string, error) {
	text, err := os.ReadFile(string(f))
	return text, "", err
}

func (f file) String() string { return string(f) }

// load reads the windows of an earlier run. A file that is not there has none, nor has an empty one, which a machine may
// leave that lost its power.
func load(path string) (windows map[string]aimd.Snapshot, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &windows)
	}
	return windows, err // with an error it is not overwritten: it may be another's
}

// save writes the windows, with those of the last hour that no program has asked for since.
func (p *proxy) save() error {
	all := map[string]aimd.Snapshot{}
	for name, s := range p.windows {
		if time.Since(s.At) < time.Hour {
			all[name] = s
		}
	}
	for _, l := range p.limiters() {
		s := l.Snapshot()
		all[s.Name] = s
	}
	text, err := json.Marshal(all)
	if err == nil {
		err = os.WriteFile(p.stateFile+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(p.stateFile+".new", p.stateFile)
	}
	return err
}
