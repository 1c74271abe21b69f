package verdict_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

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
