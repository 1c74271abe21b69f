//go:build !unix

package load

import "net"

func setBacklog(net.Listener, int) error { return nil }
