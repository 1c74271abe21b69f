package pgshare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/aimd-go/aimd/setting"
	"github.com/aimd-go/aimd/share"
)

// Store is a share.Store in PostgreSQL. Both fields are required. It may be copied, and all goroutines may use it.
type Store struct {
	// DB is a *pgxpool.Pool. A transaction will not do: all must see a report at once.
	DB DB
	// Name names the fleet: processes with the same Name share a window. 1 to 200 bytes of UTF-8 without a zero byte.
	Name string
}

// DB has the methods of a *pgxpool.Pool that a Store needs.
type DB interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

var _ share.Store = Store{}

// Table makes the table of all fleets. A Store makes it itself if its user may create tables. It is unlogged: nothing
// is written to the log of the database, and a crash of the server empties it.
const Table = `CREATE UNLOGGED TABLE IF NOT EXISTS aimd_share (
	name text, id text, until timestamptz NOT NULL, body text NOT NULL, leader text NOT NULL DEFAULT '', run bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (name, id)) WITH (fillfactor = 50)`

// A fleet's own row has no id: its body is the message, and it ends with the leadership. An election forgets what ended
// more than a minute ago, of other fleets. A report locks its row and then the fleet's. So what locks the fleet's first,
// or the rows of others, waits for none.
const (
	// $1 name, $2 id, $3 lease, $4 row.
	report = `
WITH mine AS (
	INSERT INTO aimd_share (name, id, until, body) VALUES ($1, $2, now() + $3::interval, $4)
	ON CONFLICT (name, id) DO UPDATE SET until = excluded.until, body = excluded.body
), was AS (
	SELECT leader, run, body, leader <> '' AND until > now() AS holds FROM aimd_share WHERE name = $1 AND id = ''
), elected AS (
	INSERT INTO aimd_share AS f (name, id, until, body, leader, run)
	SELECT $1, '', now() + $3::interval, '', $2, extract(epoch FROM now()) * 1000000 WHERE NOT EXISTS (SELECT FROM was WHERE holds)
	ON CONFLICT (name, id) DO UPDATE SET until = excluded.until, leader = excluded.leader, run = greatest(f.run + 1, excluded.run)
	WHERE f.leader = '' OR f.until <= now()
	RETURNING leader, run, body
), forgotten AS (
	DELETE FROM aimd_share WHERE (name, id) IN (
		SELECT name, id FROM aimd_share WHERE name <> $1 AND until < now() - interval '1 minute' AND EXISTS (SELECT FROM elected)
		FOR UPDATE SKIP LOCKED)
)
SELECT coalesce(e.body, w.body, ''), coalesce(e.run, CASE WHEN w.holds AND w.leader = $2 THEN w.run END, 0), now()
FROM (SELECT) one LEFT JOIN elected e ON true LEFT JOIN was w ON true`

	// $1 name, $2 id, $3 lease, $4 run, $5 message.
	lead = `
WITH led AS (
	UPDATE aimd_share SET until = now() + $3::interval, body = coalesce(nullif($5, ''), body)
	WHERE name = $1 AND id = '' AND leader = $2 AND run = $4
	RETURNING 1
), gone AS (
	DELETE FROM aimd_share WHERE name = $1 AND id IN (
		SELECT id FROM aimd_share WHERE name = $1 AND id <> '' AND until <= now() AND EXISTS (SELECT FROM led)
		FOR UPDATE SKIP LOCKED)
)
SELECT coalesce(r.id, ''), coalesce(r.body, '')
FROM led LEFT JOIN aimd_share r ON $5 = '' AND r.name = $1 AND r.id <> '' AND r.until > now()`

	// $1 name, $2 id.
	leave = `
WITH gone AS (DELETE FROM aimd_share WHERE name = $1 AND id = $2)
UPDATE aimd_share SET leader = '' WHERE name = $1 AND id = '' AND leader = $2`
)

// Report implements share.Store.
func (s Store) Report(ctx context.Context, id string, row []byte, lease time.Duration) (a share.Answer, err error) {
	err = s.query(ctx, func(r pgx.CollectableRow) error { return r.Scan(&a.Message, &a.Run, &a.Now) }, report, s.Name, id, lease, string(row))
	return a, err
}

// Lead implements share.Store.
func (s Store) Lead(ctx context.Context, id string, run int64, message []byte, lease time.Duration) (map[string][]byte, error) {
	leads, rows := false, map[string][]byte{}
	err := s.query(ctx, func(r pgx.CollectableRow) error {
		var of, row string
		err := r.Scan(&of, &row)
		if leads = true; of != "" {
			rows[of] = []byte(row)
		}
		return err
	}, lead, s.Name, id, lease, run, string(message))
	if err == nil && !leads {
		err = share.ErrLost
	}
	return rows, err
}

// Leave implements share.Store.
func (s Store) Leave(ctx context.Context, id string) error {
	return s.query(ctx, nil, leave, s.Name, id)
}

// query runs a statement, after it has made the table if it is missing.
func (s Store) query(ctx context.Context, scan func(pgx.CollectableRow) error, sql string, args ...any) error {
	if err := s.check(); err != nil {
		return fmt.Errorf("pgshare: %w: %w", share.ErrRefused, err)
	}
	err := s.once(ctx, scan, sql, args...)
	if is(err, noTable) {
		// Of several that make it at a time all but one may fail, and find it.
		if made := s.once(ctx, nil, Table); is(made, "42501", "25006") {
			return meaning(made)
		}
		err = s.once(ctx, scan, sql, args...)
	}
	return meaning(err)
}

func (s Store) once(ctx context.Context, scan func(pgx.CollectableRow) error, sql string, args ...any) error {
	rows, err := s.DB.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (s Store) check() error {
	switch {
	case s.DB == nil:
		return &setting.Error{Name: "DB", Value: "nil", Want: "a *pgxpool.Pool"}
	case s.Name == "" || len(s.Name) > 200 || !utf8.ValidString(s.Name) || strings.Contains(s.Name, "\x00"):
		return &setting.Error{Name: "Name", Value: fmt.Sprintf("%.210q", s.Name), Want: "1 to 200 bytes of UTF-8 without a zero byte"}
	}
	return nil
}

// is reports whether the server's error has one of the codes, or is in one of the classes.
// https://www.postgresql.org/docs/current/errcodes-appendix.html
func is(err error, codes ...string) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && slices.ContainsFunc(codes, func(c string) bool { return strings.HasPrefix(e.Code, c) })
}

const noTable = "42P01"

// meaning wraps share.ErrRefused if the error does not pass by itself.
func meaning(err error) error {
	want := ""
	switch {
	case err == nil:
		return nil
	case is(err, "25006", "0A000"):
		want = "the primary: a replica takes no writes"
	case is(err, "42501"):
		want = "a user that may create tables, or SELECT, INSERT, UPDATE and DELETE on the one that pgshare.Table makes"
	case is(err, "28"):
		want = "the user and the password of the server"
	case is(err, "3D", "42"):
		want = "a database of PostgreSQL 10 or later, in which no other table is called aimd_share"
	default:
		return fmt.Errorf("pgshare: %w", err)
	}
	return fmt.Errorf("pgshare: %w: %w; want %s", share.ErrRefused, err, want)
}
