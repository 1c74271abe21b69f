// Package backoff says how long to wait before a retry: the delays of seeds 0
// to 4. It is pure; time and randomness are arguments.
package backoff
