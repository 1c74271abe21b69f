package aimd

import (
	"log/slog"
	"reflect"
	"time"
)

// group is a group of pairs of a key and a value, durations in seconds, without zeros, except in_flight and
// queued.
func group(pairs ...any) slog.Value {
	var attrs []slog.Attr
	for i := 0; i < len(pairs); i += 2 {
		key, v := pairs[i].(string), pairs[i+1]
		if d, ok := v.(time.Duration); ok {
			v = d.Seconds() // slog's JSON would have bare nanoseconds
		}
		if key == "in_flight" || key == "queued" || !reflect.ValueOf(v).IsZero() {
			attrs = append(attrs, slog.Any(key, v))
		}
	}
	return slog.GroupValue(attrs...)
}

// LogValue is the snapshot as a group of log/slog, without the fields that are zero. Gap is in seconds; of the
// quotas that are used up, quota and quota_until are the one that is so for longest.
func (s Snapshot) LogValue() slog.Value {
	var used Quota
	for _, q := range s.Quotas {
		if q.UsedUpUntil.After(used.UsedUpUntil) {
			used = q
		}
	}
	return group(
		"limiter", s.Name, "cwnd", s.Cwnd, "ssthresh", s.Ssthresh, "gap", s.Gap, "paused_until", s.PausedUntil,
		"in_flight", s.InFlight, "queued", s.Queued, "successes", s.Successes, "overloads", s.Overloads,
		"timeouts", s.Timeouts, "neutrals", s.Neutrals, "client_errors", s.ClientErrors,
		"cuts", s.Cuts, "pauses", s.Pauses, "late", s.Late, "quota", used.name(), "quota_until", used.UsedUpUntil,
	)
}

// LogValue is the event as a group of log/slog, without its time and the fields that are zero. Its durations
// gap, rtt, wait and retry_after are numbers of seconds.
func (e Event) LogValue() slog.Value {
	outcome, err, used := "", "", Quota{}
	if e.Outcome.Valid() {
		outcome = e.Outcome.String()
	}
	if e.Err != nil {
		err = e.Err.Error()
	}
	if e.Quota != nil {
		used = *e.Quota
	}
	return group(
		"limiter", e.Name, "kind", e.Kind.String(), "before", e.Before, "cwnd", e.Window.Cwnd,
		"ssthresh", e.Window.Ssthresh, "gap", e.Gap, "in_flight", e.InFlight, "queued", e.Queued,
		"outcome", outcome, "rtt", e.RTT, "wait", e.Wait, "retry_after", e.RetryAfter, "err", err,
		"quota", used.name(), "quota_until", used.UsedUpUntil,
	)
}
