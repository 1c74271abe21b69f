package recipes

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/produce"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/verdict"
)

func kafkaLimiter() (*aimd.Limiter, error) {
	throttled := func(err error) verdict.Verdict {
		if errors.Is(err, kafka.ThrottlingQuotaExceeded) {
			return verdict.Verdict{Meaning: answer.Refused}
		}
		return verdict.Verdict{} // kafka-go has Timeout and Temporary for the others
	}
	return aimd.New(aimd.Config{Classifier: verdict.FirstOf(throttled, verdict.Classify)})
}

func send(ctx context.Context, lim *aimd.Limiter, client *kafka.Client, topic string, value []byte) error {
	return lim.Do(ctx, func(ctx context.Context) error {
		answer, err := client.Produce(ctx, &kafka.ProduceRequest{
			Topic: topic, RequiredAcks: kafka.RequireAll,
			Records: kafka.NewRecordReader(kafka.Record{Value: kafka.NewBytes(value)}),
		})
		if err != nil {
			return err
		}
		return answer.Error
	})
}

// broker answers with these errors in turn, and then well.
type broker []kafka.Error

func (b *broker) RoundTrip(_ context.Context, _ net.Addr, req kafka.Request) (kafka.Response, error) {
	code := int16(0)
	if len(*b) > 0 {
		code, *b = int16((*b)[0]), (*b)[1:]
	}
	return &produce.Response{Topics: []produce.ResponseTopic{{
		Topic:      req.(*produce.Request).Topics[0].Topic,
		Partitions: []produce.ResponsePartition{{ErrorCode: code}},
	}}}, nil
}

func TestKafka(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim, err := kafkaLimiter()
		require.NoError(t, err)
		b := &broker{kafka.ThrottlingQuotaExceeded, kafka.RequestTimedOut, kafka.LeaderNotAvailable}
		client := &kafka.Client{Addr: kafka.TCP("service.example:9092"), Transport: b}
		require.NoError(t, send(t.Context(), lim, client, "orders", []byte("1")))
		s := lim.Snapshot()
		require.EqualValues(t, []uint64{1, 1, 1, 1}, []uint64{s.Successes, s.Overloads, s.Timeouts, s.Neutrals})
		*b = broker{kafka.MessageSizeTooLarge}
		require.ErrorIs(t, send(t.Context(), lim, client, "orders", []byte("1")), kafka.MessageSizeTooLarge)
	})
}

func execLimiter() (*aimd.Limiter, error) {
	codes := func(err error) verdict.Verdict {
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 75 { // EX_TEMPFAIL of sysexits.h
			return verdict.Verdict{Meaning: answer.Refused}
		}
		return verdict.Verdict{} // any other is final
	}
	return aimd.New(aimd.Config{Classifier: verdict.FirstOf(codes, verdict.Classify)})
}

func run(ctx context.Context, lim *aimd.Limiter, name string, args ...string) ([]byte, error) {
	return aimd.Do(ctx, lim, func(ctx context.Context) ([]byte, error) {
		return exec.CommandContext(ctx, name, args...).Output() // a Cmd runs once
	})
}

// command is what this test's binary does as a command: it fails twice, as its first
// argument, a file, tells, or without end.
func command() int {
	if os.Args[1] == "wrong" {
		return 2
	}
	before, _ := os.ReadFile(os.Args[1]) // none: the first time
	if len(before) < 2 {
		if err := os.WriteFile(os.Args[1], append(before, '.'), 0o600); err != nil {
			return 1
		}
		return 75
	}
	fmt.Print("done")
	return 0
}

func TestExec(t *testing.T) {
	t.Setenv("RECIPES_COMMAND", "1")
	lim, err := execLimiter()
	require.NoError(t, err)
	out, err := run(t.Context(), lim, os.Args[0], filepath.Join(t.TempDir(), "times"))
	require.NoError(t, err)
	require.Equal(t, "done", string(out))
	require.EqualValues(t, 2, lim.Snapshot().Overloads)

	_, err = run(t.Context(), lim, os.Args[0], "wrong")
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 2, exit.ExitCode())
	require.ErrorContains(t, err, "failed after 1 attempt")
}

func transfer(ctx context.Context, lim *aimd.Limiter, db *sql.DB) error {
	return lim.Do(ctx, func(ctx context.Context) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(ctx, "update accounts set balance = balance - 1"); err != nil {
			return err
		}
		return tx.Commit()
	})
}

// postgres is a driver whose statements fail with these states of pgx first.
type postgres struct{ states []string }

func (p *postgres) Connect(context.Context) (driver.Conn, error) { return p, nil }
func (p *postgres) Driver() driver.Driver                        { return nil }
func (p *postgres) Prepare(string) (driver.Stmt, error)          { return nil, driver.ErrSkip }
func (p *postgres) Begin() (driver.Tx, error)                    { return p, nil }
func (p *postgres) Commit() error                                { return nil }
func (p *postgres) Rollback() error                              { return nil }
func (p *postgres) Close() error                                 { return nil }

func (p *postgres) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	if len(p.states) == 0 {
		return driver.RowsAffected(1), nil
	}
	state := p.states[0]
	p.states = p.states[1:]
	return nil, &pgconn.PgError{Severity: "FATAL", Code: state, Message: "no"}
}

// Too many connections, a server that starts, a deadlock and a serialization failure are
// tried again; a key that exists is the caller's.
func TestPostgres(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := sql.OpenDB(&postgres{states: []string{"53300", "57P03", "40P01", "40001"}})
		lim := newLimiter(t, aimd.Config{})
		require.NoError(t, transfer(t.Context(), lim, db))
		s := lim.Snapshot()
		require.EqualValues(t, []uint64{1, 2, 2}, []uint64{s.Successes, s.Overloads, s.Neutrals})
		require.NoError(t, db.Close())
	})
	synctest.Test(t, func(t *testing.T) {
		db := sql.OpenDB(&postgres{states: []string{"23505"}})
		err := transfer(t.Context(), newLimiter(t, aimd.Config{}), db)
		require.ErrorAs(t, err, new(*pgconn.PgError))
		require.ErrorContains(t, err, "failed after 1 attempt")
		require.NoError(t, db.Close())
	})
}
