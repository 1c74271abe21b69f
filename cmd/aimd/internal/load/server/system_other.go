//go:build !unix

package server

import "net"

func setBacklog(net.Listener, int) error { return nil }
