package scenario

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/aimd-go/aimd/internal/sim"
)

// MaxSize bounds a file, in bytes. Our longest scenario is half as long.
const MaxSize = 16 << 10

// Fields has for each field of a scenario file a line with its path and kind, and indented below it its
// meaning and default.
//
//go:embed fields.txt
var Fields string

// Parse reads a scenario from the text of a file, and applies settings of the form "field=value". The error
// joins one error for each problem: "file:line: field: problem", and the problem names the value and the
// allowed values. file is only a name; a scenario without a name gets that name.
func Parse(file string, text []byte, settings ...string) (Scenario, error) {
	s := Scenario{Name: strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))}
	d := decoder{file: file, lines: map[string]int{}}
	if body := d.parse(text); body != nil {
		d.put(body, reflect.ValueOf(&s).Elem(), "")
	}
	for _, field := range []string{"server", "clients"} {
		if d.lines[field] == 0 && len(d.errs) == 0 {
			d.fail("", "%s: is missing; a scenario needs server and clients", field)
		}
	}
	for _, x := range settings {
		one := decoder{file: "--set " + x, own: s.Strategies}
		if field, v, ok := strings.Cut(x, "="); ok && field != "" {
			one.assign(&s, field, v)
		} else {
			one.fail("", "want field=value, like server.slots=100")
		}
		d.errs = append(d.errs, one.errs...)
	}
	if len(s.Strategies) == 0 {
		s.Strategies = sim.Strategies()
	}
	s.Runs = cmp.Or(s.Runs, 21) // odd, so that the median is one of the runs
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
func (d *decoder) saw(path string, n ast.Node) {
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
	file, err := parser.ParseBytes(bytes.TrimPrefix(text, []byte("\ufeff")), 0) // a mark of some editors
	var syntax yaml.Error
	switch {
	case errors.As(err, &syntax):
		if d.lines != nil {
			d.lines[""] = syntax.GetToken().Position.Line
		}
		d.fail("", "%s", syntax.GetMessage())
		return nil
	case err != nil:
		d.fail("", "%v", err)
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
		own := reflect.New(to.Type().Elem())
		if !to.IsNil() { // another scenario may share it
			own.Elem().Set(to.Elem())
		}
		to.Set(own)
		to = own.Elem()
	}
	kind := kindOf(to.Type())
	want := kind
	if kind == hasFields {
		names, _ := fieldsOf(to.Type())
		want = "fields: " + strings.Join(names, ", ")
	}
	switch n := n.(type) {
	case ast.MapNode:
		if kind == hasFields || kind == hasItems && d.lines == nil {
			d.fields(n, to, path)
			return
		}
	case *ast.SequenceNode:
		if kind == hasItems {
			to.Set(reflect.MakeSlice(to.Type(), len(n.Values), len(n.Values)))
			for i, v := range n.Values {
				at := path + "[" + strconv.Itoa(i) + "]"
				d.saw(at, v)
				d.put(v, to.Index(i), at)
			}
			return
		}
	case *ast.NullNode:
	case ast.ScalarNode:
		if want = d.scalar(n, to, want); want == "" {
			return
		}
	}
	shown := cmp.Or(strings.Join(strings.Fields(n.String()), " "), "no value")
	d.fail(path, "%s is not allowed, want %s", shown[:min(len(shown), 40)], want)
}

// fields puts the values of a map into the fields of a struct or, in a setting, into items of a list by their
// numbers. Other scenarios may share the list.
func (d *decoder) fields(m ast.MapNode, to reflect.Value, path string) {
	for pair := m.MapRange(); pair.Next(); {
		name := pair.Key().GetToken().Value
		at := strings.TrimPrefix(path+"."+name, ".")
		d.saw(at, pair.Key())
		if to.Kind() == reflect.Slice {
			at = path + "[" + name + "]"
			if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < to.Len() {
				to.Set(reflect.AppendSlice(reflect.Zero(to.Type()), to))
				d.put(pair.Value(), to.Index(i), at)
			} else {
				d.fail(at, "there is no such item; the list has %d", to.Len())
			}
			continue
		}
		names, index := fieldsOf(to.Type())
		if f, known := index[name]; known {
			d.put(pair.Value(), to.FieldByIndex(f), at)
		} else {
			d.fail(at, "there is no such field, want one of %s", strings.Join(names, ", "))
		}
	}
}

// scalar puts a text into the value. It returns what is allowed if the text is not: want, or more than that.
func (d *decoder) scalar(n ast.ScalarNode, to reflect.Value, want string) string {
	text := n.GetToken().Value
	switch n := n.(type) {
	case *ast.LiteralNode:
		text = strings.TrimSuffix(n.Value.Value, "\n")
	case *ast.StringNode:
		text = n.Value
	}
	var err error
	switch v := to.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		if err = v.UnmarshalText([]byte(text)); err != nil {
			return err.Error()
		}
	case *sim.Strategy:
		if named, ok := d.strategy(text); ok {
			*v = named
			return ""
		}
		return "fields or one of " + strings.Join(Names(sim.Strategies()), ", ")
	case *time.Duration:
		*v, err = time.ParseDuration(text)
	case *float64:
		if *v, err = strconv.ParseFloat(text, 64); math.IsNaN(*v) || math.IsInf(*v, 0) {
			return want
		}
	default:
		switch to.Kind() {
		case reflect.String:
			to.SetString(text)
		case reflect.Struct, reflect.Slice:
			return want
		default:
			err = json.Unmarshal([]byte(text), v) // a whole number or a bool
		}
	}
	if err != nil {
		return want
	}
	return ""
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

// assign puts the value, which is YAML, into the field at the path, as if the scenario had it so.
func (d *decoder) assign(s *Scenario, path, v string) {
	parts, text := strings.Split(strings.NewReplacer("[", ".", "]", "").Replace(path), "."), ""
	if i := slices.Index(parts, ""); i >= 0 {
		d.fail("", "%s: element %d of the field is empty, want one like server.slots or strategies[0].name", path, i+1)
		return
	}
	for i, part := range parts {
		text += "\n" + strings.Repeat(" ", i) + part + ": "
	}
	if body := d.parse([]byte(text + v)); body != nil {
		d.put(body, reflect.ValueOf(s).Elem(), "")
	}
}

// assign puts a value of the sweep into its fields.
func (w Sweep) assign(d *decoder, s *Scenario, value string) {
	for _, at := range w.At(value) {
		field, v, _ := strings.Cut(at, "=")
		d.assign(s, field, v)
	}
}

// Names are the names of the strategies.
func Names(all []sim.Strategy) (names []string) {
	for _, s := range all {
		names = append(names, s.Name)
	}
	return names
}

// fieldsOf are the names of a struct's fields and of embedded structs, and where the fields are.
func fieldsOf(t reflect.Type) (names []string, index map[string][]int) {
	index = map[string][]int{}
	for _, f := range reflect.VisibleFields(t) {
		if name := nameOf(f); name > "-" {
			names, index[name] = append(names, name), f.Index
		}
	}
	return names, index
}

var capital = regexp.MustCompile(`\B[A-Z]`)

// nameOf is the name of a field in a file: its yaml tag or, in a struct of another package, like cap_last. "" and "-":
// it is in no file.
func nameOf(f reflect.StructField) string {
	if f.Anonymous || !f.IsExported() {
		return ""
	}
	return cmp.Or(f.Tag.Get("yaml"), strings.ToLower(capital.ReplaceAllString(f.Name, "_$0")))
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
