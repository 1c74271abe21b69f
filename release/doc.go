// Package release tests release.sh, which makes and rehearses releases. The go.mod of its
// folder also pins the tools of the Makefile.
package release
