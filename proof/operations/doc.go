// Package operations has the long proofs of docs/design.md's rules for callers who leave and for operations that fail.
package operations
