package aimdprom_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/contrib/aimdprom"
	"github.com/aimd-go/aimd/remote"
)

// file is a source whose document comes or does not.
type file struct{ err error }

func (f *file) Fetch(context.Context, string) ([]byte, string, error) {
	return []byte(`{"format": 1, "version": 7}`), "", f.err
}
func (*file) String() string { return "rules.json" }

// An operator sees that no document has come: the looks, those that failed, the version, and when it was last confirmed.
func TestRemote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &file{}
		c, err := remote.New(source, remote.Config{})
		require.NoError(t, err)
		require.NoError(t, c.Refresh(t.Context()))
		source.err = errors.New("no route")
		require.Error(t, c.Refresh(t.Context()))
		require.NoError(t, testutil.CollectAndCompare(aimdprom.Remote(c.Snapshot), strings.NewReader(`
# HELP aimd_remote_confirmed_seconds Time of the last look that found the document in force, in seconds since 1970; 0 for none.
# TYPE aimd_remote_confirmed_seconds gauge
aimd_remote_confirmed_seconds{source="rules.json"} 9.466848e+08
# HELP aimd_remote_failures_total Looks that failed, or found a document that was refused.
# TYPE aimd_remote_failures_total counter
aimd_remote_failures_total{source="rules.json"} 1
# HELP aimd_remote_looks_total Looks at the source of documents.
# TYPE aimd_remote_looks_total counter
aimd_remote_looks_total{source="rules.json"} 2
# HELP aimd_remote_version Version of the document in force, 0 for none.
# TYPE aimd_remote_version gauge
aimd_remote_version{source="rules.json"} 7
`)))
	})
}
