//go:build !unix

package server

import "net"

// setBacklog leaves it as it is: the system decides.
func setBacklog(net.Listener, int) error { return nil }
