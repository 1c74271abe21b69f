package main

import (
	"fmt"
	"regexp"
	"strings"
)

const unreleased = "## [Unreleased]\n"

// unfinished is what an entry says that somebody still means to write.
var unfinished = regexp.MustCompile(`(?i)\b(TODO|TBD|FIXME|XXX)\b`)

// closeChangelog gives what stands under [Unreleased] the version and the day,
// and leaves an empty [Unreleased] above it. It refuses a changelog that has
// nothing there, an unfinished entry, or the version already.
func closeChangelog(text, version, day string) (string, error) {
	number := strings.TrimPrefix(version, "v")
	if strings.Contains(text, "## ["+number+"]") {
		return "", fmt.Errorf("CHANGELOG.md has a section [%s] already", number)
	}
	before, after, found := strings.Cut(text, unreleased)
	if !found {
		return "", fmt.Errorf("CHANGELOG.md has no section [Unreleased]")
	}
	entries, _, _ := strings.Cut(after, "\n## ")
	if !strings.Contains(entries, "\n- ") {
		return "", fmt.Errorf("CHANGELOG.md is unfinished: [Unreleased] has no entry")
	}
	if word := unfinished.FindString(entries); word != "" {
		return "", fmt.Errorf("CHANGELOG.md is unfinished: [Unreleased] says %q", word)
	}
	return before + unreleased + "\n## [" + number + "] - " + day + "\n" + after, nil
}
