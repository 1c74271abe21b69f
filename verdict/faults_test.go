package verdict_test

import (
	"errors"
	"fmt"
	"net/textproto"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// largeError is gRPC's error of a message that is too large.
type largeError struct {
	grpcError
	text string
}

func (e largeError) Error() string { return "rpc error: code = ResourceExhausted desc = " + e.text }

// Faults of errors that users of other clients reported. Each lost work here once, or was asked for ever.
func TestErrorsOfStrangers(t *testing.T) {
	for _, c := range []struct {
		err  error
		want verdict.Verdict
	}{
		// golang/go#76296, curl/curl#5119: on the first stream of a connection, and on a later one.
		{errors.New("http2: Transport received GOAWAY from server ErrCode:ENHANCE_YOUR_CALM"), overload},
		{errors.New(`http2: server sent GOAWAY and closed the connection; LastStreamID=1999, ErrCode=ENHANCE_YOUR_CALM, debug="too_many_pings"`), overload},
		{errors.New("http2: Transport received GOAWAY from server ErrCode:INTERNAL_ERROR"), again},
		{errors.New("ENHANCE_YOUR_CALM"), unknown},
		// A server that restarts, by net/http: 6 of 5432 GETs were final, and each body without a GetBody.
		{errors.New("http2: client conn could not be established"), again},
		{errors.New("http2: client conn not usable"), again},
		{errors.New("http2: client conn is closed"), again},
		{errors.New("net/http: cannot rewind body after connection loss"), again},
		{errors.New("http2: client connection force closed via ClientConn.Close"), again},
		{errors.New("http2: Transport: cannot retry err [http2: Transport received Server's graceful shutdown GOAWAY] after Request.Body was written"), again},
		{errors.New("http2: Transport: cannot retry err [stream error: stream ID 5; REFUSED_STREAM] after Request.Body was written"), overload},

		// grpc/grpc#10612, temporalio/sdk-go#466, thanos-io/thanos#4708.
		{largeError{grpcError{8}, "grpc: received message larger than max (5308389 vs. 4194304)"}, final},
		{fmt.Errorf("call: %w", largeError{grpcError{8}, "gRPC message exceeds maximum size 4194304: 5308389"}), final},
		{largeError{grpcError{8}, "Received message exceeds the maximum configured message size."}, final},
		{largeError{grpcError{14}, "larger than max"}, overload},

		// knadh/listmonk#2273, nodemailer/nodemailer#436.
		{&textproto.Error{Code: 454, Msg: "Throttling failure: Maximum sending rate exceeded."}, overload},
		{&textproto.Error{Code: 450, Msg: "Too many requests. Try again later."}, overload},
		{fmt.Errorf("send: %w", &textproto.Error{Code: 432, Msg: "4.3.2 throttled"}), overload},
		{&textproto.Error{Code: 421, Msg: "Service not available, closing transmission channel."}, again},
		{&textproto.Error{Code: 425, Msg: "Can't open data connection."}, again},
		{&textproto.Error{Code: 426, Msg: "Connection closed; transfer aborted."}, again},
		{&textproto.Error{Code: 450, Msg: "4.2.0 Greylisted"}, again},
		{&textproto.Error{Code: 459, Msg: "busy"}, again},
		{&textproto.Error{Code: 460, Msg: "busy"}, unknown},
		{&textproto.Error{Code: 430, Msg: "No such article"}, unknown},
		{&textproto.Error{Code: 423, Msg: "No such article"}, unknown},
		{&textproto.Error{Code: 550, Msg: "no such user; rate limit"}, final},
	} {
		assert.Equal(t, c.want, verdict.Classify(c.err), "%v", c.err)
	}
	for says, want := range map[string]bool{"http2: client conn could not be established": true, "http2: client conn not usable": true,
		"http2: client conn is closed": false, "http2: client connection force closed": false, "net/http: cannot rewind body after connection loss": true,
		"http2: Transport received Server's graceful shutdown GOAWAY": true, "http2: Transport: cannot retry err [stream error: stream ID 5; REFUSED_STREAM]": true} {
		assert.Equal(t, want, verdict.NotSent(errors.New(says)), says)
	}
}

// A service that hangs up for load resets the streams of HTTP/2, and not the connection. A classifier that asks CutOff
// did not see it.
func TestAStreamThatBreaksOffIsCutOff(t *testing.T) {
	for code, want := range map[reset]bool{0x1: false, 0x2: true, 0x7: false, 0x8: true, 0xb: false} {
		assert.Equal(t, want, verdict.CutOff(fmt.Errorf("get: %w", code)), code)
	}
}

// A bucket that is full: Ceph Object Gateway, versity/versitygw#503. An upload to it was tried for ever. Google's
// quotaExceeded is of a rate, and so is Amazon's SP-API's with 429.
func TestABucketThatIsFull(t *testing.T) {
	for _, code := range []string{"QuotaExceeded", "QUOTA_EXCEEDED", "ObjectQuotaExceeded"} {
		assert.Equal(t, answer.Spent, verdict.Classify(apiError{code, 403}).Meaning, code)
	}
	assert.Equal(t, answer.Guessed, verdict.Classify(apiError{"quotaExceeded", 403}).Meaning)
	assert.Equal(t, answer.Guessed, verdict.Classify(apiError{"QuotaExceeded", 429}).Meaning)
}

// An error that is a text: a batch's item, or fmt.Errorf("unexpected status code: %d"). 952 of 1000 were lost in Do.
func TestStatusesAndCodesInAText(t *testing.T) {
	for _, text := range []string{
		"unexpected status code: 429", "unexpected HTTP status 503", "HTTP 429", "status 429", "503 Service Unavailable",
		"es_rejected_execution_exception: rejected execution of coordinating operation",
		"TooManyRequestsException: Rate exceeded", "RequestLimitExceeded: Request limit exceeded.", "toomanyrequests: retry-after: 985.86µs, allowed: 44000/minute",
	} {
		v := verdict.Classify(errors.New(text))
		assert.True(t, v.Retry(), "%q: %v", text, v.Meaning)
		assert.Equal(t, window.Overload, v.Outcome(), text)
	}
	for _, text := range []string{"order 429 not found", "took 503 ms", "503 items", "wrote 429 bytes", "unexpected status code: 404", "page 429 of 503"} {
		assert.False(t, verdict.Classify(errors.New(text)).Retry(), text)
	}
}

// A database, or the pooler in front of it, that is full: prisma/orm#15334, supabase/storage#348, dotnet/efcore#28200,
// airbytehq/airbyte#78415. The types have the fields of the drivers. 25 of 30 were final.
// pooled is as the error of pgx and pq.
type pooled struct{ Severity, Code, Message string }

func (e *pooled) Error() string {
	return fmt.Sprintf("%s: %s (SQLSTATE %s)", e.Severity, e.Message, e.Code)
}
func (e *pooled) SQLState() string { return e.Code }

// azured is as the error of go-mssqldb.
type azured struct {
	Number       int32
	State, Class uint8
	Message      string
}

func (e azured) Error() string { return "mssql: " + e.Message }

// Exported as the driver does: the limiter may read it by its name.
func (e azured) SQLErrorNumber() int32 { return e.Number }

// clicked is as the error of clickhouse-go.
type clicked struct {
	Code          int32
	Name, Message string
}

func (e *clicked) Error() string { return fmt.Sprintf("code: %d, message: %s", e.Code, e.Message) }

func TestDatabasesAndTheirPoolers(t *testing.T) {
	for _, err := range []error{
		&pooled{"FATAL", "08P01", "no more connections allowed (max_client_conn)"},
		&pooled{"FATAL", "XX000", "MaxClientsInSessionMode: max clients reached - in Session mode max clients are limited to pool_size"},
		azured{Number: 40501, Message: "The service is currently busy. Retry the request after 10 seconds. Incident ID: 1. Code: 1"},
		azured{Number: 10928, Message: "Resource ID : 1. The request limit for the database is 60 and has been reached."},
		&clicked{252, "DB::Exception", "Too many parts (300). Merges are processing significantly slower than inserts"},
	} {
		v := verdict.Classify(err)
		assert.True(t, v.Retry(), "%v: %v", err, v.Meaning)
		assert.Equal(t, window.Overload, v.Outcome(), "%v", err)
	}
	for _, err := range []error{
		azured{Number: 40613, Message: "Database 'a' on server 'b' is not currently available. Please retry the connection later."},
		azured{Number: 1205, Message: "Transaction (Process ID 52) was deadlocked on lock resources with another process and has been chosen as the deadlock victim. Rerun the transaction."},
	} {
		assert.True(t, verdict.Classify(err).Retry(), "%v", err)
	}
	for _, err := range []error{
		&pooled{"ERROR", "23505", "duplicate key value violates unique constraint"}, azured{Number: 2627, Message: "Violation of PRIMARY KEY constraint."},
		&clicked{62, "DB::Exception", "Syntax error"}, &pooled{"FATAL", "28P01", "password authentication failed"},
	} {
		assert.False(t, verdict.Classify(err).Retry(), "%v", err)
	}
}

// neo is as the error of neo4j-go-driver.
type neo struct{ Code, Msg string }

func (e *neo) Error() string { return "Neo4jError: " + e.Code + " (" + e.Msg + ")" }

// Errors of databases that are texts, or that have a code of their own.
func TestDatabasesInWords(t *testing.T) {
	for err, want := range map[error]window.Outcome{
		errors.New("LOADING Redis is loading the dataset in memory"):                                       window.Overload,
		errors.New("ORA-00020: maximum number of processes (300) exceeded"):                                window.Overload,
		errors.New("ORA-12519: TNS:no appropriate service handler found"):                                  window.Overload,
		&neo{"Neo.TransientError.Request.NoThreadsAvailable", "busy"}:                                      window.Overload,
		errors.New("TRYAGAIN Multiple keys request during rehashing of slot"):                              window.Neutral,
		errors.New("CLUSTERDOWN The cluster is down"):                                                      window.Neutral,
		errors.New("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."):     window.Neutral,
		errors.New("READONLY You can't write against a read only replica."):                                window.Neutral,
		errors.New("(NotWritablePrimary) not primary"):                                                     window.Neutral,
		errors.New("connection() error: (PrimarySteppedDown) primary stepped down while waiting for acks"): window.Neutral,
		errors.New("ORA-00060: deadlock detected while waiting for resource"):                              window.Neutral,
		&neo{"Neo.TransientError.Transaction.DeadlockDetected", "deadlock"}:                                window.Neutral,
	} {
		v := verdict.Classify(err)
		assert.True(t, v.Retry(), "%v: %v", err, v.Meaning)
		assert.Equal(t, want, v.Outcome(), "%v", err)
	}
	for _, err := range []error{
		errors.New("WRONGTYPE Operation against a key holding the wrong kind of value"), errors.New("READONLY"), errors.New("ORA-00001: unique constraint violated"),
		errors.New("(BadValue) not primary"), errors.New("ORA-"), &neo{"Neo.ClientError.Statement.SyntaxError", "x"},
	} {
		assert.False(t, verdict.Classify(err).Retry(), "%v", err)
	}
}
