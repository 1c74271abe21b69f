// Package browser tests the page of package live in a real Chromium, which its tests
// start (Debian's package is chromium). With LIVE_SHOTS set to a folder, they keep
// screenshots there.
package browser
