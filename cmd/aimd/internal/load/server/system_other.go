//go:build !unix

package server

import "net"

func setBacklog(net.Listener, int) error { return nil }

// OpenFiles is not known here.
func OpenFiles() (uint64, bool) { return 0, false }
