// Package remote lets a service configure its clients while they run:
//
//	"Move control to the server! ... Remote configure your clients! Configure
//	periodicity remotely. Maintain a remotely configured client feature
//	blacklist." (Safe Client Behaviour.)
//
// A [Client] looks at a source, such as an address ([NewHTTP]), on a jittered
// schedule (package schedule). The source has a small [Document] of JSON:
//
//	{
//		"format": 1,
//		"version": 42,
//		"window": {"min": 2, "max": 64, "max_rate": 50, "max_amount_rate": 3333},
//		"retry": {"max_attempts": 4, "max_pause": "30s", "budget_share": 0.1},
//		"schedule": {"period": "5m"},
//		"features_off": ["thumbnails"]
//	}
//
// Only format and version are required. [Document] has the fields with their allowed values, and a publisher checks
// a document with [Parse]. A document is for one service. A program that uses several services has a Client for
// each.
//
// Each [Applier] brings the document to a part of the program: the Apply of [Limiters] and [Features], or a line of
// your own for a policy, a budget, a schedule:
//
//	func(d remote.Document) error { return policy.SetCaps(d.Retry.MaxAttempts, d.Retry.MaxPause) }
//	func(d remote.Document) error { return budget.SetShare(d.Retry.BudgetShare) }
//	func(d remote.Document) error { return polls.SetPeriod(d.Schedule.Period) }
//
// Attempts in flight and waiting operations stay.
//
// What happens if
//   - the source is away, slow, or answers something else: the document in force stays until the next look of the
//     schedule. There are no retries, so that a source in trouble gets no more requests than a healthy source.
//   - the source is away at the start: the program's own settings count.
//   - the document is bad: the whole document is refused, with an error that names the field, the value and the
//     allowed values. An unknown field is refused too, since it may be mistyped. So publish fields for newer clients at
//     another address.
//   - the document does not fit one of the appliers: the others have it, and each look has the error until it fits.
//   - the version is lower than the version in force, or the same with other contents: the document is refused,
//     since a server that lags behind must not undo a later decision. To go back, publish the old contents with a
//     new version. A program that starts again takes any version.
//   - the service is malicious: a valid document can make a client slow, or turn features off, and no more.
//     Sizes, times and names are bounded. Serve the document by https.
//   - no document comes for a day: Snapshot has the time of the last confirmation, and contrib/aimdprom and
//     aimdotel have metrics of it.
//   - other code changes a setting that an applier steers: the next document sets the setting again. If the
//     document lacks the field, the setting gets its first value: the value of the constructor, or of Limiters.Add.
package remote
