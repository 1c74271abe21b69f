package s3

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
)

// explain says in one line what is wrong with the endpoint.
func (e *endpoint) explain(doing string, err error) error {
	var status interface{ HTTPStatusCode() int }
	var dns *net.DNSError
	var dial *net.OpError
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &dns):
		return fmt.Errorf("--endpoint %s: no such host: %w", e.url, dns)
	case errors.As(err, &dial) && dial.Op == "dial":
		return fmt.Errorf("--endpoint %s: nobody answers there: %w", e.url, dial)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("--endpoint %s: no answer within %v (%s)", e.url, probeTime, doing)
	case errors.As(err, &status) && status.HTTPStatusCode() == http.StatusForbidden:
		return fmt.Errorf("--endpoint %s: the credentials do not allow %s: %w", e.url, doing, err)
	}
	return fmt.Errorf("--endpoint %s: %s: %w", e.url, doing, err)
}
