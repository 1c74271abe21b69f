package fleet

import (
	"maps"
	"time"
)

// Table is what a store of a fleet keeps, and does, for rows of type R and messages of type M. The zero Table is empty.
type Table[R, M any] struct {
	rows    map[string]leased[R]
	message M
	leader  string
	run     int64
	until   time.Duration
}

type leased[R any] struct {
	row   R
	until time.Duration
}

// Report keeps a row, and returns the message, and the run by which the process leads; 0: it does not.
func (t *Table[R, M]) Report(now time.Duration, id string, row R, lease time.Duration) (message M, run int64) {
	if t.rows == nil {
		t.rows = map[string]leased[R]{}
	}
	t.rows[id] = leased[R]{row, now + lease}
	if t.leader == "" || t.until <= now {
		t.leader, t.until = id, now+lease
		t.run = max(t.run+1, now.Microseconds())
	}
	if t.leader == id {
		run = t.run
	}
	return t.message, run
}

// Rows returns the rows to the leader; false: the process does not lead.
func (t *Table[R, M]) Rows(now time.Duration, id string, run int64, lease time.Duration) (map[string]R, bool) {
	if t.leader != id || t.run != run {
		return nil, false
	}
	t.until = now + lease
	maps.DeleteFunc(t.rows, func(_ string, r leased[R]) bool { return r.until <= now })
	all := make(map[string]R, len(t.rows))
	for id, r := range t.rows {
		all[id] = r.row
	}
	return all, true
}

// Say keeps the leader's message; false: the process does not lead.
func (t *Table[R, M]) Say(now time.Duration, id string, run int64, message M, lease time.Duration) bool {
	if t.leader != id || t.run != run {
		return false
	}
	t.until, t.message = now+lease, message
	return true
}

// Leave deletes a row, and ends the leadership of its process.
func (t *Table[R, M]) Leave(id string) {
	delete(t.rows, id)
	if t.leader == id {
		t.leader = ""
	}
}
