// Package sim is a discrete-event simulator of clients and a service on
// virtual time: what a strategy would do to a service, seen in seconds and
// before it is shipped.
//
// A [Scenario] says what the service is like, how much its clients ask for, and which
// strategies are compared; [Run] plays it once, with one strategy and one
// seed of randomness, and returns a [Result] with the measures and traces.
//
//	clients          strategy                       server
//	an operation --> guards, queue, window, sense --> connection --> outage, failure --> rate --> medium --> slots or queue --> service
//	is born           ^                                                 |                  |        |           |                |
//	                  '---- the wait before a retry <----- an error ----'------------------'--------'-----------'             success
//
// What decides in a run is the library itself: the limiter's Core, the laws,
// the backoffs, the budget, the throttle and the schedule are those that users
// run. Only the world around them is simulated here, and what is wrong on
// purpose: the badly repeated work of Safe Client Behaviour.
//
// A run is pure and deterministic: no goroutine, clock or global randomness.
// Events are ordered by time, then by the order in which they were made; every
// random number is from one source that is seeded, and what differs from
// machine to machine (fused multiplications, the instructions for logarithms)
// is kept away. The same scenario, strategy and seed give the same result
// everywhere. Runs may go on in parallel.
//
// Every run ends: when all operations have ended, at the horizon of virtual time, or
// after so many events; Result.Ended says which. Clients that never stop asking too much
// of a service make events without end, so "events" is a result as well: it will not
// recover.
//
// What is not there: bandwidth and the sizes of requests, answers that take time
// to arrive, single lost packets, and clients that tell the server when they give up.
package sim
