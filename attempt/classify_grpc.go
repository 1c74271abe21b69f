package attempt

import (
	"reflect"
	"time"

	"github.com/aimd-go/aimd/window"
)

// classifyGRPC finds a gRPC status by its methods' names, since its type lives in a module that this one
// does not want.
func classifyGRPC(err error, _ time.Duration) Verdict {
	code, ok := grpcCode(err)
	if !ok {
		return Verdict{}
	}
	switch code {
	case 8, 14: // RESOURCE_EXHAUSTED, UNAVAILABLE
		return Verdict{Outcome: window.Overload, Retry: true}
	case 4: // DEADLINE_EXCEEDED
		return Verdict{Outcome: window.Timeout, Retry: true}
	case 3, 5, 6, 7, 9, 11, 16:
		// INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED, FAILED_PRECONDITION,
		// OUT_OF_RANGE, UNAUTHENTICATED
		return Verdict{Outcome: window.ClientError}
	}
	return Verdict{Outcome: window.Neutral}
}

func grpcCode(err error) (uint64, bool) {
	if err == nil {
		return 0, false
	}
	if m := reflect.ValueOf(err).MethodByName("GRPCStatus"); m.IsValid() && m.Type().NumIn() == 0 && m.Type().NumOut() == 1 {
		code := m.Call(nil)[0].MethodByName("Code")
		if code.IsValid() && code.Type().NumIn() == 0 && code.Type().NumOut() == 1 && code.Type().Out(0).Kind() == reflect.Uint32 {
			return code.Call(nil)[0].Uint(), true
		}
	}
	switch u := err.(type) {
	case interface{ Unwrap() error }:
		return grpcCode(u.Unwrap())
	case interface{ Unwrap() []error }:
		for _, e := range u.Unwrap() {
			if code, ok := grpcCode(e); ok {
				return code, true
			}
		}
	}
	return 0, false
}
