package scenario

import (
	"cmp"
	_ "embed"
	"encoding"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/aimd-go/aimd/sim"
)

// MaxSize bounds a file, in bytes. Our longest scenario is half as long.
const MaxSize = 16 << 10

// Parse reads a scenario from the text of a file, and applies settings of the form "field=value". The error
// joins one error for each problem: "file:line: field: problem", and the problem names the value and the
// allowed values. file is only a name; a scenario without a name gets that name.
func Parse(file string, text []byte, settings ...string) (Scenario, error) {
	s := Scenario{Scenario: sim.Scenario{Name: strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))}}
	d := decoder{file: file, lines: map[string]int{}}
	if body := d.parse(text); body != nil {
		d.put(body, reflect.ValueOf(&s).Elem(), "")
	}
	for _, field := range []string{"server", "clients"} {
		if d.lines[field] == 0 && len(d.errs) == 0 {
			d.errs = append(d.errs, fmt.Errorf("%s: %s: is missing; a scenario needs server and clients", file, field))
		}
	}
	for _, x := range settings {
		one := decoder{file: "--set " + x, own: s.Strategies}
		if field, v, ok := strings.Cut(x, "="); ok {
			one.assign(&s, field, v)
		} else {
			one.fail("", "want field=value, like server.slots=100")
		}
		d.errs = append(d.errs, one.errs...)
	}
	if len(d.errs) == 0 {
		s.check(&d)
	}
	return s, errors.Join(d.errs...)
}

// decoder puts YAML into structs, by the yaml tags of their fields. The library's own decoder is no
// substitute: it takes 1.5 as the whole number 1 and an absent value as 0, and stops at the first error.
type decoder struct {
	file string
	// lines are the lines of the fields of the file, by path; nil for a value without a file.
	lines map[string]int
	// own are the strategies that the scenario has; a setting may name them.
	own  []sim.Strategy
	errs []error
}

// saw notes the line of a field.
func (d *decoder) saw(path string, n interface{ GetToken() *token.Token }) {
	if d.lines != nil {
		d.lines[path] = n.GetToken().Position.Line
	}
}

// fail adds an error: "file:line: path: problem", at the line of the field, or of the nearest one around it
// that the file has. A value without a file has no line, and the file as a whole no path.
func (d *decoder) fail(path, format string, args ...any) {
	field, where := path, d.file
	for field != "" && d.lines[field] == 0 {
		field = field[:max(0, strings.LastIndexAny(field, ".["))]
	}
	if line := d.lines[field]; line > 0 {
		where += ":" + strconv.Itoa(line)
	}
	parts := slices.DeleteFunc([]string{where, path, fmt.Sprintf(format, args...)}, func(s string) bool { return s == "" })
	d.errs = append(d.errs, errors.New(strings.Join(parts, ": ")))
}

// parse returns the one document of the text; nil without a document, or after an error.
func (d *decoder) parse(text []byte) (body ast.Node) {
	if len(text) > MaxSize {
		d.fail("", "more than %d bytes are too many for a scenario", MaxSize)
		return nil
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		problem := err.Error()
		var syntax yaml.Error
		if errors.As(err, &syntax) {
			d.saw("", syntax)
			problem = syntax.GetMessage()
		}
		d.fail("", "%s", problem)
		return nil
	}
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.NullType || doc.Body.Type() == ast.CommentType {
			continue
		}
		d.saw("", doc.Body)
		if body != nil {
			d.fail("", "there is a second document, want one scenario to a file")
			break
		}
		body = doc.Body
	}
	return body
}

// put puts the node into the value at the path.
func (d *decoder) put(n ast.Node, to reflect.Value, path string) {
	if to.Kind() == reflect.Pointer {
		to.Set(reflect.New(to.Type().Elem()))
		to = to.Elem()
	}
	kind := kindOf(to.Type())
	want := errors.New(kind)
	if kind == hasFields {
		want = fmt.Errorf("fields: %s", strings.Join(fieldNames(to.Type()), ", "))
	}
	switch n := n.(type) {
	case ast.MapNode:
		if kind == hasFields {
			d.fields(n, to, path)
			return
		}
	case *ast.SequenceNode:
		if kind == hasItems {
			d.items(n, to, path)
			return
		}
	case *ast.NullNode:
	case ast.ScalarNode:
		if want = d.set(text(n), to, want); want == nil {
			return
		}
	}
	d.fail(path, "%s is not allowed, want %v", show(n), want)
}

func (d *decoder) fields(m ast.MapNode, to reflect.Value, path string) {
	for pair := m.MapRange(); pair.Next(); {
		name := pair.Key().GetToken().Value
		at := strings.TrimPrefix(path+"."+name, ".")
		d.saw(at, pair.Key())
		if f, known := fieldNamed(to, name); known {
			d.put(pair.Value(), f, at)
		} else {
			d.fail(at, "there is no such field, want one of %s", strings.Join(fieldNames(to.Type()), ", "))
		}
	}
}

func (d *decoder) items(list *ast.SequenceNode, to reflect.Value, path string) {
	to.Set(reflect.MakeSlice(to.Type(), len(list.Values), len(list.Values)))
	for i, v := range list.Values {
		at := path + "[" + strconv.Itoa(i) + "]"
		d.saw(at, v)
		d.put(v, to.Index(i), at)
	}
}

// set puts a text into the value. The error is the given one, or says more.
func (d *decoder) set(text string, to reflect.Value, wrong error) (err error) {
	switch v := to.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		return v.UnmarshalText([]byte(text))
	case *sim.Strategy:
		named, ok := d.strategy(text)
		if !ok {
			return fmt.Errorf("fields or one of %s", strings.Join(StrategyNames(), ", "))
		}
		*v = named
	case *time.Duration:
		*v, err = time.ParseDuration(text)
	case *bool:
		*v, err = strconv.ParseBool(text)
	case *int:
		*v, err = strconv.Atoi(text)
	case *uint64:
		*v, err = strconv.ParseUint(text, 10, 64)
	case *float64:
		*v, err = strconv.ParseFloat(text, 64)
	default:
		if to.Kind() != reflect.String {
			return wrong
		}
		to.SetString(text)
	}
	if err != nil {
		return wrong
	}
	return nil
}

// strategy is the scenario's own strategy with that name, or the ready one: shared, if one of the scenario's own is.
func (d *decoder) strategy(name string) (sim.Strategy, bool) {
	if i := slices.IndexFunc(d.own, func(s sim.Strategy) bool { return s.Name == name }); i >= 0 {
		return d.own[i], true
	}
	ready, ok := sim.StrategyNamed(name)
	ready.Shared = slices.ContainsFunc(d.own, func(s sim.Strategy) bool { return s.Shared })
	return ready, ok
}

func text(n ast.ScalarNode) string {
	switch n := n.(type) {
	case *ast.LiteralNode:
		return strings.TrimSuffix(n.Value.Value, "\n")
	case *ast.StringNode:
		return n.Value
	}
	return n.GetToken().Value
}

// show is the beginning of a node as errors have it.
func show(n ast.Node) string {
	s := cmp.Or(strings.Join(strings.Fields(n.String()), " "), "no value")
	return s[:min(len(s), 40)]
}

// assign puts the value, which is YAML, into the field at the path. It copies the lists on its way, which
// other scenarios may share.
func (d *decoder) assign(s *Scenario, path, v string) {
	to := reflect.ValueOf(s).Elem()
	for _, part := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		i, err := strconv.Atoi(part)
		known, want := false, "aimd sim schema shows all"
		switch {
		case kindOf(to.Type()) == hasFields:
			want = "want one of " + strings.Join(fieldNames(to.Type()), ", ")
			to, known = fieldNamed(to, part)
		case to.Kind() == reflect.Slice && err == nil && i < to.Len():
			to.Set(reflect.AppendSlice(reflect.Zero(to.Type()), to))
			to, known = to.Index(i), true
		}
		if !known {
			d.fail(path, "there is no field or item %s; %s", part, want)
			return
		}
	}
	switch body := d.parse([]byte(v)); {
	case body != nil:
		to.SetZero()
		d.put(body, to, path)
	case len(d.errs) == 0:
		d.fail(path, "has no value, want %s", kindOf(to.Type()))
	}
}

// Fields has for each field of a scenario file a line with its path and kind, and indented below it its
// meaning and default.
//
//go:embed fields.txt
var Fields string

// StrategyNames are the names of the ready strategies.
func StrategyNames() (names []string) {
	for _, s := range sim.Strategies() {
		names = append(names, s.Name)
	}
	return names
}

// fieldNames are the yaml tags of a struct's fields, with the tags of embedded structs.
func fieldNames(t reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(t) {
		if name := f.Tag.Get("yaml"); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

func fieldNamed(in reflect.Value, name string) (reflect.Value, bool) {
	all := reflect.VisibleFields(in.Type())
	i := slices.IndexFunc(all, func(f reflect.StructField) bool { return f.Tag.Get("yaml") == name })
	if i < 0 || name == "" || name == "-" {
		return in, false
	}
	return in.FieldByIndex(all[i].Index), true
}

// The kinds of fields that have others.
const (
	hasFields = "fields"
	hasItems  = "a list"
)

// kindOf says what a field of the type takes.
func kindOf(t reflect.Type) string {
	_, isText := reflect.New(t).Interface().(encoding.TextUnmarshaler)
	switch k := t.Kind(); {
	case t == reflect.TypeFor[time.Duration]():
		return "a duration like 100ms"
	case isText, k == reflect.String:
		return "text"
	case k == reflect.Pointer:
		return kindOf(t.Elem())
	case k == reflect.Struct:
		return hasFields
	case k == reflect.Slice:
		return hasItems
	case k == reflect.Bool:
		return "true or false"
	case k == reflect.Float64:
		return "a number"
	}
	return "a whole number"
}
