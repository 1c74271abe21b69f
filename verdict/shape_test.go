package verdict_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/verdict"
)

// The errors of SDKs, with the names and types of their fields and methods. proof/recipes has the real ones.
type (
	googleError struct {
		Code    int
		Message string
		Details []any
		Body    string
		Header  http.Header
		Errors  []googleItem
	}
	googleItem struct{ Reason, Message string }

	genaiError struct {
		Code            int
		Message, Status string
		Details         []map[string]any
	}

	stripeResource struct{ LastResponse *stripeResponse }
	stripeResponse struct {
		Header     http.Header
		StatusCode int
	}
	stripeCode  string
	stripeError struct {
		stripeResource
		Code           stripeCode
		HTTPStatusCode int
		Type           stripeCode
	}

	twilioError struct {
		Code, Status int
		Details      map[string]any
	}

	slackError struct{ RetryAfter time.Duration }

	goOpenAIError struct {
		Code           any
		Message        string
		Type           string
		HTTPStatusCode int
	}

	discordLimit   struct{ *discordRate }
	discordRate    struct{ *discordRefusal }
	discordRefusal struct {
		Message    string
		RetryAfter time.Duration
	}
	discordAnswer struct {
		Response     *http.Response
		ResponseBody []byte
	}

	elasticError struct {
		ErrorCause struct{ Type string }
		Status     int
	}

	mysqlError struct {
		Number   uint16
		SQLState [5]byte
		Message  string
	}

	kafkaError struct {
		Message   string
		Code      int16
		Retriable bool
	}

	minioError struct {
		Code       string
		StatusCode int
	}

	telegramError struct {
		Code int
		telegramParameters
	}
	telegramParameters struct{ RetryAfter int }

	streamError struct {
		Message string
		Event   streamEvent
	}
	streamEvent struct {
		Type string
		Data []byte
	}
	anthropicError struct {
		StatusCode int
		Response   *http.Response
		raw        string
	}

	methodical int
	loud       struct{ Code int }
	selfish    struct{ Errors []*selfish }
	unhidden   struct{ statusCode int }
	numbered   struct{ Code int32 }
	pointers   struct {
		StatusCode *int
		Code       *string
	}
)

func (googleError) Error() string         { return "any" }
func (genaiError) Error() string          { return "any" }
func (*stripeError) Error() string        { return "any" }
func (*twilioError) Error() string        { return "any" }
func (*slackError) Error() string         { return "slack rate limit exceeded" }
func (*slackError) Retryable() bool       { return true }
func (*goOpenAIError) Error() string      { return "any" }
func (discordLimit) Error() string        { return "any" }
func (*discordAnswer) Error() string      { return "any" }
func (elasticError) Error() string        { return "any" }
func (*mysqlError) Error() string         { return "any" }
func (e *kafkaError) Error() string       { return e.Message }
func (minioError) Error() string          { return "any" }
func (*telegramError) Error() string      { return "any" }
func (*streamError) Error() string        { return "any" }
func (*anthropicError) Error() string     { return "any" }
func (e *anthropicError) RawJSON() string { return e.raw }
func (methodical) Error() string          { return "any" }
func (a methodical) StatusCode() int      { return int(a) }
func (loud) Error() string                { return "any" }
func (loud) StatusCode() int              { panic("loud") }
func (loud) Retryable() bool              { panic("loud") }
func (*selfish) Error() string            { return "any" }
func (unhidden) Error() string            { return "any" }
func (numbered) Error() string            { return "any" }
func (pointers) Error() string            { return "any" }

func state(s string) (of [5]byte) {
	copy(of[:], s)
	return of
}

func ptr[T any](v T) *T { return &v }

func stripe(code stripeCode, reason string) error {
	h := http.Header{}
	if reason != "" {
		h.Set("Stripe-Rate-Limited-Reason", reason)
	}
	return &stripeError{stripeResource: stripeResource{&stripeResponse{h, 429}}, Code: code, HTTPStatusCode: 429, Type: "invalid_request_error"}
}

func event(data string) error { return &streamError{Event: streamEvent{Data: []byte(data + "\n")}} }

// broken is an error event of anthropic-sdk-go: the answer is a success, and its body is still open.
func broken(body string) error {
	return &anthropicError{200, &http.Response{StatusCode: 200, Body: io.NopCloser(hung{})}, body}
}

type hung struct{}

func (hung) Read([]byte) (int, error) { panic("the body of a stream was read") }

func TestErrorsOfSDKsByShape(t *testing.T) {
	retryInfo := map[string]any{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}
	perDay := map[string]any{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []any{map[string]any{"quotaId": "RequestsPerDay"}}}
	for name, c := range map[string]struct {
		err  error
		want verdict.Verdict
	}{
		"googleapi 429":               {&googleError{Code: 429}, overload},
		"googleapi 503":               {&googleError{Code: 503, Header: http.Header{"Retry-After": {"7"}}}, after(overload, 7*time.Second)},
		"googleapi by value":          {googleError{Code: 503}, overload},
		"googleapi, after another":    {errors.Join(&twilioError{Status: 200}, &googleError{Code: 429}), overload},
		"googleapi 500":               {&googleError{Code: 500}, unclear},
		"googleapi 403 for load":      {&googleError{Code: 403, Errors: []googleItem{{"rateLimitExceeded", ""}}}, overload},
		"googleapi 403 in the body":   {&googleError{Code: 403, Body: `{"error":{"errors":[{"reason":"userRateLimitExceeded"}]}}`}, overload},
		"googleapi 403 for the day":   {&googleError{Code: 403, Errors: []googleItem{{"dailyLimitExceeded", ""}}}, spent},
		"googleapi 403":               {&googleError{Code: 403, Errors: []googleItem{{"forbidden", ""}}}, final},
		"googleapi 404":               {fmt.Errorf("read: %w", &googleError{Code: 404}), refused},
		"genai 429":                   {genaiError{Code: 429, Status: "RESOURCE_EXHAUSTED", Details: []map[string]any{retryInfo}}, after(overload, 34*time.Second)},
		"genai, the quota of a day":   {genaiError{Code: 429, Details: []map[string]any{perDay, retryInfo}}, after(guessed, 34*time.Second)},
		"genai 503":                   {genaiError{Code: 503}, overload},
		"stripe 429":                  {stripe("rate_limit", ""), overload},
		"stripe, a lock":              {stripe("lock_timeout", ""), again},
		"stripe, a lock and a limit":  {stripe("lock_timeout", "global-rate"), overload},
		"twilio 429":                  {&twilioError{Code: 20429, Status: 429}, overload},
		"twilio 400":                  {&twilioError{Code: 21211, Status: 400}, final},
		"slack":                       {&slackError{30 * time.Second}, after(overload, 30*time.Second)},
		"slack without a time":        {&slackError{}, overload},
		"go-openai 429":               {&goOpenAIError{Code: "rate_limit_exceeded", HTTPStatusCode: 429}, overload},
		"go-openai, out of quota":     {&goOpenAIError{Code: "insufficient_quota", HTTPStatusCode: 429}, closed},
		"go-openai, the day":          {&goOpenAIError{Message: "on Requests per day (RPD): Limit 200", HTTPStatusCode: 429}, spent},
		"go-openai 503":               {&goOpenAIError{HTTPStatusCode: 503}, overload},
		"discordgo":                   {discordLimit{&discordRate{&discordRefusal{RetryAfter: time.Second}}}, after(overload, time.Second)},
		"discordgo without a reason":  {discordLimit{}, unknown},
		"discordgo 429":               {&discordAnswer{Response: &http.Response{StatusCode: 429}}, overload},
		"elasticsearch 429":           {elasticError{Status: 429}, overload},
		"mysql 1040":                  {&mysqlError{Number: 1040, SQLState: state("08004")}, overload},
		"mysql 1213":                  {fmt.Errorf("commit: %w", &mysqlError{Number: 1213, SQLState: state("40001")}), again},
		"kafka, retriable":            {&kafkaError{"NOT_LEADER_FOR_PARTITION: no leader", 6, true}, again},
		"kafka, its quota":            {&kafkaError{"THROTTLING_QUOTA_EXCEEDED: throttled", 89, true}, overload},
		"kafka, final":                {&kafkaError{"TOPIC_AUTHORIZATION_FAILED", 29, false}, unknown},
		"minio":                       {minioError{"SlowDown", 503}, overload},
		"minio 404":                   {minioError{"NoSuchKey", 404}, refused},
		"telegram":                    {&telegramError{429, telegramParameters{5}}, after(overload, 5*time.Second)},
		"telegram, for 63 years":      {&telegramError{429, telegramParameters{2e9}}, overload},
		"telegram, before":            {&telegramError{429, telegramParameters{-5}}, overload},
		"a method":                    {methodical(503), overload},
		"a method, a success":         {methodical(200), unknown},
		"pointers":                    {pointers{ptr(400), ptr("Throttling")}, overload},
		"nil pointers":                {pointers{}, unknown},
		"wrapped and joined":          {fmt.Errorf("a: %w", errors.Join(io.ErrNoProgress, &twilioError{Status: 503})), overload},
		"the caller went away":        {errors.Join(&twilioError{Status: 503}, context.Canceled), final},
		"openai-go, in a stream":      {event(`{"error":{"message":"The server had an error","type":"server_error","code":null}}`), unclear},
		"openai-go, overloaded":       {event(`{"error":{"type":"overloaded_error"}}`), overload},
		"openai-go, a rate":           {event(`{"error":{"code":"rate_limit_exceeded","type":"tokens"}}`), overload},
		"openai-go, without a type":   {event(`{"error":"gone"}`), unclear},
		"openai-go, a number":         {event(`{"error":{"code":429,"message":"slow down"}}`), overload},
		"openai-go, a status as text": {event(`{"error":{"code":"400","type":"None"}}`), final},
		"openai-go, out of quota":     {event(`{"error":{"code":"insufficient_quota"}}`), closed},
		"openai-go, a wrong request":  {event(`{"error":{"type":"invalid_request_error"}}`), final},
		"openai-go, no JSON":          {event(`gone`), unknown},
		"anthropic, in a stream":      {broken(`{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`), unclear},
		"anthropic, overloaded":       {broken(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), overload},
		"anthropic, a wrong request":  {broken(`{"type":"error","error":{"type":"invalid_request_error"}}`), final},
		"anthropic, a success":        {broken(`{"type":"message"}`), unknown},
		"anthropic 529":               {&anthropicError{529, &http.Response{StatusCode: 529}, `{"type":"error"}`}, overload},

		// Not the error of an answer.
		"a number of 32 bits":    {numbered{462}, unknown},
		"a field without a name": {unhidden{429}, unknown},
		"a code of its own":      {&twilioError{Code: 20429}, unknown},
		"a nil pointer":          {(*googleError)(nil), unknown},
		"a nil pointer, wrapped": {errors.Join((*twilioError)(nil), &twilioError{Status: 503}), overload},
		"a method that panics":   {loud{1}, unknown},
		"a field comes first":    {loud{503}, overload},
	} {
		assert.Equal(t, c.want, verdict.Classify(c.err), name)
	}
	circle := &selfish{}
	circle.Errors = []*selfish{circle}
	require.Equal(t, unknown, verdict.Classify(circle))
}

// The range of a status, by its first and last numbers.
func TestShapesHaveAStatus(t *testing.T) {
	for status, want := range map[int]verdict.Verdict{399: unknown, 400: final, 599: timeout, 600: unknown} {
		assert.Equal(t, want, verdict.Classify(&twilioError{Status: status}), status)
		assert.Equal(t, want, verdict.Classify(methodical(status)), status)
	}
}

// An SDK's error is found however deep an SDK wraps it; a tree has an end.
func TestShapesInADeepTree(t *testing.T) {
	deep := func(n int) (err error) {
		for err = error(&twilioError{Status: 503}); n > 0; n-- {
			err = fmt.Errorf("wrapped: %w", err)
		}
		return err
	}
	require.Equal(t, overload, verdict.Classify(deep(63)))
	require.Equal(t, unknown, verdict.Classify(deep(64)))
}

// A list may be longer than what is read of it.
func TestShapesWithALongList(t *testing.T) {
	list := func(n int) error {
		return &googleError{Code: 403, Errors: append(make([]googleItem, n), googleItem{Reason: "rateLimitExceeded"})}
	}
	require.Equal(t, overload, verdict.Classify(list(63)))
	require.Equal(t, denied, verdict.Classify(list(64)))
	require.Equal(t, denied, verdict.Classify(&googleError{Code: 403, Body: `{"reason":"` + strings.Repeat("x", 64<<10) + `","code":"rateLimitExceeded"}`}))
}
