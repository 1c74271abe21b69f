// Package browser tests the page of package live in a real Chromium, which its tests
// start (Debian's package is chromium).
package browser
