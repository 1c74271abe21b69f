package scenario

import (
	"reflect"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// aimd sim explain FIELD or aimd sim schema documents every field, and no other, with its kind.
func TestEveryFieldIsDocumented(t *testing.T) {
	heads := regexp.MustCompile(`(?m)^\S.*`).FindAllString(fields, -1)
	assert.ElementsMatch(t, fieldsBelow(reflect.TypeFor[Scenario](), ""), heads)
	paths, text, err := Explain("")
	require.NoError(t, err)
	assert.Len(t, paths, len(heads), "each with its meaning")
	assert.Equal(t, fields, text)
}

func fieldsBelow(in reflect.Type, path string) (all []string) {
	for _, name := range fieldNames(in) {
		f, _ := fieldNamed(reflect.Zero(in), name)
		kind := kindOf(f.Type())
		all = append(all, path+name+"  ("+kind+")")
		switch t := f.Type(); {
		case kind == hasFields:
			all = append(all, fieldsBelow(t, path+name+".")...)
		case kind == hasItems && kindOf(t.Elem()) == hasFields:
			all = append(all, fieldsBelow(t.Elem(), path+name+"[].")...)
		}
	}
	return all
}

func TestExplain(t *testing.T) {
	for asked, want := range map[string][]string{
		"server.slots":             {"server.slots"},
		"sweep":                    {"sweep", "sweep[].field", "sweep[].values"},
		"strategies.window.min":    {"strategies[].window.min"},
		"strategies[3].window.min": {"strategies[].window.min"},
		"server.outages[].backlog": {"server.outages[].backlog"},
		"count_refused":            {"server.rate.count_refused"},
		"jitter":                   {"strategies[].retry.jitter"},
	} {
		paths, _, err := Explain(asked)
		require.NoError(t, err, asked)
		assert.Equal(t, want, paths, asked)
	}
	_, _, err := Explain("server.nonsense")
	assert.EqualError(t, err, `there is no field "server.nonsense"; aimd sim schema shows all`)
}
