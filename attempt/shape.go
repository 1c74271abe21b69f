package attempt

import (
	"iter"
	"math"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/aimd-go/aimd/internal/answer"
)

// largestTree is the number of errors of an error's tree that are looked at. Our choice: an SDK wraps a few times.
const largestTree = 64

// tree yields the errors of the tree, each before those that it wraps.
func tree(err error) iter.Seq[error] {
	return func(yield func(error) bool) {
		left := largestTree
		branch(err, &left, yield)
	}
}

func branch(err error, left *int, yield func(error) bool) bool {
	if err == nil {
		return true
	}
	if *left--; *left < 0 || !yield(err) {
		return false
	}
	switch u := err.(type) {
	case interface{ Unwrap() error }:
		return branch(u.Unwrap(), left, yield)
	case interface{ Unwrap() []error }:
		for _, e := range u.Unwrap() {
			if !branch(e, left, yield) {
				return false
			}
		}
	}
	return true
}

// shape is an error that is read by the names of its exported fields and of its methods, since the type is of
// an SDK that this module does not know.
type shape struct {
	err error
	// fields is the struct that the error is or points to, the zero Value for any other error.
	fields reflect.Value
}

// shapes yields the shapes of the error's tree, without nil pointers.
func shapes(err error) iter.Seq[shape] {
	return func(yield func(shape) bool) {
		for e := range tree(err) {
			v := reflect.ValueOf(e)
			if v.Kind() == reflect.Pointer && v.IsNil() {
				continue
			}
			if v = reflect.Indirect(v); v.Kind() != reflect.Struct {
				v = reflect.Value{}
			}
			if !yield(shape{e, v}) {
				return
			}
		}
	}
}

// answer is the answer that the error tells of. It reports false if there is none, or a method panics.
func (s shape) answer() (a answer.Answer, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	a = s.read()
	if a.After == 0 {
		a.After = s.retryAfter()
	}
	s.codes(&a)
	if message, _ := s.get("Message").(string); answer.Ambiguous(a.Status) && a.Text == "" {
		a.Says(message)
	}
	// go-github refuses on its own after a refusal of the service, without a header. Rate says until when.
	if at, _ := s.get("Rate", "Reset", "Time").(time.Time); a.Reset == 0 && !at.IsZero() {
		a.Reset = max(0, time.Until(at))
	}
	return a, refusing(a.Status) || len(a.Codes) > 0 || a.Within || a.After > 0
}

// read reads the status, the header and the body.
func (s shape) read() answer.Answer {
	status, header, body := s.status(), s.header(), s.body()
	if resp := s.response(); resp != nil {
		status, header = resp.StatusCode, resp.Header
		if body == nil && refusing(status) {
			body, _ = answer.Peek(resp)
		}
	}
	if event, _ := s.get("Event", "Data").([]byte); status == 0 && event != nil {
		status, body = http.StatusOK, event // the error of openai-go for a stream
	}
	return answer.Read(status, header, body[:min(len(body), answer.MostBody)], time.Now())
}

func (s shape) response() *http.Response {
	if !s.fields.IsValid() {
		return nil
	}
	for i := range s.fields.NumField() {
		if f := s.fields.Field(i); f.CanInterface() {
			if resp, _ := f.Interface().(*http.Response); resp != nil {
				return resp
			}
		}
	}
	return nil
}

// statuses are the names of a status. Many services have numbers of their own beside it, so the plainest is last.
var statuses = []string{"StatusCode", "HTTPStatusCode", "Status", "Code"}

// status is a status of 400 to 599, 0 without one.
func (s shape) status() int {
	if s.fields.IsValid() && foreign[s.fields.Type().PkgPath()] {
		return 0
	}
	for _, name := range statuses {
		if v := reflect.ValueOf(s.get(name)); v.Kind() == reflect.Int && refusing(int(v.Int())) {
			return int(v.Int())
		}
	}
	for _, n := range s.asked() {
		if refusing(n) {
			return n
		}
	}
	return 0
}

// asked are the results of the methods with the names of a status.
func (s shape) asked() (all []int) {
	if e, ok := s.err.(interface{ StatusCode() int }); ok {
		all = append(all, e.StatusCode())
	}
	if e, ok := s.err.(interface{ HTTPStatusCode() int }); ok {
		all = append(all, e.HTTPStatusCode())
	}
	if e, ok := s.err.(interface{ Status() int }); ok {
		all = append(all, e.Status())
	}
	if e, ok := s.err.(interface{ Code() int }); ok {
		all = append(all, e.Code())
	}
	return all
}

func refusing(status int) bool { return status >= 400 && status < 600 }

// foreign are packages whose codes of 400 to 599 are no statuses of HTTP: the replies of mail and FTP servers,
// AMQP's, and SQLite's.
var foreign = map[string]bool{
	"net/textproto": true, "github.com/rabbitmq/amqp091-go": true, "github.com/streadway/amqp": true, "modernc.org/sqlite": true,
}

// header is a header of the error, or of the answer of stripe-go, which is a type of its own.
func (s shape) header() http.Header {
	for _, path := range [][]string{{"Header"}, {"LastResponse", "Header"}} {
		if h, _ := s.get(path...).(http.Header); h != nil {
			return h
		}
	}
	return nil
}

// body is the start of the answer's body, or of the event of a stream, nil if the error has none.
func (s shape) body() []byte {
	if e, ok := s.err.(interface{ RawJSON() string }); ok { // openai-go and anthropic-sdk-go
		return []byte(e.RawJSON())
	}
	for _, name := range []string{"Body", "ResponseBody"} {
		switch body := s.get(name).(type) {
		case string:
			return []byte(body)
		case []byte:
			return body
		}
	}
	return nil
}

// retryAfter is the field RetryAfter: a time.Duration, or a number of seconds as in the header.
func (s shape) retryAfter() time.Duration {
	v := reflect.ValueOf(s.get("RetryAfter"))
	var d time.Duration
	switch {
	case !v.IsValid():
	case v.Type() == reflect.TypeFor[time.Duration]():
		d = time.Duration(v.Int())
	case v.CanInt() && v.Int() <= int64(answer.Longest/time.Second):
		d = time.Duration(v.Int()) * time.Second
	case v.CanFloat() && v.Float() <= answer.Longest.Seconds():
		d = time.Duration(math.Round(v.Float() * float64(time.Second)))
	}
	if d < 0 || d > answer.Longest {
		return 0
	}
	return d
}

// codes adds the service's codes: the error's own, those of a list as googleapi has it, and details in JSON.
func (s shape) codes(a *answer.Answer) {
	s.named(a)
	for _, name := range []string{"Errors", "Details"} {
		list := reflect.ValueOf(s.get(name))
		if list.Kind() != reflect.Slice {
			continue
		}
		for i := range min(list.Len(), largestTree) {
			item := list.Index(i)
			if v := reflect.Indirect(item); v.Kind() == reflect.Struct {
				shape{fields: v}.named(a)
			} else if item.CanInterface() {
				a.Collect(item.Interface())
			}
		}
	}
}

func (s shape) named(a *answer.Answer) {
	for _, name := range []string{"Code", "Type", "Reason", "ErrorCode"} {
		if v := reflect.ValueOf(s.get(name)); v.Kind() == reflect.String && v.Len() > 0 {
			a.Codes = append(a.Codes, v.String())
		}
	}
}

// get returns the field at the end of the path, without its pointer; nil if there is none, or a pointer is nil.
func (s shape) get(path ...string) any {
	v := s.fields
	for _, name := range path {
		if v.Kind() != reflect.Struct {
			return nil
		}
		f, ok := v.Type().FieldByName(name)
		if !ok || !f.IsExported() {
			return nil
		}
		var err error
		if v, err = v.FieldByIndexErr(f.Index); err != nil || !v.CanInterface() {
			return nil // within a nil pointer
		}
		if v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		v = reflect.Indirect(v)
	}
	if !v.IsValid() || !v.CanInterface() {
		return nil
	}
	return v.Interface()
}

// sqlState is the field SQLState with the state of go-sql-driver/mysql, which is five bytes, and Number with
// MySQL's own code, since MySQL sends some errors without a state.
func (s shape) sqlState() (state string, number uint16) {
	if b, ok := s.get("SQLState").([5]byte); ok {
		number, _ = s.get("Number").(uint16)
		return string(b[:]), number
	}
	state, _ = s.get("SQLState").(string)
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
	return slices.ContainsFunc([]string{"Retriable", "Retryable"}, func(name string) bool { return s.get(name) == true })
}
