package scenario

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	wrap "github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write fields.txt anew, from the comments of the Go fields")

// The help of the fields is what their Go comments and their bounds say.
func TestTheHelpIsTheGoComments(t *testing.T) {
	c := comments{}
	for _, dir := range []string{".", "../../../../../internal/sim", "../../../../../backoff"} {
		c.read(t, dir)
	}
	var want strings.Builder
	c.write(t, &want, reflect.TypeFor[Scenario](), "")
	if *update {
		require.NoError(t, os.WriteFile("fields.txt", []byte(want.String()), 0o644))
		return
	}
	assert.True(t, want.String() == Fields, "they differ: go test -run TestTheHelp -update writes them anew")
}

// comments are structs with their comments, by "package.Type".
type comments map[string]*ast.StructType

func (c comments) read(t *testing.T, dir string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), dir+"/"+f.Name(), nil, parser.ParseComments)
		require.NoError(t, err)
		for _, d := range file.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range decl.Specs {
				if s, ok := s.(*ast.TypeSpec); ok {
					if x, ok := s.Type.(*ast.StructType); ok {
						c[file.Name.Name+"."+s.Name.Name] = x
					}
				}
			}
		}
	}
}

// write writes the entries of a struct's fields.
func (c comments) write(t *testing.T, w *strings.Builder, in reflect.Type, path string) {
	t.Helper()
	x := c[in.String()]
	require.NotNil(t, x, in.String())
	for _, f := range x.Fields.List {
		if len(f.Names) == 0 {
			embedded, _ := in.FieldByName(f.Type.(*ast.SelectorExpr).Sel.Name)
			c.write(t, w, embedded.Type, path)
			continue
		}
		field, _ := in.FieldByName(f.Names[0].Name)
		name := nameOf(field)
		if name <= "-" {
			continue
		}
		require.Len(t, f.Names, 1, "%v: one field a line", in)
		require.NotNil(t, f.Doc, "%v.%s: has no comment", in, field.Name)
		kind := kindOf(field.Type)
		fmt.Fprintf(w, "%s%s  (%s)\n%s", path, name, kind, meaning(in, field, f.Doc.Text()))
		switch {
		case kind == hasFields:
			c.write(t, w, value(field.Type), path+name+".")
		case kind == hasItems && kindOf(field.Type.Elem()) == hasFields:
			c.write(t, w, field.Type.Elem(), path+name+"[].")
		}
	}
}

// value is the type itself, or what the pointer points to.
func value(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

var capitalized = regexp.MustCompile(`\.?\b[A-Z]\w*\b`)

// meaning is the comment of a field in the words of files, with its bounds.
func meaning(in reflect.Type, f reflect.StructField, doc string) string {
	doc, _, _ = strings.Cut(doc, "\n\n")
	doc = strings.NewReplacer("[", "", "]", "", "\n  - ", "\n- ", "\n    ", " ", "\n", " ").Replace(strings.TrimSpace(doc))
	for _, verb := range []string{" is ", " are "} {
		doc = strings.TrimPrefix(doc, f.Name+verb)
	}
	doc = capitalized.ReplaceAllStringFunc(doc, func(w string) string {
		if other, ok := in.FieldByName(w); ok && nameOf(other) > "-" {
			return nameOf(other)
		}
		return w
	})
	if from, to, ok := strings.Cut(f.Tag.Get("in"), ".."); ok {
		doc += fmt.Sprintf(" From %s to %s.", from, to)
	}
	var lines strings.Builder
	for paragraph := range strings.Lines(doc) {
		for line := range strings.Lines(wrap.WrapSoft(strings.TrimSpace(paragraph), 76)) {
			lines.WriteString("    " + strings.TrimRight(line, " \n") + "\n")
		}
	}
	return lines.String()
}

var (
	entry  = regexp.MustCompile(`(?m)^(\S+)  \((.*)\)\n((?:    .*\n)+)`)
	bounds = regexp.MustCompile(`From (\S+) to (\S+)\.( |$)`)
)

// The bounds of a field stand in its comment and in package sim. They are the same.
func TestTheBoundsOfTheHelpAreThoseOfTheSimulator(t *testing.T) {
	const text = "server: {quotas: [{limit: 1, per: 1s}], outages: [{for: 1s}]}\nclients: {}\nstrategies: [{name: a, retry: {}}]\n"
	told := 0
	for _, e := range entry.FindAllStringSubmatch(Fields, -1) {
		b := bounds.FindStringSubmatch(strings.Join(strings.Fields(e[3]), " "))
		if b == nil {
			continue
		}
		told++
		field := strings.ReplaceAll(e[1], "[]", "[0]")
		whole := e[2] == "a whole number" // which 0.99 is not
		for value, allowed := range map[string]bool{times(b[1], 0.99): b[1] == "0" || whole, b[1]: true, b[2]: true, times(b[2], 1.01): false} {
			_, err := Parse("x.yaml", []byte(text), field+"="+value)
			beyond := err != nil && regexp.MustCompile(`: `+regexp.QuoteMeta(field)+`: \S+ is not allowed, want a (number|duration) from`).MatchString(err.Error())
			assert.Equal(t, !allowed, beyond, "%s=%s: %v", field, value, err)
		}
	}
	assert.GreaterOrEqual(t, told, 20)
}

// times is a number or a duration, times something.
func times(value string, by float64) string {
	if d, err := time.ParseDuration(value); err == nil && value != "0" {
		return time.Duration(float64(d) * by).String()
	}
	x, _ := strconv.ParseFloat(value, 64)
	if x *= by; x > 100 {
		x = math.Round(x)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}
