package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
)

// file is a remote.Source: what --rules names.
type file string

func (f file) Fetch(context.Context) ([]byte, error) { return cli.ReadFile(string(f)) }

func (f file) String() string { return string(f) }

// windowAge is the time for which a window is kept that no limiter has: after that Restore would not take it.
const windowAge = time.Hour

// load reads the windows of an earlier run. A file that is not there has none, nor has an empty one, which a machine may
// leave that lost its power.
func load(path string) (windows map[string]aimd.Snapshot, err error) {
	text, err := cli.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &windows)
	}
	return windows, err // with an error it is not overwritten: it may be another's
}

// save writes the windows, with the windows of the last hour that are in the file: another proxy
// that shares it may have them, or the run before.
func (p *proxy) save() error {
	before, err := load(p.stateFile)
	if err != nil {
		return err
	}
	all := map[string]aimd.Snapshot{}
	for name, s := range before {
		if time.Since(s.At).Abs() < windowAge { // a clock may have been wrong
			all[name] = s
		}
	}
	for _, l := range p.limited.All() {
		s := l.Snapshot()
		all[s.Name] = s
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return cli.WriteFile(p.stateFile, text, 0o600)
}

// keep saves the windows if there is a file for them.
func (p *proxy) keep() {
	if p.stateFile == "" {
		return
	}
	if err := p.save(); err != nil {
		p.log.Warn("the windows are not kept", "err", err)
	}
}
