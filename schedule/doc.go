// Package schedule does work again and again, at times that many clients never
// share: "Rule 1: Jitter Everything!" ([SafeClients]).
//
// Make a [Schedule] with [New] and call Run.
//
// Not the period is random but the time of the run within it, on a grid that all
// clients have in common. It is the last form of [SafeClients], "Jittering without startup
// oscillations: Jitter execution time, not period":
//
//	period = 300; next_execution = now()
//	while true:
//	  next_execution = truncate(next_execution, period)
//	  next_execution += random(1.0, 2.0) * period
//	  wait_until(next_execution)
//	  send_rpc()
//
//	grid     |           |           |           |
//	client 1 | start     |  run      |       run |run        |
//	client 2 | start     |       run |   run     |      run  |
//
// A client runs once in each cell, any time of the cell being as likely as any
// other: from the first cell after a common start on, all clients together send
// at a steady rate. Two runs of one client are nothing to two periods apart, one
// on average. The order of the two lines matters: truncated after the random
// part has been added, all clients run at the instants of the grid, which is
// its "Introducing synchronization by mistake".
//
// The form before that one, "wait(period * random(.5, 1.5))", is there as
// Config.JitterPeriod: for work that is to have at least half a period between two
// runs. Its price is what the text calls startup oscillations: clients that start
// together come in waves that take several periods to even out.
//
// What happens if
//   - a run lasts past the time of the next one: there are never two at once. What
//     was planned meanwhile is missed, and one run is planned in the cell after the
//     present one. None is made up for at once: clients that were held up by the
//     same outage would do so together.
//   - the machine or the process stood still, so that a run is late by more than
//     a hundredth of the period and more than a second: it is planned anew, once;
//     if that is late again, it runs.
//   - the period is changed: the next run is planned on the new grid, but never
//     later than it was, so that it cannot be delayed for ever.
//   - the job panics: Run panics, nothing stays locked, Drain returns, and Run may be
//     called again. A job that must survive its panics recovers from them.
//   - the wall clock is set: a wait goes on by the monotonic clock; the next plan
//     is made on the grid of the new time.
//
// [SafeClients] is "Safe Client Behaviour", 2018; docs/sources.md says more.
//
// [SafeClients]: https://www.usenix.org/conference/srecon18asia/presentation/goh
package schedule
