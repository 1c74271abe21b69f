// Package browser tests the page of package live in a real Chromium, which its tests
// start: on Debian, apt-get install chromium. Without one they are skipped, and say so;
// where CI is set they fail instead.
//
// It is a module of its own so that the library's users do not get the driver of a
// browser among their dependencies. With LIVE_SHOTS set to a folder, screenshots are
// kept there.
package browser
