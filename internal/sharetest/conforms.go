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
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	k := contract{t: t, s: s, ctx: ctx, sleep: sleep}
	first := k.theFirstLeads()
	k.leases(first)
	next := k.leadershipEnds(first)
	last := k.whoLeaves(next)
	k.oneOfManyLeads(last)
	k.callsEnd()
}

// contract is what a store promises, in the order in which Conforms looks at it.
type contract struct {
	t     *testing.T
	s     share.Store
	ctx   context.Context
	sleep func(time.Duration)
}

const (
	short, long = 300 * time.Millisecond, time.Minute
	// The ids of three processes.
	a, b, c = "aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc"
)

func (k contract) report(id, row string, lease time.Duration) share.Answer {
	k.t.Helper()
	answer, err := k.s.Report(k.ctx, id, []byte(row), lease)
	require.NoError(k.t, err)
	return answer
}

func (k contract) lead(id string, run int64, message string, lease time.Duration) map[string]string {
	k.t.Helper()
	rows, err := k.s.Lead(k.ctx, id, run, []byte(message), lease)
	require.NoError(k.t, err)
	all := map[string]string{}
	for id, row := range rows {
		all[id] = string(row)
	}
	return all
}

func (k contract) lost(id string, run int64) {
	k.t.Helper()
	_, err := k.s.Lead(k.ctx, id, run, []byte(`{"w":0}`), long)
	require.ErrorIs(k.t, err, share.ErrLost)
}

// The first leads, and the others do not.
func (k contract) theFirstLeads() (run int64) {
	first := k.report(a, `{"n":1}`, long)
	require.Positive(k.t, first.Run)
	require.Empty(k.t, first.Message)
	require.Zero(k.t, k.report(b, `{"n":2}`, long).Run)
	k.lost(b, first.Run)
	k.lost(a, first.Run+1)
	require.Equal(k.t, map[string]string{a: `{"n":1}`, b: `{"n":2}`}, k.lead(a, first.Run, "", long))
	require.Empty(k.t, k.report(b, `{"n":3}`, long).Message, "there is no message yet")
	require.Empty(k.t, k.lead(a, first.Run, `{"w":7}`, long), "with a message there are no rows")
	require.Equal(k.t, map[string]string{a: `{"n":1}`, b: `{"n":3}`}, k.lead(a, first.Run, "", long))
	return first.Run
}

// A row is gone after its lease, and the store's clock runs.
func (k contract) leases(run int64) {
	came := k.report(c, `{"n":4}`, long)
	require.Equal(k.t, `{"w":7}`, string(came.Message), "the message stays, and is for those that come later")
	k.report(b, `{"n":3}`, short)
	k.sleep(2 * short)
	require.Equal(k.t, map[string]string{a: `{"n":1}`, c: `{"n":4}`}, k.lead(a, run, "", short))
	now := k.report(c, `{"n":5}`, long)
	assert.WithinDuration(k.t, came.Now.Add(2*short), now.Now, 10*time.Second)
	assert.True(k.t, now.Now.After(came.Now))
	require.Zero(k.t, now.Run)
}

// A report of the leader does not prolong its leadership. Another one follows it, and the old one is fenced.
func (k contract) leadershipEnds(run int64) (next int64) {
	require.Equal(k.t, run, k.report(a, `{"n":1}`, long).Run)
	k.sleep(2 * short)
	next = k.report(c, `{"n":6}`, long).Run
	require.Greater(k.t, next, run)
	require.Zero(k.t, k.report(a, `{"n":1}`, long).Run)
	k.lost(a, run)
	require.Equal(k.t, `{"w":7}`, string(k.report(a, `{"n":1}`, long).Message), "one that is fenced leaves no message")
	return next
}

// Who leaves hands over its row and its leadership.
func (k contract) whoLeaves(run int64) (last int64) {
	require.NoError(k.t, k.s.Leave(k.ctx, c))
	require.NoError(k.t, k.s.Leave(k.ctx, c))
	last = k.report(a, `{"n":8}`, long).Run
	require.Greater(k.t, last, run)
	require.Equal(k.t, map[string]string{a: `{"n":8}`}, k.lead(a, last, "", short))
	k.report(a, `{"n":8}`, short)
	return last
}

// Of many that report at once one leads. A message of many processes, and a row of a kilobyte, come as they went.
func (k contract) oneOfManyLeads(last int64) {
	k.sleep(2 * short)
	id := func(i int) string { return fmt.Sprintf("many%08d", i) }
	var group sync.WaitGroup
	runs, failures := make([]int64, 20), make([]error, 20)
	row := fmt.Sprintf(`{"of":%q}`, make([]byte, 150))
	for i := range runs {
		group.Go(func() {
			answer, err := k.s.Report(k.ctx, id(i), []byte(row), long)
			runs[i], failures[i] = answer.Run, err
		})
	}
	group.Wait()
	leads := 0
	for i, run := range runs {
		require.NoError(k.t, failures[i])
		if run > 0 {
			leads++
			require.Greater(k.t, run, last)
			message := fmt.Sprintf(`{"of":%q}`, make([]byte, 10_000))
			require.Empty(k.t, k.lead(id(i), run, message, long))
			rows := k.lead(id(i), run, "", long)
			require.Len(k.t, rows, len(runs))
			require.Equal(k.t, row, rows[id(7)])
			require.Equal(k.t, message, string(k.report(id(3), row, long).Message))
		}
	}
	require.Equal(k.t, 1, leads)
	for i := range runs {
		require.NoError(k.t, k.s.Leave(k.ctx, id(i)))
	}
}

// A call ends with its context.
func (k contract) callsEnd() {
	ended, end := context.WithCancel(context.Background())
	end()
	_, err := k.s.Report(ended, a, nil, long)
	require.ErrorIs(k.t, err, context.Canceled)
	require.NotErrorIs(k.t, err, share.ErrRefused)
}
