package main

import (
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// cells are a line of a Markdown table, without emphasis.
func cells(line string) (all []string) {
	for c := range strings.SplitSeq(strings.Trim(strings.TrimSpace(line), "|"), "|") {
		all = append(all, strings.TrimSpace(strings.NewReplacer("*", "", "`", "").Replace(c)))
	}
	return all
}

var number = regexp.MustCompile(`\d+(?: \d{3})*(?:\.\d+)?`)

// compare writes the cells of the source's tables in the text that differ from the points, and returns how many cells
// it compared, how many cells differ, and the text with fresh figures.
func (s source) compare(text string, all []point, out io.Writer) (compared, differ int, anew string) {
	var head []string
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, s.head):
			head = cells(line)
		case !strings.HasPrefix(line, "|"):
			head = nil
		case head != nil && !strings.HasPrefix(line, "|-"):
			row := cells(line)
			for c := 1; c < min(len(row), len(head)); c++ {
				points, paths := s.of(row[0], head[c], all)
				if len(paths) == 0 || row[c] == "no end" || row[c] == "" {
					continue
				}
				var fresh []string
				good := false
				for _, p := range points {
					text, same := s.same(row[c], p, paths)
					fresh, good = append(fresh, text), good || same
				}
				if compared++; !good {
					differ++
					fmt.Fprintf(out, "%s:%d: %s, %s: %s is %s\n", s.page, i+1, row[0], head[c], row[c], strings.Join(fresh, " or "))
					if len(fresh) == 1 && s.noise == 0 {
						lines[i] = written(lines[i], c+1, strings.Split(fresh[0], ", "))
					}
				}
			}
		}
	}
	return compared, differ, strings.Join(lines, "\n")
}

var thousands = regexp.MustCompile(`(\d)(\d{3})$`)

// written is a line of a table with these figures in a cell, if it has as many.
func written(line string, cell int, figures []string) string {
	parts := strings.Split(line, "|")
	if len(number.FindAllString(parts[cell], -1)) == len(figures) {
		parts[cell] = number.ReplaceAllStringFunc(parts[cell], func(string) string {
			f := figures[0]
			if figures = figures[1:]; len(f) > 4 {
				f = thousands.ReplaceAllString(f, "$1 $2")
			}
			return f
		})
	}
	return strings.Join(parts, "|")
}

// same reports whether a cell has the point's figures, in as many digits as it has, and returns them so.
func (s source) same(cell string, p point, paths []string) (fresh string, same bool) {
	told := number.FindAllString(cell, -1)
	same = len(told) == len(paths)
	var all []string
	for i, path := range paths {
		v, ok := p.value(path)
		text, decimals := strconv.FormatFloat(v, 'g', 3, 64), 0
		if i < len(told) {
			was := strings.ReplaceAll(told[i], " ", "")
			if _, after, point := strings.Cut(was, "."); point {
				decimals = len(after)
			}
			text = strconv.FormatFloat(v, 'f', decimals, 64)
			x, _ := strconv.ParseFloat(was, 64)
			same = same && (text == was || math.Abs(x-v) <= s.noise*math.Abs(x))
		}
		same = same && ok
		all = append(all, text)
	}
	return strings.Join(all, ", "), same
}
