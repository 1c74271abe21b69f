package verdict

import (
	"database/sql/driver"
	"net/textproto"
	"reflect"
	"strings"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/window"
)

func classifySQL(f *tree) Verdict {
	if f.isAny(driver.ErrBadConn) {
		return again
	}
	if state, ok := first[interface{ SQLState() string }](f); ok {
		return states[state.SQLState()]
	}
	for s := range (shapes{f}).all {
		state, number := s.sqlState()
		if v := states[state]; v != (Verdict{}) {
			return v
		}
		if v := numbers[number]; v != (Verdict{}) {
			return v
		}
	}
	return Verdict{}
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
	"55P03": again,    // lock_not_available
	"08004": overload, // MySQL: too many connections
}

// numbers are MySQL's errors that may pass and have no SQLSTATE of their own:
// https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html
var numbers = map[uint16]Verdict{
	1040: overload, // ER_CON_COUNT_ERROR, before the handshake without a state
	1203: overload, // ER_TOO_MANY_USER_CONNECTIONS
	1205: again,    // ER_LOCK_WAIT_TIMEOUT
	1213: again,    // ER_LOCK_DEADLOCK
	1226: overload, // ER_USER_LIMIT_REACHED
	1637: overload, // ER_TOO_MANY_CONCURRENT_TRXS
	3024: timeout,  // ER_QUERY_TIMEOUT
	3572: again,    // ER_LOCK_NOWAIT
}

func classifyStream(f *tree) Verdict {
	if f.calmed() || f.refused() || f.reset() == 0xb { // 0xb is ENHANCE_YOUR_CALM
		return overload
	}
	return Verdict{}
}

// classifyMail reads the reply of a server of mail or files. Replies of 4xx are "transient negative": 421 closes
// the connection, 425 and 426 are of the connection for a file, and 45x of the mail or file system (RFC 5321,
// section 4.2; RFC 959, section 4.2). Replies of news servers, such as 423 and 430 for a missing article, are
// final.
func classifyMail(f *tree) Verdict {
	reply, ok := first[*textproto.Error](f)
	switch {
	case !ok:
		return Verdict{}
	case reply.Code < 400, reply.Code > 499:
		return Verdict{Meaning: answer.Final}
	case classifyText(reply.Msg) != Verdict{}:
		return certain(classifyText(reply.Msg)) // the reply is transient by its number
	case reply.Code == 421, reply.Code == 425, reply.Code == 426, reply.Code/10 == 45:
		return again
	}
	return Verdict{}
}

func classifyLocal(f *tree) Verdict {
	if timed, ok := first[interface{ Timeout() bool }](f); ok && timed.Timeout() {
		return timeout
	}
	temporary, ok := first[interface{ Temporary() bool }](f)
	if ok && temporary.Temporary() || f.cutOff() || f.noRoute() {
		return again
	}
	for s := range (shapes{f}).all {
		if !s.retriable() {
			continue
		}
		if classifyText(textOf(s.err)).Outcome() == window.Overload {
			return overload
		}
		return again
	}
	return Verdict{}
}

// classifyGRPC finds a gRPC status by its methods' names: its type lives in another module.
func classifyGRPC(f *tree) Verdict {
	code, text, ok := grpcStatus(f)
	switch {
	case !ok:
		return Verdict{}
	case code == 8: // RESOURCE_EXHAUSTED, also of a message that is too large
		v := VerdictOf(answer.Of("", text, retryAfter(f)))
		if v == (Verdict{}) {
			return overload
		}
		if !strings.Contains(text, "uota") { // the code is that of a refusal
			v = certain(v)
		}
		return v
	}
	switch code {
	case 14: // UNAVAILABLE
		return overload
	case 4: // DEADLINE_EXCEEDED
		return timeout
	case 5, 6, 9, 11: // NOT_FOUND, ALREADY_EXISTS, FAILED_PRECONDITION, OUT_OF_RANGE
		return Verdict{Meaning: answer.Fault}
	}
	return Verdict{Meaning: answer.Final}
}

func grpcStatus(f *tree) (code uint64, text string, ok bool) {
	for _, n := range f.nodes {
		if !n.kind.shaped {
			continue
		}
		m := reflect.ValueOf(n.err).MethodByName("GRPCStatus")
		if !m.IsValid() || m.Type().NumIn() != 0 || m.Type().NumOut() != 1 {
			continue
		}
		c := m.Call(nil)[0].MethodByName("Code")
		if c.IsValid() && c.Type().NumIn() == 0 && c.Type().NumOut() == 1 && c.Type().Out(0).Kind() == reflect.Uint32 {
			return c.Call(nil)[0].Uint(), textOf(n.err), true
		}
	}
	return 0, "", false
}

// certain is the verdict if what the words say is no guess.
func certain(v Verdict) Verdict {
	if v.Meaning == answer.Guessed {
		v.Meaning = answer.Refused
	}
	return v
}
