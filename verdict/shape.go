package verdict

import (
	"encoding/json"
	"io"
	"math"
	"reflect"
	"time"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/internal/body"
)

// shape is an error that is read by the names of its exported fields and of its methods, since the type is of
// an SDK that this module does not know.
type shape struct {
	err  error
	kind *kind
	// fields is the struct that the error is or points to, the zero Value for any other error.
	fields reflect.Value
}

type shapes struct{ *tree }

func (f shapes) all(yield func(shape) bool) {
	for _, n := range f.nodes {
		if !n.kind.shaped {
			continue
		}
		v := reflect.Indirect(reflect.ValueOf(n.err))
		if v.Kind() != reflect.Struct {
			v = reflect.Value{}
		}
		if !yield(shape{n.err, n.kind, v}) {
			return
		}
	}
}

// answer is the answer that the error tells of. It reports false without such a field, or if a method panics.
func (s shape) answer() (a answer.Answer, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	a = s.read()
	for _, name := range [...]string{"Code", "Type", "Reason", "ErrorCode"} {
		if v := s.get(name); v.Kind() == reflect.String {
			a = a.With(v.String(), "", 0)
		}
	}
	message, _ := as[string](s.get("Message"))
	a = a.With("", message, s.retryAfter())
	// go-github refuses on its own after a refusal of the service, without a header. Rate says until when.
	if at, _ := as[time.Time](s.get("Rate", "Reset", "Time")); a.Wait == 0 && !at.IsZero() {
		a = a.With("secondary_rate_limit", "", time.Until(at))
	}
	return a, refusing(a.Status) || len(a.Codes) > 0 || a.Begun || a.Wait > 0
}

// read reads the status, the header and the body.
func (s shape) read() answer.Answer {
	status, header, start := s.status(), s.header(), s.body()
	if resp := s.response(); resp.IsValid() {
		status, header = int(resp.FieldByName("StatusCode").Int()), headerOf(resp.FieldByName("Header"))
		if start == nil && refusing(status) {
			start, _ = body.Peek(header, resp.FieldByName("Body").Addr().Interface().(*io.ReadCloser))
		}
	}
	if event, _ := as[[]byte](s.get("Event", "Data")); status == 0 && event != nil {
		status, start = 200, event // the error of openai-go for a stream
	}
	if status == 0 && header == nil && start == nil {
		return answer.Answer{}
	}
	return answer.Read(status, header, start, time.Now())
}

// response is the http.Response of the error, the zero Value without one.
func (s shape) response() reflect.Value {
	for _, i := range s.kind.responses {
		v := s.fields.Field(i)
		if v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		if v.IsValid() && isResponse(v.Type()) && !v.IsNil() {
			return v.Elem()
		}
	}
	return reflect.Value{}
}

// statuses are the names of a status. Many services have their own numbers too, so the plainest field is last.
var statuses = []string{"StatusCode", "HTTPStatusCode", "Status", "Code"}

// status is a status of 400 to 599, 0 without one.
func (s shape) status() int {
	if s.fields.IsValid() && foreign[s.fields.Type().PkgPath()] {
		return 0
	}
	for _, name := range statuses {
		if v := s.get(name); v.Kind() == reflect.Int && refusing(int(v.Int())) {
			return int(v.Int())
		}
	}
	if e, ok := s.err.(interface{ StatusCode() int }); ok && refusing(e.StatusCode()) {
		return e.StatusCode()
	}
	if e, ok := s.err.(interface{ HTTPStatusCode() int }); ok && refusing(e.HTTPStatusCode()) {
		return e.HTTPStatusCode()
	}
	if e, ok := s.err.(interface{ Status() int }); ok && refusing(e.Status()) {
		return e.Status()
	}
	if e, ok := s.err.(interface{ Code() int }); ok && refusing(e.Code()) {
		return e.Code()
	}
	return 0
}

func refusing(status int) bool { return status >= 400 && status < 600 }

// foreign are packages whose codes of 400 to 599 are no statuses of HTTP: the replies of mail and FTP servers,
// AMQP's, and SQLite's.
var foreign = map[string]bool{
	"net/textproto": true, "github.com/rabbitmq/amqp091-go": true, "github.com/streadway/amqp": true, "modernc.org/sqlite": true,
}

// header is a header of the error, or of the answer of stripe-go, which is a type of its own.
func (s shape) header() map[string][]string {
	if h := headerOf(s.get("Header")); h != nil {
		return h
	}
	return headerOf(s.get("LastResponse", "Header"))
}

func headerOf(v reflect.Value) (h map[string][]string) {
	if v.IsValid() && isHeader(v.Type()) {
		h, _ = as[map[string][]string](v.Convert(reflect.TypeOf(h)))
	}
	return h
}

// body is the start of the answer's body, or of the event of a stream, nil without an event.
func (s shape) body() []byte {
	if e, ok := s.err.(interface{ RawJSON() string }); ok { // openai-go and anthropic-sdk-go
		return []byte(e.RawJSON())
	}
	for _, name := range []string{"Body", "ResponseBody"} {
		v := s.get(name)
		if text, ok := as[string](v); ok && text != "" {
			return []byte(text)
		}
		if body, ok := as[[]byte](v); ok && len(body) > 0 {
			return body
		}
	}
	// The details of googleapi and genai, as they came.
	for _, name := range [...]string{"Errors", "Details"} {
		if list := s.get(name); list.Kind() == reflect.Slice && list.Len() > 0 {
			if body, err := json.Marshal(list.Slice(0, min(list.Len(), largestTree)).Interface()); err == nil {
				return body
			}
		}
	}
	return nil
}

// year bounds a number of seconds, as package answer bounds a wait.
const year = 365 * 24 * time.Hour

// retryAfter is the field RetryAfter: a time.Duration, or a number of seconds as in the header.
func (s shape) retryAfter() time.Duration {
	v := s.get("RetryAfter")
	var d time.Duration
	switch {
	case !v.IsValid():
	case v.Type() == reflect.TypeFor[time.Duration]():
		d = time.Duration(v.Int())
	case v.CanInt() && v.Int() <= int64(year/time.Second):
		d = time.Duration(v.Int()) * time.Second
	case v.CanFloat() && v.Float() <= year.Seconds():
		d = time.Duration(math.Round(v.Float() * float64(time.Second)))
	}
	return d
}

// get returns the field at the end of the path, without its pointer; the zero Value if there is none, or a pointer is
// nil.
func (s shape) get(path ...string) reflect.Value {
	v, kind := s.fields, s.kind
	for i, name := range path {
		if i > 0 {
			if v.Kind() != reflect.Struct {
				return reflect.Value{}
			}
			kind = kindOf(v.Type())
		}
		index, ok := kind.fields[name]
		if !ok {
			return reflect.Value{}
		}
		var err error
		if v, err = v.FieldByIndexErr(index); err != nil {
			return reflect.Value{} // within a nil pointer
		}
		if v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		v = reflect.Indirect(v)
	}
	return v
}

func as[T any](v reflect.Value) (t T, ok bool) {
	if v.IsValid() && v.CanInterface() {
		t, ok = v.Interface().(T)
	}
	return t, ok
}

// sqlState is the field SQLState with the state of go-sql-driver/mysql, which is five bytes, and Number with
// MySQL's own code, since MySQL sends some errors without a state.
func (s shape) sqlState() (state string, number uint16) {
	v := s.get("SQLState")
	if b, ok := as[[5]byte](v); ok {
		number, _ = as[uint16](s.get("Number"))
		return string(b[:]), number
	}
	state, _ = as[string](v)
	return state, 0
}

// retriable reports that the error says of itself that another attempt may succeed.
func (s shape) retriable() (yes bool) {
	defer func() {
		if recover() != nil {
			yes = false
		}
	}()
	switch e := s.err.(type) {
	case interface{ Retryable() bool }:
		return e.Retryable()
	case interface{ Retriable() bool }:
		return e.Retriable()
	}
	retriable, _ := as[bool](s.get("Retriable"))
	retryable, _ := as[bool](s.get("Retryable"))
	return retriable || retryable
}
