package attempt

import (
	"database/sql/driver"
	"errors"
	"reflect"
	"slices"

	"github.com/aimd-go/aimd/internal/fact"
	"github.com/aimd-go/aimd/window"
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

// classifyGRPC finds a gRPC status by its methods' names: its type lives in another module.
func classifyGRPC(err error) Verdict {
	code, ok := grpcCode(err)
	if !ok {
		return Verdict{}
	}
	switch code {
	case 8, 14: // RESOURCE_EXHAUSTED, UNAVAILABLE
		return overload
	case 4: // DEADLINE_EXCEEDED
		return timeout
	case 3, 5, 6, 7, 9, 11, 16:
		// INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED, FAILED_PRECONDITION,
		// OUT_OF_RANGE, UNAUTHENTICATED
		return Verdict{Outcome: window.ClientError}
	}
	return Verdict{Outcome: window.Neutral}
}

func grpcCode(err error) (code uint64, ok bool) {
	walk(err, func(err error) bool {
		m := reflect.ValueOf(err).MethodByName("GRPCStatus")
		if !m.IsValid() || m.Type().NumIn() != 0 || m.Type().NumOut() != 1 {
			return false
		}
		c := m.Call(nil)[0].MethodByName("Code")
		if ok = c.IsValid() && c.Type().NumIn() == 0 && c.Type().NumOut() == 1 && c.Type().Out(0).Kind() == reflect.Uint32; ok {
			code = c.Call(nil)[0].Uint()
		}
		return ok
	})
	return code, ok
}

// walk visits the error's tree, each error before those that it wraps, until visit returns true.
func walk(err error, visit func(error) bool) bool {
	if err == nil {
		return false
	}
	if visit(err) {
		return true
	}
	switch u := err.(type) {
	case interface{ Unwrap() error }:
		return walk(u.Unwrap(), visit)
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(u.Unwrap(), func(e error) bool { return walk(e, visit) })
	}
	return false
}
