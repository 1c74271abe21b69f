// Package viewer is the page of package live: it looks at limiters while a page is open.
// It also shows clients that no limiter bounds, to be compared with them.
package viewer
