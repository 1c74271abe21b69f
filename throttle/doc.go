// Package throttle is adaptive throttling at the client: while a service refuses most requests, the client rejects
// most requests before they are sent.
//
//	"Reject new requests locally (at the client) based on rejection
//	probability. Reduces load on the server for rejected requests." (Safe Client Behaviour,
//	which points to the SRE book, chapter 21, Handling Overload.)
//
// A service that refuses still pays for each request that it refuses. So a client counts, over two minutes, its
// requests and the accepted requests, and rejects with the probability
//
//	max(0, (requests - K*accepts) / (requests + 1)),  K = 2
//
//	accepted    1 in 1    1 in 2    1 in 3    1 in 4    1 in 10       0 in 99
//	rejected        0%        0%     33%         50%        80%           99%
//
// Requests that the client rejects count as well, without an accept. So of a service that refuses every other request that
// it gets, the client rejects most.
//
// A request is accepted if its answer is no refusal: a 404 or a 500 as well as a 200. An overload (429, 503,
// RESOURCE_EXHAUSTED...) and a timeout are refusals. A request without an answer for another reason does not count.
//
// What happens if
//   - all requests are refused: the first request of every second is still sent (Config.Probe). Its answer shows
//     the end of the trouble.
//   - background work is refused and interactive work is not: each criticality has separate counts
//     (tag.Criticality), so only background work is throttled.
//   - the client has sent few requests: one refusal without an accept is a probability of one half, for any K.
package throttle
