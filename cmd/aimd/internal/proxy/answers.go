package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	answers "github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
)

// rule says what an answer means whose words no table has.
type rule struct {
	// Status is the status of the answers, 0 for any.
	Status int `yaml:"status"`
	// JSON is the place of a value in the document, as errors.0.code; * is any item. Header is a name in its place.
	JSON   string `yaml:"json"`
	Header string `yaml:"header"`
	// Word is the value, or a word in the value, in any letters.
	Word string `yaml:"word"`
	// Means is refused, spent, closed or passing.
	Means string `yaml:"means"`
	// has finds the word where no letter or digit stands beside it.
	has *regexp.Regexp
}

// meanings are those that a rule may give.
var meanings = map[string]answers.Meaning{
	"refused": answers.Refused, "spent": answers.Spent, "closed": answers.Closed, "passing": answers.Passing,
}

// ruled reads a file of rules for answers.
func ruled(file string) ([]rule, error) {
	text, err := cli.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all []rule
	if err := yaml.UnmarshalWithOptions(text, &all, yaml.Strict()); err != nil {
		return nil, err
	}
	for i, r := range all {
		_, known := meanings[r.Means]
		switch {
		case r.Status != 0 && (r.Status < 200 || r.Status > 599):
			err = fmt.Errorf("status %d: want 200 to 599, or none for any", r.Status)
		case (r.JSON == "") == (r.Header == ""):
			err = fmt.Errorf("want json, a place like errors.0.code, or header, a name: one of them")
		case r.Word == "":
			err = fmt.Errorf("word is missing")
		case !known:
			err = fmt.Errorf("means %q: want refused, spent, closed or passing", r.Means)
		}
		if err != nil {
			return nil, fmt.Errorf("rule %d: %w", i+1, err)
		}
		all[i].has = regexp.MustCompile("(?i)(^|[^a-z0-9])" + regexp.QuoteMeta(r.Word) + "([^a-z0-9]|$)")
	}
	return all, nil
}

// refreshed reads the file of rules for answers, if there is one.
func (p *proxy) refreshed() error {
	if p.answersFile == "" {
		return nil
	}
	rules, err := ruled(p.answersFile)
	if err != nil {
		return fmt.Errorf("--answers %s: %w", p.answersFile, err)
	}
	p.answers.Store(&rules)
	return nil
}

// reads is httplimit.Transport.Read by the rules: the first that fits decides.
func (p *proxy) reads(a answers.Answer) answers.Answer {
	for _, r := range *p.answers.Load() {
		if (r.Status == 0 || r.Status == a.Status) && r.fits(a) {
			return a.As(meanings[r.Means])
		}
	}
	return a
}

func (r rule) fits(a answers.Answer) bool {
	if r.Header != "" {
		return r.has.MatchString(http.Header(a.Header).Get(r.Header))
	}
	if !bytes.Contains(bytes.ToLower(a.Body), []byte(strings.ToLower(r.Word))) { // most answers have no such word
		return false
	}
	d := json.NewDecoder(bytes.NewReader(a.Body))
	d.UseNumber()
	var document any
	return d.Decode(&document) == nil && r.found(document, strings.Split(r.JSON, "."))
}

// found reports whether the value at a place has the word.
func (r rule) found(value any, path []string) bool {
	if len(path) == 0 {
		switch value.(type) {
		case string, json.Number, bool:
			return r.has.MatchString(fmt.Sprint(value))
		}
		return false
	}
	switch v := value.(type) {
	case map[string]any:
		return r.found(v[path[0]], path[1:])
	case []any:
		for i, item := range v {
			if (path[0] == "*" || path[0] == strconv.Itoa(i)) && r.found(item, path[1:]) {
				return true
			}
		}
	}
	return false
}
