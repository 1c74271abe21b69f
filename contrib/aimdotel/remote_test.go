package aimdotel

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	sdk "go.opentelemetry.io/otel/sdk/metric"

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
		source, reader := &file{}, sdk.NewManualReader()
		c, err := remote.New(source, remote.Config{})
		require.NoError(t, err)
		of := WithMeterProvider(sdk.NewMeterProvider(sdk.WithReader(reader)))
		registered, err := RegisterRemote(c.Snapshot, of)
		require.NoError(t, err)
		require.Zero(t, collect(t, reader)["aimd.remote.confirmed"].points["rules.json"])
		require.NoError(t, c.Refresh(t.Context()))
		source.err = errors.New("no route")
		require.Error(t, c.Refresh(t.Context()))
		one := func(v float64) map[string]float64 { return map[string]float64{"rules.json": v} }
		require.Equal(t, map[string]instrument{
			"aimd.remote.looks":     {"counter", "{look}", one(2)},
			"aimd.remote.failures":  {"counter", "{look}", one(1)},
			"aimd.remote.version":   {"gauge", "", one(7)},
			"aimd.remote.confirmed": {"gauge", "s", one(946684800)},
		}, collect(t, reader))
		require.NoError(t, registered.Unregister())
		require.Empty(t, collect(t, reader))
		_, err = RegisterRemote(c.Snapshot, WithMeterProvider(broken{}))
		require.ErrorIs(t, err, errBroken)
		require.Panics(t, func() { _, _ = RegisterRemote(nil) })
	})
}
