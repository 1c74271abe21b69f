package attempt

import (
	"database/sql/driver"
	"errors"

	"github.com/aimd-go/aimd/internal/fact"
)

func classifySQL(err error) Verdict {
	if errors.Is(err, driver.ErrBadConn) {
		return again
	}
	var state interface{ SQLState() string }
	if !errors.As(err, &state) {
		return Verdict{}
	}
	return states[state.SQLState()]
}

// states are the SQLSTATEs that may pass: https://www.postgresql.org/docs/current/errcodes-appendix.html
var states = map[string]Verdict{
	"53300": overload, // too_many_connections
	"57P03": overload, // cannot_connect_now
	"57014": timeout,  // query_canceled, by statement_timeout
	"57P01": again,    // admin_shutdown
	"57P02": again,    // crash_shutdown
	"40001": again,    // serialization_failure
	"40P01": again,    // deadlock_detected
}

// streamError is net/http's error of a stream that was reset. errors.As fills any struct with its fields.
type streamError struct {
	StreamID uint32
	Code     uint32 // https://www.rfc-editor.org/rfc/rfc9113#name-error-codes
	Cause    error
}

func (streamError) Error() string { return "stream error" }

func classifyStream(err error) Verdict {
	var stream streamError
	if !errors.As(err, &stream) {
		return Verdict{}
	}
	switch stream.Code {
	case 0x7, 0xb: // REFUSED_STREAM, ENHANCE_YOUR_CALM
		return overload
	case 0x2, 0x8: // INTERNAL_ERROR, CANCEL
		return again
	}
	return Verdict{}
}

func classifyLocal(err error) Verdict {
	var timed interface{ Timeout() bool }
	if errors.As(err, &timed) && timed.Timeout() {
		return timeout
	}
	var temporary interface{ Temporary() bool }
	if fact.CutOff(err) || fact.NoRoute(err) || errors.As(err, &temporary) && temporary.Temporary() {
		return again
	}
	return Verdict{}
}
