package share_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A store may answer while nobody leads: its clock went back an hour, and the leader died; or its calls are too slow to
// lead by. The last message was followed for ever, as if it were new.
func TestAStoreThatAnswersWhileNobodyLeads(t *testing.T) {
	for what, happens := range map[string]func(*crowd){
		"the clock goes back": func(c *crowd) {
			c.lines[c.leader()].cut.Store(true)
			c.store.Jumps(-time.Hour)
		},
		"slow calls": func(c *crowd) { c.store.Takes(time.Second) },
	} {
		synctest.Test(t, func(t *testing.T) {
			c := together(t, 6, &service{slots: 40, takes: 300 * time.Millisecond})
			time.Sleep(10 * time.Second)
			happens(c)
			time.Sleep(12 * time.Second)
			use, attempts := c.watch(what, 5*time.Second)
			assert.GreaterOrEqual(t, use, 0.8) // .92 and more
			assert.LessOrEqual(t, attempts, 1.1)
			for _, p := range c.all {
				require.Equal(t, "silent", p.lim.Snapshot().Share.Mode)
			}
			c.store.Takes(0)
			c.store.Jumps(time.Hour)
			time.Sleep(10 * time.Second)
			require.GreaterOrEqual(t, c.leader(), 0)
			for _, l := range c.lines {
				l.cut.Store(false)
			}
			c.end()
		})
	}
}
