// Package httplimit puts a limiter in front of an http.Client. It uses the standard library only. At the server stands
// the handler of package admission, and package tag tags the requests for it.
//
// There are four ways; a request needs one.
//
//   - [NewClient] is an http.Client that waits for slots and sends again. Its comment says which requests.
//   - [Transport] is for a client that retries on its own: the SDK of a cloud, or a loop of your own. Every attempt
//     waits for a slot, and holds the slot until the body of its answer is read or closed. A Transport never
//     retries.
//   - [Check] is for a plain client inside aimd.Do, which retries. It returns an error for a status from 400. Read
//     the body within the function.
//   - [NewRetrier] above a Transport is for a plain client and a retry.Policy.
//
// The first two and the last:
//
//	client := httplimit.NewClient(lim)
//	client := &http.Client{Transport: &httplimit.Transport{Limiter: lim}}
//	retrier, err := httplimit.NewRetrier(&httplimit.Transport{Limiter: lim}, policy)
//
// The comment of package attempt has the ends of an attempt and their outcomes. With HTTP:
//
//	the context ends, or a guard refuses, before     an attempt.Error of no attempt, and no request
//	http.Client.Timeout passes                       as a deadline
//	the context ends while no Read is running        what the head said: the reader was slow, or has had enough
//	the body is never closed                         the slot is held until the context ends, or as said below
//	the connection changes its protocol (101)        the slot is held until it is closed
//
// A goroutine that keeps a body open while it sends other requests through the same limiter needs several
// slots. If all slots are held in this way, and operations wait, an attempt more is sent after 10 s, and the open
// bodies leave the window one by one if the service takes it (event.Open). Read the body first, or use a
// limiter for each kind of request.
//
// An http.Transport of your own keeps two idle connections for each host; see [Transport]. Bound an attempt by
// http.Transport.ResponseHeaderTimeout, since http.Client.Timeout includes the wait. Request.Cancel has no effect
// in the queue.
//
// If the server chooses by criticality, as admission.NewHandler does, give each criticality a limiter of its own.
// Otherwise the refusals of background work narrow the window of interactive work too.
//
// One limiter is for one limit. [PerHost] has a limiter for each host, and [By] one for each key of yours. By with
// [ReadWrite] has one for reads and one for writes.
//
// # Quotas
//
// Many services report a quota in their answers: a limit of requests or tokens, its rest, and the time to the
// reset. A limiter holds requests back by these reports, before the service refuses a request. docs/quota.md has
// the rules. aimd.Config.QuotaReserve is the share of a quota that is spread evenly. Transport.IgnoreQuotas turns
// the reading off.
//
// The headers are X-RateLimit-* of GitHub, Discord, Atlassian and the like, X-Rate-Limit-* of Okta and X, GitLab's
// and Docker's RateLimit-*, HubSpot's, and RateLimit and RateLimit-Policy of the IETF's drafts. These quotas are
// whole at their reset. The quotas of OpenAI's and Azure's X-RateLimit-*-NAME and of Anthropic-RateLimit-* come
// back evenly. If a header has several values, the tightest counts: the smallest rest, and the latest reset. A
// quota of concurrent requests bounds the window. A refusal for a used quota narrows no window. Reports that
// contradict the service's own answers are not believed. Under any report, one request asks after
// aimd.Config.MaxRetryAfter.
//
// If some requests spend a separate quota, as GitHub's search does, give them a limiter of their own: before its
// answer, a request does not show its quota. aimd.Snapshot has the quotas.
package httplimit
