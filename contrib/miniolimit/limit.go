package miniolimit

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/setting"
)

const (
	// tries is the number of times that Limit lets minio-go try a request. From the 37th try on the doubling of
	// minio-go's pause overflows, and it does not sleep at all (newRetryTimer, v7.4.1).
	tries = 36
	// idleConnections is the number of connections that stay open to one host. With minio-go's own 16 a wider
	// window dials all the time. Our choice: wider than most windows.
	idleConnections = 1024
)

// Limit puts the limiter under the client that is made from the options. It puts the options' transport
// behind the limiter, or minio-go's own with enough idle connections for a wide window. It sets MaxRetries
// to 36 unless it is set already, the most that minio-go spaces out. The error names the argument that is
// nil.
//
// One limiter is for one limit, such as a service or a bucket. Call Limit once for each set of options.
func Limit(opts *minio.Options, l *aimd.Limiter) error {
	if l == nil {
		return fmt.Errorf("miniolimit: %w", &setting.Error{Name: "limiter", Value: "nil"})
	}
	return limit(opts, &httplimit.Transport{Limiter: l})
}

// LimitBy is Limit with a function that chooses the limiter of a request, such as httplimit.By; with [Class] it
// chooses a limiter for each class of operations.
//
//	limiters, err := aimd.NewKeyed(func(class string) (*aimd.Limiter, error) { return aimd.New(aimd.Config{Name: class}) }, aimd.KeyedConfig{})
//	...
//	err = miniolimit.LimitBy(opts, httplimit.By(limiters, miniolimit.Class))
func LimitBy(opts *minio.Options, of func(*http.Request) (*aimd.Limiter, error)) error {
	if of == nil {
		return fmt.Errorf("miniolimit: %w", &setting.Error{Name: "of", Value: "nil"})
	}
	return limit(opts, &httplimit.Transport{Of: of})
}

func limit(opts *minio.Options, t *httplimit.Transport) error {
	if opts == nil {
		return fmt.Errorf("miniolimit: %w", &setting.Error{Name: "options", Value: "nil"})
	}
	base := opts.Transport
	if base == nil {
		own, err := minio.DefaultTransport(opts.Secure)
		if err != nil {
			return fmt.Errorf("miniolimit: minio-go's default transport: %w", err)
		}
		own.MaxIdleConns = 0 // no bound but the one for each host
		own.MaxIdleConnsPerHost = idleConnections
		base = own
	}
	t.Base = &revealing{base}
	opts.Transport = t
	if opts.MaxRetries == 0 {
		opts.MaxRetries = tries
	}
	return nil
}

// Class is the class of a request to a store of S3's API, for httplimit.By. "list" is a GET of buckets, or of a
// bucket's objects, versions or uploads. "delete" is a DELETE, or the POST that deletes several objects. "read" is
// any other GET, or a HEAD. "write" is any other request.
func Class(req *http.Request) string {
	q := req.URL.Query()
	switch req.Method {
	case http.MethodDelete:
		return "delete"
	case http.MethodPost:
		if q.Has("delete") {
			return "delete"
		}
	case "", http.MethodGet:
		if q.Has("prefix") || q.Has("list-type") || q.Has("versions") || q.Has("uploads") || strings.Trim(req.URL.Path, "/") == "" && len(q) == 0 {
			return "list"
		}
		return "read"
	case http.MethodHead:
		return "read"
	}
	return "write"
}
