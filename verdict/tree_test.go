package verdict

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"net/url"
	"os"
	"reflect"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// chain hides its errors from Unwrap, as go-multierror does.
type chain []error

func (c chain) Error() string        { return "several" }
func (c chain) As(target any) bool   { return errors.As(c[0], target) }
func (c chain) Is(target error) bool { return errors.Is(c[0], target) }

// plain has a method of no interest.
type plain struct{}

func (*plain) Error() string { return "plain" }
func (*plain) Fatal() bool   { return true }

// What was walked once is found as errors.As and errors.Is find it.
func TestATreeIsSearchedAsErrorsDo(t *testing.T) {
	dial := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for _, err := range []error{
		io.EOF, errors.New("any"), dial, &plain{}, &net.DNSError{IsTimeout: true}, context.DeadlineExceeded,
		&url.Error{Op: "Get", Err: dial}, &url.Error{Op: "Get", Err: io.EOF}, &textproto.Error{Code: 421},
		fmt.Errorf("a: %w", fmt.Errorf("b: %w, %w", io.EOF, dial)), errors.Join(errors.New("any"), &net.DNSError{}, dial),
		chain{dial}, fmt.Errorf("a: %w", chain{errors.Join(context.Canceled, &plain{})}), os.ErrDeadlineExceeded,
	} {
		f := walk(err)
		require.Same(t, f, walk(f))
		for _, target := range []error{io.EOF, syscall.ECONNREFUSED, context.Canceled, context.DeadlineExceeded, os.ErrDeadlineExceeded} {
			assert.Equal(t, errors.Is(err, target), f.isAny(os.ErrClosed, target), "%v, %v", err, target)
		}
		searched[*net.OpError](t, err)
		searched[*net.DNSError](t, err)
		searched[*textproto.Error](t, err)
		searched[net.Error](t, err)
		searched[interface{ Fatal() bool }](t, err)
		searched[interface{ Temporary() bool }](t, err)
	}
}

func searched[T any](t *testing.T, err error) {
	t.Helper()
	var want T
	found := errors.As(err, &want)
	got, ok := first[T](walk(err))
	assert.Equal(t, found, ok, "%v, %T", err, &want)
	assert.Equal(t, want, got, "%v, %T", err, &want)
}

type mute struct{}

func (mute) Error() string { panic("mute") }

// A nil pointer has nothing to say, and its methods may panic. So may Error.
func TestErrorsThatPanic(t *testing.T) {
	f := walk(errors.Join((*net.OpError)(nil), (*url.Error)(nil), io.EOF))
	require.True(t, f.cutOff())
	require.False(t, f.undialed())
	require.False(t, walk(mute{}).cutOff())
	require.Equal(t, &tree{}, walk(nil))
	require.False(t, walk(nil).cutOff())
}

// refused is an error of a stream as net/http has it.
type refused uint32

func (refused) Error() string { return "stream error" }

func (r refused) As(target any) bool {
	v := reflect.ValueOf(target).Elem()
	if v.Kind() != reflect.Struct {
		return false
	}
	v.FieldByName("Code").SetUint(uint64(r))
	return true
}

// What was certainly not done may be sent again, a POST too.
func TestWhatWasNotDone(t *testing.T) {
	for err, want := range map[error]bool{
		nil:                                     false,
		io.EOF:                                  false,
		refused(7):                              true,
		refused(8):                              false,
		refused(11):                             false,
		fmt.Errorf("post: %w", &net.DNSError{}): true,
		&net.OpError{Op: "proxyconnect", Err: io.EOF}:                                       true,
		&net.OpError{Op: "read", Err: errors.New("net/http: TLS handshake timeout")}:        false,
		errors.New("net/http: TLS handshake timeout"):                                       true,
		errors.New("http2: Transport received GOAWAY from server ErrCode:INTERNAL_ERROR"):   true,
		errors.New("http2: server sent GOAWAY and closed the connection; ErrCode=NO_ERROR"): false,
		errors.New("http2: client connection lost"):                                         false,
	} {
		assert.Equal(t, want, walk(err).undone(), "%v", err)
	}
}
