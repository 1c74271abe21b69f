package sharetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/share"
)

// Conforms holds that a store does what share.Store says. The store must be empty. sleep waits at the store's clock: in a test
// with a real one time.Sleep, with few and short waits.
func Conforms(t *testing.T, s share.Store, sleep func(time.Duration)) {
	const short, long = 300 * time.Millisecond, time.Minute
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	report := func(id, row string, lease time.Duration) share.Answer {
		t.Helper()
		a, err := s.Report(ctx, id, []byte(row), lease)
		require.NoError(t, err)
		return a
	}
	lead := func(id string, run int64, message string, lease time.Duration) map[string]string {
		t.Helper()
		rows, err := s.Lead(ctx, id, run, []byte(message), lease)
		require.NoError(t, err)
		all := map[string]string{}
		for id, row := range rows {
			all[id] = string(row)
		}
		return all
	}
	lost := func(id string, run int64) {
		t.Helper()
		_, err := s.Lead(ctx, id, run, []byte(`{"w":0}`), long)
		require.ErrorIs(t, err, share.ErrLost)
	}

	// The first leads, and the others do not.
	a := report("aaaaaaaaaaaa", `{"n":1}`, long)
	require.Positive(t, a.Run)
	require.Empty(t, a.Message)
	require.Zero(t, report("bbbbbbbbbbbb", `{"n":2}`, long).Run)
	lost("bbbbbbbbbbbb", a.Run)
	lost("aaaaaaaaaaaa", a.Run+1)
	require.Equal(t, map[string]string{"aaaaaaaaaaaa": `{"n":1}`, "bbbbbbbbbbbb": `{"n":2}`}, lead("aaaaaaaaaaaa", a.Run, "", long))
	require.Empty(t, report("bbbbbbbbbbbb", `{"n":3}`, short).Message, "there is no message yet")
	require.Empty(t, lead("aaaaaaaaaaaa", a.Run, `{"w":7}`, long), "with a message there are no rows")
	require.Equal(t, map[string]string{"aaaaaaaaaaaa": `{"n":1}`, "bbbbbbbbbbbb": `{"n":3}`}, lead("aaaaaaaaaaaa", a.Run, "", long))
	b := report("cccccccccccc", `{"n":4}`, long)
	require.Equal(t, `{"w":7}`, string(b.Message), "the message stays, and is for those that come later")

	// A row is gone after its lease, and the store's clock runs.
	sleep(2 * short)
	require.Equal(t, map[string]string{"aaaaaaaaaaaa": `{"n":1}`, "cccccccccccc": `{"n":4}`}, lead("aaaaaaaaaaaa", a.Run, "", short))
	now := report("cccccccccccc", `{"n":5}`, long)
	assert.WithinDuration(t, b.Now.Add(2*short), now.Now, 10*time.Second)
	assert.True(t, now.Now.After(b.Now))
	require.Zero(t, now.Run)

	// A report of the leader does not prolong its leadership. Another one follows it, and the old one is fenced.
	require.Equal(t, a.Run, report("aaaaaaaaaaaa", `{"n":1}`, long).Run)
	sleep(2 * short)
	next := report("cccccccccccc", `{"n":6}`, long)
	require.Greater(t, next.Run, a.Run)
	require.Zero(t, report("aaaaaaaaaaaa", `{"n":1}`, long).Run)
	lost("aaaaaaaaaaaa", a.Run)
	require.Equal(t, `{"w":7}`, string(report("aaaaaaaaaaaa", `{"n":1}`, long).Message), "one that is fenced leaves no message")

	// Who leaves hands over its row and its leadership.
	require.NoError(t, s.Leave(ctx, "cccccccccccc"))
	require.NoError(t, s.Leave(ctx, "cccccccccccc"))
	last := report("aaaaaaaaaaaa", `{"n":8}`, short)
	require.Greater(t, last.Run, next.Run)
	require.Equal(t, map[string]string{"aaaaaaaaaaaa": `{"n":8}`}, lead("aaaaaaaaaaaa", last.Run, "", short))

	// Of many that report at once one leads. A message of many processes, and a row of a kilobyte, come as they went.
	sleep(2 * short)
	var group sync.WaitGroup
	runs, failures := make([]int64, 20), make([]error, 20)
	row := fmt.Sprintf(`{"of":%q}`, make([]byte, 150))
	for i := range runs {
		group.Go(func() {
			a, err := s.Report(ctx, fmt.Sprintf("many%08d", i), []byte(row), long)
			runs[i], failures[i] = a.Run, err
		})
	}
	group.Wait()
	leads := 0
	for i, run := range runs {
		require.NoError(t, failures[i])
		if run > 0 {
			leads++
			require.Greater(t, run, last.Run)
			message := fmt.Sprintf(`{"of":%q}`, make([]byte, 10_000))
			require.Empty(t, lead(fmt.Sprintf("many%08d", i), run, message, long))
			rows := lead(fmt.Sprintf("many%08d", i), run, "", long)
			require.Len(t, rows, len(runs))
			require.Equal(t, row, rows["many00000007"])
			require.Equal(t, message, string(report("many00000003", row, long).Message))
		}
	}
	require.Equal(t, 1, leads)
	for i := range runs {
		require.NoError(t, s.Leave(ctx, fmt.Sprintf("many%08d", i)))
	}

	// A call ends with its context.
	ended, end := context.WithCancel(context.Background())
	end()
	_, err := s.Report(ended, "aaaaaaaaaaaa", nil, long)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, share.ErrRefused)
}
