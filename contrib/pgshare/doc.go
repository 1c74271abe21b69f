// Package pgshare is where the processes of a fleet meet that share one window, in PostgreSQL: the Store of package share.
//
//	pool, err := pgxpool.New(ctx, url) // or that of river
//	...
//	fleet, err := share.Join(share.Config{Store: pgshare.Store{DB: pool, Name: "openai/gpt"}})
//	...
//	lim, err := fleet.New(aimd.Config{})
//
// All fleets are in one table, aimd_share, which the first process makes (Table). SELECT * FROM aimd_share shows who has
// what. It is unlogged: a report writes no log, and after a crash of the server the processes write it again. A report is one
// statement, and the time is the server's. A transaction that stays open for long, as a dump does, keeps each old row, as
// in any table that is updated often. A process needs one connection, for milliseconds. docs/fleet.md of
// the repository says what a fleet costs the server, and when to take Redis.
package pgshare
