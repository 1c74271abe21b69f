// Package remote lets a service tell its clients how to behave, while they run:
//
//	"Move control to the server! Remote configure your clients! Configure
//	periodicity remotely. Maintain a remotely configured client feature
//	blacklist." (Safe Client Behaviour.)
//
// A [Client] looks at a source, an address ([NewHTTP]) or a file ([NewFile]), at start and then
// on a jittered schedule (package schedule). What it finds there is a small
// [Document] of JSON:
//
//	{
//		"format": 1,
//		"version": 42,
//		"window": {"min": 2, "max": 64, "factor": 0.9},
//		"retry": {"max_attempts": 4, "max_pause": "30s", "budget_share": 0.1},
//		"schedule": {"period": "5m"},
//		"features_off": ["thumbnails"]
//	}
//
//	field               what it is                                        allowed
//	format              the format of the document, required              1
//	version             orders the documents, required                    1 to 2^53 - 1, rising
//	window.min          the least that the congestion window falls to     1 to 1048576
//	window.max          the most that it grows to                         1 to 1048576, not below min
//	window.factor       what a cut keeps of it                            above 0, below 1
//	retry.max_attempts  the most attempts for an operation, first         1 (no retries) to 1000
//	                    one among them
//	retry.max_pause     the longest pause between attempts that           "1ms" to "1h"
//	                    clients choose by themselves
//	retry.budget_share  the most of all requests that may be retries      above 0, below 1
//	schedule.period     from one run of repeated work to the next         "1s" to "168h"
//	features_off        features that must send nothing now               at most 1000, of 1 to 128 bytes
//
// All but the first two may be absent: then what the program itself has set
// counts. [Schema] is the same as a JSON schema. A document speaks for one
// service; a program that uses several has a Client for each.
//
// Each [Applier] brings the document to a part of the program: [Limiters],
// [Features], [ToPolicy], [ToBudget], [ToSchedule]. What is in flight goes on, and what
// waits goes on waiting.
//
//	   source                        Client                    appliers
//	HTTP, ETag --+                                          +-> Limiters
//	             +--> fetch --> parse --> check --> apply --+-> Features
//	File --------+      |        all of it, or nothing      +-> ToPolicy
//	                    |                    |              +-> ToBudget
//	     Snapshot <-- errors               store,           +-> ToSchedule
//	                                  for the next start
//
// What happens if
//   - the source is away, slow, or answers something else: the document in force
//     stays. The next look is the next one on the schedule: there are no
//     retries, so that a source in trouble is asked no more than one that is well.
//   - it is away at the start: the stored document counts, else the program's
//     own settings. Start waits for at most Settings.Timeout, and returns no error.
//   - the document is bad, or does not fit one of the appliers: it is refused as
//     a whole with a [FieldError] that names the field, the value and what is
//     allowed, and nothing changes. The reader is strict: a field that it does
//     not know is refused like a wrong value, for it may be a mistyped one. So
//     publish what only newer clients know at another address.
//   - the version is lower than the one in force: refused, whoever sent it. A
//     server that lags behind, or an old copy from somewhere, must not undo
//     what was decided later. To go back, publish the old contents with a new
//     version. The stored document counts too; where a mistake used up the
//     highest versions, delete the store and start again.
//   - the version is the same and the contents are not: refused as well.
//   - the service is malicious: a valid document can make a client slow, or turn
//     features off, and no more. Sizes, times, redirects and names are bounded.
//     The document steers all clients, so serve it by https.
//   - the disk is full, or what is stored is broken: Snapshot.StoreError tells;
//     the client works without a store.
//   - something that an applier steers is changed by other code too: the next
//     document sets it to what it says, or else to what the applier found when it
//     was made.
package remote
