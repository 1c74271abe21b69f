package upload

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// filter chooses files by their paths below the source, with slashes. A pattern without a slash is for the name of a file
// or a directory, at any depth; another is for the path. Files below a directory are chosen with it.
type filter struct{ Include, Exclude []string }

// takes reports whether the file is uploaded: it is included, or all are, and it is not excluded.
func (f filter) takes(path string) bool {
	return (len(f.Include) == 0 || chosen(f.Include, path)) && !chosen(f.Exclude, path)
}

// chosen reports whether a pattern is for the path, or for a directory that it lies in.
func chosen(patterns []string, path string) bool {
	for end := range len(path) + 1 {
		if (end == len(path) || path[end] == '/') && slices.ContainsFunc(patterns, func(p string) bool { return matches(p, path[:end]) }) {
			return true
		}
	}
	return false
}

func matches(pattern, path string) bool {
	if pattern = strings.TrimSuffix(pattern, "/"); !strings.Contains(pattern, "/") {
		pattern = "**/" + pattern
	}
	return doublestar.MatchUnvalidated(strings.TrimPrefix(pattern, "/"), path)
}
