// Package throttle is adaptive throttling at the client: while a service refuses most requests, most are
// rejected before they are sent.
//
//	"Reject new requests locally (at the client) based on rejection
//	probability. Reduces load on the server for rejected requests." (Safe Client Behaviour,
//	which points to the SRE book, chapter 21, Handling Overload.)
//
// A service that refuses still pays for each request that it refuses. So a client counts, over two
// minutes, its requests and how many were accepted, and rejects with the probability
//
//	max(0, (requests - K*accepts) / (requests + 1)),  K = 2
//
//	accepted    1 in 1    1 in 2    1 in 3    1 in 4    1 in 10       0 in 99
//	rejected        0%        0%     33%         50%        80%           99%
//
// An answer that is no refusal is accepted, a 404 or a 500 as well as a 200. An overload (429, 503,
// RESOURCE_EXHAUSTED...) and a timeout are not. Requests without an answer for another reason do not count.
//
// What happens if
//   - all requests are refused: the first request of every second is still sent (Config.Probe), so that the
//     end of the trouble is seen.
//   - background work is refused and interactive work is not: each criticality has counts of its own
//     (tag.Criticality), so only the first is throttled.
//   - the client has sent little: one refusal without an accept is one half already, whatever K.
//   - requests are rejected: they count as requests that were not accepted.
package throttle
