// Package reach tells early whether a service can be reached at all.
package reach

import (
	"context"
	"net"
	"net/http"
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
