package main

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCounts(t *testing.T) {
	files := fstest.MapFS{}
	for name, source := range map[string]string{
		"a.go": `package a
			const One, two = 1, 2
			const ( Three = iota; Four )
			var Five, _ = 5, 6
			type ( Six struct{ Field int }; Seven = Six; eight int )
			type Nine[K any] struct{}
			type Ten[K, V any] interface{ Method() }
			func Eleven() {}
			func twelve() {}
			func (Six) Thirteen() {}
			func (*Six) Fourteen() {}
			func (*Six) fifteen() {}
			func (eight) Sixteen() {}
			func (*Nine[K]) Seventeen() {}`,
		"a_windows.go":      "package a; func Eleven() {}",
		"a_test.go":         "package a; func TestA() {}",
		"b/c/c.go":          "package c; func C() {}",
		"b/internal/d/d.go": "package d; func D() {}",
		"b/testdata/e.go":   "package e; func E() {}",
		".hidden/f.go":      "package f; func F() {}",
		"cmd/g/g.go":        "package main; func G() {}",
		"h/h.go":            "package h",
	} {
		files[name] = &fstest.MapFile{Data: []byte(source)}
	}
	var out strings.Builder
	require.NoError(t, run(files, &out))
	var got [][]string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Fields(line))
	}
	assert.Equal(t, [][]string{{".", "12"}, {"b/c", "1"}, {"h", "0"}, {"sum", "13"}}, got)
}

func TestAFileThatIsNoGo(t *testing.T) {
	err := run(fstest.MapFS{"a.go": {Data: []byte("nothing")}}, &strings.Builder{})
	assert.ErrorContains(t, err, "a.go:1:1")
}
