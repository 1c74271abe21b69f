// Package schedule runs a job again and again, at times that many clients never share: "Rule 1: Jitter
// Everything!" ([SafeClients]). Make a [Schedule] with [New] and call Run.
//
// The period is not random. The time of the run within the period is random, on a grid that all clients share:
// "Jitter execution time, not period", the last form of [SafeClients]:
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
// A client runs once in each cell, at any time of the cell with the same probability. So all clients together send
// at a steady rate from the first cell after a common start. Two runs of a client are one period apart on average,
// and at most two.
//
// Config.JitterPeriod is an earlier form of the text, "wait(period * random(.5, 1.5))", for work that needs at
// least half a period between two runs. Clients that start together then come in waves for several periods.
//
//   - If a run lasts past the time of the next run, the missed runs are dropped, and one run is planned in the next
//     cell. Two runs never overlap. Clients that an outage held up do not catch up together.
//   - If a run is late by more than a hundredth of the period and more than a second, the machine or the process
//     stood still. Then the run is planned again, once.
//   - If the period changes, the next run is planned on the new grid, but never later than before.
//   - If the job panics, Run panics, and may be called again.
//   - If the wall clock is set, a wait continues by the monotonic clock; the next plan is on the new grid.
//
// [SafeClients]: https://www.usenix.org/conference/srecon18asia/presentation/goh
package schedule
