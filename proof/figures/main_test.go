package main

import (
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A figure that differs by its last digit is told, and so is a cell without its range.
func TestWhatDiffersIsTold(t *testing.T) {
	var all []point
	for line := range strings.Lines(`{"strategy":"reno-0.5","set":{"clients.count":"1","server.slots":"50"},"span":{"min":1.524,"median":1.524,"max":1.524},"attempts_per_op":{"median":1.016}}
{"strategy":"probe","set":{"clients.count":"1","server.slots":"50"},"span":{"min":1.1,"median":1.14,"max":1.9},"attempts_per_op":{"median":17333.4}}`) {
		p := point{}
		require.NoError(t, json.Unmarshal([]byte(line), &p))
		all = append(all, p)
	}
	s := source{page: "a.md", head: "| you have", of: clients}
	for row, want := range map[string]string{
		"| 1 client, 50 slots | 1.52, **1.02** | 1.14 (1.10 to 1.90), 17 333 | aimd |": "",
		"| 1 client, 50 slots | 1.53, 1.02 | 1.14 (1.10 to 1.90), 17 333 | aimd |":     "a.md:3: 1 client, 50 slots, Reno 0.5: 1.53, 1.02 is 1.52, 1.02\n",
		"| 1 client, 50 slots | 1.52, 1.02 | 1.14, 17 333 | aimd |":                    "a.md:3: 1 client, 50 slots, aimd.New: 1.14, 17 333 is 1.14, 1, 1.9, 1.73e+04\n",
	} {
		var out strings.Builder
		n, differ, anew := s.compare("| you have | Reno 0.5 | `aimd.New` | use |\n|---|---|\n"+row, all, &out)
		assert.Equal(t, 2, n)
		assert.Equal(t, want, out.String())
		assert.Equal(t, want != "", differ == 1)
		if !strings.Contains(want, "aimd.New") { // that cell has fewer figures, so a person has to write it
			assert.Contains(t, anew, "| 1 client, 50 slots | 1.52, ")
			assert.Contains(t, anew, " | 1.14 (1.10 to 1.90), 17 333 | aimd |")
		} else {
			assert.Contains(t, anew, row)
		}
	}
	n, _, _ := s.compare("| another | Reno 0.5 |\n|---|---|\n| 1 client, 50 slots | 7 |", all, &strings.Builder{})
	assert.Zero(t, n)
	s.noise = 0.1
	_, same := s.same("1.60, 1.02", all[0], []string{"span.median", "attempts_per_op.median"})
	assert.True(t, same)
}

// A row of a sweep has the figures of one of its points.
func TestTheRowsOfASweep(t *testing.T) {
	all := []point{{"scenario": "a", "strategy": "x", "span": 1.}, {"scenario": "a", "strategy": "x", "span": 2.}}
	s := source{page: "a.md", head: "| time", of: scenarios("span")}
	var out strings.Builder
	n, differ, anew := s.compare("| time | before | x |\n|---|---|---|\n| a | 9 | 1.0 |\n| b | 9 | 9 |\n| a | 9 | 2.0 |\n| a | no end | no end |\n| a | 9 | 3 |", all, &out)
	assert.Equal(t, []int{3, 1}, []int{n, differ})
	assert.Equal(t, "a.md:7: a, x: 3 is 1 or 2\n", out.String())
	assert.Contains(t, anew, "| a | 9 | 3 |", "it may be of either point")
	assert.Equal(t, "|a|**17 334** @ 2|", written("|a|**9999** @ 1|", 2, []string{"17334", "2"}))
}

// The worst run takes at most three times the median and four times the optimum, except where docs/laws.md names the scenario
// below its sentence on the worst runs.
func TestTheWorstAreBoundedOrNamed(t *testing.T) {
	text, err := os.ReadFile("../../docs/laws.md")
	require.NoError(t, err)
	_, after, _ := strings.Cut(string(text), "Over four times the optimum are ")
	named, _, found := strings.Cut(after, "`TestTheWorstRunIsBounded`")
	require.True(t, found)
	var head []string
	held := 0
	for line := range strings.Lines(string(text)) {
		switch row := cells(line); {
		case strings.HasPrefix(line, "| time @ attempts"):
			head = row
		case !strings.HasPrefix(line, "|"):
			head = nil
		case head != nil && strings.HasPrefix(row[0], "law-"):
			figure := func(column string) float64 {
				i := slices.Index(head, column)
				require.Positive(t, i, line)
				x, err := strconv.ParseFloat(number.FindString(row[i]), 64)
				require.NoError(t, err, line)
				return x
			}
			median, most := figure("probe"), figure("worst")
			assert.LessOrEqual(t, most, 3*median, row[0])
			assert.Equal(t, most > 4, strings.Contains(named, row[0]), row[0])
			held++
		}
	}
	assert.Greater(t, held, 30)
}
