// Package sim is a discrete-event simulator of clients and a service on virtual time. It shows in seconds the
// effect of a strategy on a service, before the strategy is shipped.
//
// A [Scenario] describes the service and the load of its clients. [Run] plays it once, with one [Strategy] and
// one seed of randomness, and returns a [Result] with measures and traces.
//
//	clients          strategy                       server
//	an operation --> guards, queue, window, sense --> connection --> outage, block, failure --> rate --> slots or queue --> service
//	is born           ^                                                 |                         |           |                |
//	                  '---- the wait before a retry <----- an error ----'-------------------------'-----------'             success
//
// The library itself makes the decisions in a run: the limiter's gate and queue, the laws, the backoffs, the
// budget and the throttle are the code that users run. Only the world around them is simulated.
//
// The same scenario, strategy and seed give the same result on every machine: a run has no goroutine, clock
// or global randomness. Runs may be parallel.
//
// Every run ends: when all operations have ended, at the horizon of virtual time, or after too many events
// (Result.Ended). The end "events" is a result too: the service will not recover.
//
// The simulator has no bandwidth, no sizes of requests, no travel time of answers, and no single lost packets. Its
// clients do not report to the server that they gave up.
package sim
