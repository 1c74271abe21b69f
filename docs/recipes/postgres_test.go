package recipes

import (
	"context"
	"database/sql"
	"net"
	"testing"
	"testing/synctest"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/internal/pipenet"
)

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

// postgres is a server that refuses connections and statements with these states first.
type postgres struct {
	connections, statements []string
}

func refusal(state string) *pgproto3.ErrorResponse {
	return &pgproto3.ErrorResponse{Severity: "FATAL", Code: state, Message: "no"}
}

func first(states *[]string) (string, bool) {
	if len(*states) == 0 {
		return "", false
	}
	state := (*states)[0]
	*states = (*states)[1:]
	return state, true
}

// serve serves one connection to its end.
func (p *postgres) serve(conn net.Conn) error {
	defer conn.Close()
	b := pgproto3.NewBackend(conn, conn)
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return err
	}
	if state, ok := first(&p.connections); ok {
		b.Send(refusal(state))
		return b.Flush()
	}
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.ParameterStatus{Name: "standard_conforming_strings", Value: "on"})
	b.Send(&pgproto3.ParameterStatus{Name: "client_encoding", Value: "UTF8"})
	status := byte('I')
	for {
		b.Send(&pgproto3.ReadyForQuery{TxStatus: status})
		if err := b.Flush(); err != nil {
			return err
		}
		m, err := b.Receive()
		if err != nil {
			return err
		}
		q, ok := m.(*pgproto3.Query)
		if !ok {
			return nil // Terminate
		}
		status = p.answer(b, q.String, status)
	}
}

func (p *postgres) answer(b *pgproto3.Backend, query string, status byte) byte {
	switch query {
	case "begin":
		status = 'T'
	case "commit", "rollback":
		status = 'I'
	case "-- ping":
	default:
		if state, ok := first(&p.statements); ok {
			b.Send(refusal(state))
			return 'E'
		}
	}
	b.Send(&pgproto3.CommandComplete{CommandTag: []byte(query)})
	return status
}

// start returns a database at the server, over pipes.
func (p *postgres) start(t *testing.T) *sql.DB {
	t.Helper()
	l := pipenet.Listen()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = p.serve(conn) }() // it ends with the client
		}
	}()
	t.Cleanup(func() { _ = l.Close() })
	config, err := pgx.ParseConfig("postgres://user@service.example/db?sslmode=disable")
	require.NoError(t, err)
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	config.DialFunc = l.DialContext
	config.LookupFunc = func(context.Context, string) ([]string, error) { return []string{"192.0.2.1"}, nil }
	db := stdlib.OpenDB(*config)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db
}

// Too many connections, a server that starts, a deadlock and a serialization failure are
// tried again; a key that exists is the caller's.
func TestPostgres(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &postgres{connections: []string{"53300", "57P03"}, statements: []string{"40P01", "40001"}}
		lim := newLimiter(t)
		require.NoError(t, transfer(t.Context(), lim, p.start(t)))
		s := lim.Snapshot()
		require.EqualValues(t, []uint64{1, 2, 2}, []uint64{s.Successes, s.Overloads, s.Neutrals})
	})
	synctest.Test(t, func(t *testing.T) {
		lim := newLimiter(t)
		err := transfer(t.Context(), lim, (&postgres{statements: []string{"23505"}}).start(t))
		var answer *pgconn.PgError
		require.ErrorAs(t, err, &answer)
		require.ErrorContains(t, err, "failed after 1 attempt")
	})
}
