// Package sim is a discrete-event simulator of clients and a service on
// virtual time: what a strategy would do to a service, seen in seconds and
// before it is shipped.
//
// A [Scenario] says what the service is like, who asks it for how much, and
// which strategies are compared; [Run] plays it once, with one strategy and one
// seed of randomness, and returns a [Result] with the measures and traces.
//
// What decides in a run is the library itself: the limiter's Core, the laws,
// the backoffs, the budgets and the throttle are those that users run. Only
// the world around them is simulated here, and what is wrong on purpose, such as
// the badly repeated work of seed 3.
//
// A run is pure and deterministic: no goroutine, clock or global randomness.
// Events are ordered by time, then by the order in which they were made; every
// random number is from one source that is seeded. The same scenario, strategy
// and seed give the same result on every machine. Runs may go on in parallel.
package sim
