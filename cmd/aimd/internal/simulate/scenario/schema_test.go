package scenario

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// aimd sim explain FIELD or aimd sim schema documents every field.
func TestEveryFieldIsDocumented(t *testing.T) {
	var documented []string
	for _, f := range Schema() {
		documented = append(documented, f.Path)
		assert.NotEmpty(t, f.Doc, f.Path)
	}
	assert.ElementsMatch(t, fieldsBelow(reflect.TypeFor[Scenario](), ""), documented)
}

func fieldsBelow(in reflect.Type, path string) (all []string) {
	for _, name := range fieldNames(in) {
		f, _ := fieldNamed(reflect.Zero(in), name)
		all = append(all, path+name)
		switch t := f.Type(); {
		case kindOf(t) == "mapping":
			all = append(all, fieldsBelow(t, path+name+".")...)
		case kindOf(t) == "list" && kindOf(t.Elem()) == "mapping":
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
		fields, err := Explain(asked)
		require.NoError(t, err, asked)
		var paths []string
		for _, f := range fields {
			paths = append(paths, f.Path)
		}
		assert.Equal(t, want, paths, asked)
	}
	_, err := Explain("server.nonsense")
	assert.EqualError(t, err, `there is no field "server.nonsense"; aimd sim schema shows all`)
	_, err = Explain("")
	assert.Error(t, err)
}
