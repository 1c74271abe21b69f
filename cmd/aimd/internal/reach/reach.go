// Package reach tells early whether a service can be reached at all, and in one line why not.
package reach

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Endpoint finds out whether anybody listens at the address of the URL. The SDK
// would try for long, and look for credentials first: without them a wrong
// address would be taken for missing credentials. Behind a proxy it says yes.
func Endpoint(ctx context.Context, endpoint string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, endpoint, nil)
	if err != nil {
		return err
	}
	if proxy, err := http.ProxyFromEnvironment(req); err != nil || proxy != nil {
		return err
	}
	address := req.URL.Host
	if req.URL.Port() == "" {
		address = net.JoinHostPort(req.URL.Hostname(), req.URL.Scheme) // http and https are names of ports
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// Credentials finds out whether there are any.
func Credentials(ctx context.Context, from aws.CredentialsProvider) error {
	if _, err := from.Retrieve(ctx); err != nil {
		return fmt.Errorf("no AWS credentials found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE: %w", Innermost(err))
	}
	return nil
}

// Explain says why there was no answer from where, within so long; nil: that was not it.
func Explain(where string, within time.Duration, err error) error {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &dns):
		return fmt.Errorf("%s: no such host: %w", where, dns)
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("%s: nobody answers there: %w", where, op)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: no answer within %v: %w", where, within, Innermost(err))
	}
	return nil
}

// Status is that of the answer which the error tells of, 0 if there was none.
func Status(err error) int {
	var s interface{ HTTPStatusCode() int }
	if errors.As(err, &s) {
		return s.HTTPStatusCode()
	}
	return 0
}

// Innermost follows the chain of causes to its end, the first cause where there are
// several: without what the SDK has put around it.
func Innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if several, ok := err.(interface{ Unwrap() []error }); ok && len(several.Unwrap()) > 0 {
			inner = several.Unwrap()[0]
		}
		if inner == nil {
			return err
		}
		err = inner
	}
}
