package scenario

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
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

// Parse reads a scenario from the text of a file, and applies settings of the form
// "field=value". The error joins one error for each problem: "file:line: field: problem", where
// the problem names the value and what is allowed. file is only a name; a scenario without a
// name gets that name.
func Parse(file string, text []byte, settings ...string) (Scenario, error) {
	var s Scenario
	d := decoder{file: file, lines: map[string]int{}}
	if body := d.parse(text); body != nil {
		d.put(body, reflect.ValueOf(&s).Elem(), "")
	}
	for _, field := range []string{"server", "clients"} {
		if d.lines[field] == 0 && len(d.errs) == 0 {
			d.fail(0, field, "is missing; a scenario needs server and clients")
		}
	}
	if s.Name == "" {
		s.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	for _, x := range settings {
		one := decoder{file: "--set " + x}
		if field, v, ok := strings.Cut(x, "="); ok {
			one.assign(&s, field, v)
		} else {
			one.fail(0, "", "want field=value, like server.slots=100")
		}
		d.errs = append(d.errs, one.errs...)
	}
	if len(d.errs) == 0 {
		s.check(&d)
	}
	return s, errors.Join(d.errs...)
}

// decoder puts YAML into structs, by the yaml tags of their fields.
type decoder struct {
	file string
	// lines are the lines of the fields of the file, by path; nil for a value without a file.
	lines map[string]int
	errs  []error
}

// fail adds an error: "file:line: path: problem". A value without a file has no line, and the
// file as a whole no path.
func (d *decoder) fail(line int, path, format string, args ...any) {
	where := d.file
	if d.lines != nil && line > 0 {
		where += ":" + strconv.Itoa(line)
	}
	for _, part := range []string{path, fmt.Sprintf(format, args...)} {
		if where != "" && part != "" {
			where += ": "
		}
		where += part
	}
	d.errs = append(d.errs, errors.New(where))
}

// at is fail at the line of the field, or of the nearest one around it that the file has.
func (d *decoder) at(path, format string, args ...any) {
	field := path
	for field != "" && d.lines[field] == 0 {
		field = field[:max(0, strings.LastIndexAny(field, ".["))]
	}
	d.fail(d.lines[field], path, format, args...)
}

// parse returns the one document of the text; nil without a document, or after an error.
func (d *decoder) parse(text []byte) (body ast.Node) {
	if len(text) > MaxSize {
		d.fail(0, "", "more than %d bytes are too many for a scenario", MaxSize)
		return nil
	}
	file, err := parser.ParseBytes(text, 0)
	var syntax yaml.Error
	switch {
	case errors.As(err, &syntax):
		d.fail(line(syntax), "", "%s", syntax.GetMessage())
		return nil
	case err != nil:
		d.fail(0, "", "%v", err)
		return nil
	}
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil || doc.Body.Type() == ast.NullType || doc.Body.Type() == ast.CommentType:
		case body != nil:
			d.fail(line(doc.Body), "", "there is a second document, want one scenario to a file")
		default:
			body = doc.Body
		}
	}
	return body
}

func line(n interface{ GetToken() *token.Token }) int { return n.GetToken().Position.Line }

// put puts the node into the value at the path.
func (d *decoder) put(n ast.Node, to reflect.Value, path string) {
	word, scalar := n.(ast.ScalarNode)
	strategy, ok := to.Addr().Interface().(*sim.Strategy)
	switch kind := kindOf(to.Type()); {
	case to.Kind() == reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		d.put(n, to.Elem(), path)
	case ok && scalar:
		if *strategy, ok = sim.StrategyNamed(text(word)); !ok {
			d.fail(line(n), path, "%s is not allowed, want fields or one of %s", show(n), strings.Join(StrategyNames(), ", "))
		}
	case kind == "mapping":
		d.mapping(n, to, path)
	case kind == "list":
		d.sequence(n, to, path)
	default:
		err := errors.New(kind)
		if scalar && n.Type() != ast.NullType {
			err = set(text(word), to, err)
		}
		if err != nil {
			d.fail(line(n), path, "%s is not allowed, want %v", show(n), err)
		}
	}
}

func (d *decoder) mapping(n ast.Node, to reflect.Value, path string) {
	names := strings.Join(fieldNames(to.Type()), ", ")
	m, ok := n.(ast.MapNode)
	if !ok {
		d.fail(line(n), path, "%s is not allowed, want fields: %s", show(n), names)
		return
	}
	for pair := m.MapRange(); pair.Next(); {
		key := pair.Key()
		at := strings.TrimPrefix(path+"."+key.GetToken().Value, ".")
		f, known := fieldNamed(to, key.GetToken().Value)
		if !known {
			d.fail(line(key), at, "there is no such field, want one of %s", names)
			continue
		}
		if d.lines != nil {
			d.lines[at] = line(key)
		}
		d.put(pair.Value(), f, at)
	}
}

func (d *decoder) sequence(n ast.Node, to reflect.Value, path string) {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		d.fail(line(n), path, "%s is not allowed, want a list", show(n))
		return
	}
	to.Set(reflect.MakeSlice(to.Type(), len(list.Values), len(list.Values)))
	for i, v := range list.Values {
		at := path + "[" + strconv.Itoa(i) + "]"
		if d.lines != nil {
			d.lines[at] = line(v)
		}
		d.put(v, to.Index(i), at)
	}
}

// set puts a text into the value. The error is the given one, or says more.
func set(text string, to reflect.Value, wrong error) (err error) {
	switch v := to.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		return v.UnmarshalText([]byte(text))
	case *time.Duration:
		*v, err = time.ParseDuration(text)
	case *string:
		*v = text
	case *bool:
		*v, err = strconv.ParseBool(text)
	case *int:
		*v, err = strconv.Atoi(text)
	case *uint64:
		*v, err = strconv.ParseUint(text, 10, 64)
	case *float64:
		*v, err = strconv.ParseFloat(text, 64)
	}
	if err != nil {
		return wrong
	}
	return nil
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

// assign puts the value, which is YAML, into the field at the path.
func (d *decoder) assign(s *Scenario, path, v string) {
	to := reflect.ValueOf(s).Elem()
	for _, part := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		i, err := strconv.Atoi(part)
		known, want := false, "aimd sim schema shows all"
		switch {
		case kindOf(to.Type()) == "mapping":
			want = "want one of " + strings.Join(fieldNames(to.Type()), ", ")
			to, known = fieldNamed(to, part)
		case to.Kind() == reflect.Slice && err == nil && i < to.Len():
			to, known = to.Index(i), true
		}
		if !known {
			d.fail(0, path, "there is no field or item %s; %s", part, want)
			return
		}
	}
	switch body := d.parse([]byte(v)); {
	case body != nil:
		to.SetZero()
		d.put(body, to, path)
	case len(d.errs) == 0:
		d.fail(0, path, "has no value, want %s", kindOf(to.Type()))
	}
}
