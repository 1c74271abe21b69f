package share

import (
	"context"
	"errors"
	"time"
)

// ErrRefused: the store answered, and does not do what a fleet needs: a wrong password, a replica that takes no writes, a script
// or a name that is not allowed. An error of a Store that wraps it is an error of Join. Every other error means that the
// store is away.
var ErrRefused = errors.New("the store refuses")

// ErrLost is the error of Store.Lead if the process does not lead any longer.
var ErrLost = errors.New("another process leads")

// Store is the place where the processes of one fleet meet: a Redis, a PostgreSQL, or another store that all processes
// reach. It keeps a row of each process, the latest message of the one that leads, and who leads. It reads neither row
// nor message, so no rule of the fleet is in a store.
//
// A lease begins when the store gets the call, and counts by the store's clock: the clocks of the processes need not agree. A
// store may lose anything, as after a restart or an eviction: each row is written again by the next report, and the next
// message says all that the one before said. It may forget a fleet that was silent for a minute.
//
// Several goroutines call a store at once. A call ends with its context. No operation of a limiter waits for a call. An id
// has 12 letters and digits. A row has at most 1 KB; a message has less, and in the first second of a large fleet at most 64 KB.
// Both are JSON. internal/sharetest holds the contract for any store.
type Store interface {
	// Report keeps the process's row for a lease, in the place of its last one, and returns the leader's message. If nobody leads,
	// or the leader's lease has ended, this process leads from then on, for a lease. That is one step: of two processes
	// that report at once one leads. A report does not prolong the leadership.
	Report(ctx context.Context, id string, row []byte, lease time.Duration) (Answer, error)
	// Lead is the leader's. Without a message it returns the rows whose lease has not ended, by id; others it deletes. With a
	// message it keeps that for all, and returns no rows. Both prolong the leadership by a lease. If another process leads, or this
	// one by another election than run, it changes nothing and returns ErrLost: that fences a leader that was cut off. One
	// whose lease has ended leads until another is elected.
	Lead(ctx context.Context, id string, run int64, message []byte, lease time.Duration) (rows map[string][]byte, err error)
	// Leave deletes the process's row, and ends its leadership if it leads. It is no error if there is no such row.
	Leave(ctx context.Context, id string) error
}

// Answer is the store's answer to the report of a process.
type Answer struct {
	// Message is the leader's latest message; empty: there is none.
	Message []byte
	// Run names the election by which this process leads; 0: it does not lead. Of two elections the later has the larger one, also
	// if the store lost all between them. The store's time of the election in microseconds will do.
	Run int64
	// Now is the store's time.
	Now time.Time
}
