package attempt

import (
	"reflect"
	"slices"

	"github.com/aimd-go/aimd/window"
)

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
