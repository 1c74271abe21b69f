//go:build race

package browser

// slower is by how much the race detector makes a program slower, about.
const slower = 10
