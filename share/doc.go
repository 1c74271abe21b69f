// Package share gives the processes of a fleet one window, and one of each fixed quota, through a store that is there anyway: a Redis
// (contrib/redisshare), a PostgreSQL (contrib/pgshare), or a [Store] of your own.
//
//	fleet, err := share.Join(share.Config{Store: store})
//	...
//	defer fleet.Close()
//	lim, err := fleet.New(aimd.Config{MaxRate: 100}) // 100 a second for all processes
//
// The limiter is an ordinary one: Do, Each, a Transport, an integration. MaxRate, MaxAmountRate and MaxWindow of its
// Config are the fleet's: they are split by demand, so that a process that has work gets what the others leave.
//
// Each process reports what it counted, ten times a second in a fleet of up to a hundred, and reads the leader's latest
// message. The leader is one of the processes. It runs the ordinary law on the sums of all, and says what one process
// has by max-min: who wants less than its part leaves the rest to those who want more. Nothing of the store is on the path of an
// operation: a slow store delays shares, and no attempt.
//
// # When the store is away
//
// A process that has work keeps its share for ten minutes, one without for a minute. Who is alone goes on by a law
// of its own. So does who joined ten seconds ago at most, unless there is a MaxRate or a MaxAmountRate, or the
// window is at MaxWindow. The shares cannot change meanwhile, so the sum stays what it was. If more than three of
// ten of its latest answers are refusals, or the time is over, a law of its own goes on from the share, with the
// growth of one of N. It has a part of one in N of MaxRate and MaxAmountRate then. A store that is back, with its
// data or empty, is followed at once.
//
// docs/fleet.md has the figures, when one window pays, and what it does not do.
package share
