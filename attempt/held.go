package attempt

import (
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/aimd-go/aimd/internal/answer"
)

// heldAnswer finds the answer that an SDK's error holds in an exported field, whatever its name.
func heldAnswer(err error) (a answer.Answer, ok bool) {
	walk(err, func(err error) bool {
		v := reflect.Indirect(reflect.ValueOf(err))
		if v.Kind() != reflect.Struct {
			return false
		}
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				continue
			}
			if resp, _ := v.Field(i).Interface().(*http.Response); resp != nil && resp.StatusCode >= 400 {
				a, ok = answer.Read(resp.StatusCode, resp.Header, answer.Peek(resp), time.Now()), true
				notMade(&a, v)
				return true
			}
		}
		return false
	})
	return a, ok
}

// notMade reads the errors of requests that go-github refuses by itself, after a refusal of the service: the
// answer has no header and no body. The other fields say until when.
func notMade(a *answer.Answer, v reflect.Value) {
	if d, _ := field(v, "RetryAfter").(*time.Duration); d != nil && a.After == 0 {
		a.After = max(0, *d)
	}
	if message, ok := field(v, "Message").(string); ok && a.Text == "" {
		a.Text = strings.ToLower(message)
	}
	if at, ok := field(v, "Rate", "Reset", "Time").(time.Time); ok && a.Reset == 0 {
		a.Reset = max(0, time.Until(at))
	}
}

func field(v reflect.Value, path ...string) any {
	for _, name := range path {
		if v.Kind() != reflect.Struct {
			return nil
		}
		if v = v.FieldByName(name); !v.IsValid() || !v.CanInterface() {
			return nil
		}
	}
	return v.Interface()
}
