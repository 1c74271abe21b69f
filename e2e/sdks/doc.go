// Package sdks has tests of clients of real services, with their quotas, against servers on the loopback
// that behave as the services document it.
package sdks
