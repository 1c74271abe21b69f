package scenario

import (
	"encoding"
	"errors"
	"fmt"
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

// maxSize bounds a file, in bytes. The parser's time grows with the square of the
// depth: so many opening brackets take it half a second, four times as many 7 s. The
// longest scenario of ours has a fifth of it.
const maxSize = 16 << 10

// decoder puts a YAML document into a struct. It goes by the yaml tags of the
// fields: there is no other list of what a file may hold.
type decoder struct {
	file string
	// lines are those of the fields that were set, by path.
	lines map[string]int
	errs  Errors
}

func (d *decoder) fail(line int, path, format string, args ...any) {
	d.errs = append(d.errs, &Error{d.file, line, path, fmt.Sprintf(format, args...)})
}

// line is that of the field, or of the nearest one around it that was set.
func (d *decoder) line(path string) int {
	for path != "" {
		if n, ok := d.lines[path]; ok {
			return n
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return 0
}

// parse returns the one document of the text, nil if there is nothing in it.
func parse(file string, text []byte) (_ ast.Node, err error) {
	if len(text) > maxSize {
		return nil, &Error{File: file, Problem: fmt.Sprintf("%d bytes are too many for a scenario, want %d at the most", len(text), maxSize)}
	}
	parsed, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, syntax(file, err)
	}
	var body ast.Node
	for _, doc := range parsed.Docs {
		if doc.Body == nil {
			continue
		}
		if body != nil {
			return nil, &Error{file, lineOf(doc.Body), "", "there is a second document, want one scenario to a file"}
		}
		body = doc.Body
	}
	return body, nil
}

// syntax is an error of the parser in our form.
func syntax(file string, err error) error {
	var y yaml.Error
	if !errors.As(err, &y) {
		return &Error{File: file, Problem: err.Error()}
	}
	e := &Error{File: file, Problem: y.GetMessage()}
	if t := y.GetToken(); t != nil && t.Position != nil {
		e.Line = t.Position.Line
	}
	return e
}

func lineOf(n ast.Node) int {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 0
}

// value puts the node into what is at the path.
func (d *decoder) value(n ast.Node, to reflect.Value, path string) {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		d.fail(lineOf(n), path, "anchors, aliases and tags are not allowed, want a plain value")
		return
	case *ast.NullNode:
		d.fail(lineOf(n), path, "has no value; leave it out, or give it %s", a(kindOf(to.Type())))
		return
	}
	if strategy, ok := to.Addr().Interface().(*sim.Strategy); ok && scalar(n) {
		d.ready(n, strategy, path)
		return
	}
	switch k := to.Kind(); {
	case to.Type() == durationType, isText(to.Type()):
		d.scalar(n, to, path)
	case k == reflect.Struct:
		d.mapping(n, to, path)
	case k == reflect.Slice:
		d.sequence(n, to, path)
	case k == reflect.Pointer:
		x := reflect.New(to.Type().Elem())
		d.value(n, x.Elem(), path)
		to.Set(x)
	default:
		d.scalar(n, to, path)
	}
}

// ready puts the ready strategy of a name in the place of its fields.
func (d *decoder) ready(n ast.Node, to *sim.Strategy, path string) {
	s, ok := sim.StrategyNamed(text(n))
	if !ok {
		d.fail(lineOf(n), path, "%s is not allowed, want fields or one of %s", show(n), strings.Join(strategyNames(), ", "))
		return
	}
	*to = s
}

func strategyNames() (names []string) {
	for _, s := range sim.Strategies() {
		names = append(names, s.Name)
	}
	return names
}

func (d *decoder) mapping(n ast.Node, to reflect.Value, path string) {
	m, ok := n.(ast.MapNode)
	if !ok {
		d.fail(lineOf(n), path, "%s is not allowed, want fields: %s", show(n), strings.Join(fieldNames(to.Type()), ", "))
		return
	}
	seen := map[string]bool{}
	for i := m.MapRange(); i.Next(); {
		line := lineOf(i.Key())
		name := text(i.Key())
		at := join(path, name)
		f, known := fieldNamed(to, name)
		switch {
		case !known:
			d.fail(line, at, "there is no such field, want one of %s", strings.Join(fieldNames(to.Type()), ", "))
			continue
		case seen[name]:
			d.fail(line, at, "is given twice, first at line %d", d.lines[at])
			continue
		}
		seen[name], d.lines[at] = true, line
		d.value(i.Value(), f, at)
	}
}

func (d *decoder) sequence(n ast.Node, to reflect.Value, path string) {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		d.fail(lineOf(n), path, "%s is not allowed, want a list", show(n))
		return
	}
	list := reflect.MakeSlice(to.Type(), len(s.Values), len(s.Values))
	for i, v := range s.Values {
		at := path + "[" + strconv.Itoa(i) + "]"
		d.lines[at] = lineOf(v)
		d.value(v, list.Index(i), at)
	}
	to.Set(list)
}

func (d *decoder) scalar(n ast.Node, to reflect.Value, path string) {
	if !scalar(n) {
		d.fail(lineOf(n), path, "%s is not allowed, want %s", show(n), a(kindOf(to.Type())))
		return
	}
	if err := set(to, text(n), quoted(n)); err != nil {
		d.fail(lineOf(n), path, "%s is not allowed, want %v", show(n), err)
	}
}

func set(to reflect.Value, s string, quoted bool) error {
	wanted := errors.New(a(kindOf(to.Type())))
	switch k := to.Kind(); {
	case to.Type() == durationType:
		v, err := time.ParseDuration(s)
		if err != nil {
			return wanted
		}
		to.SetInt(int64(v))
	case isText(to.Type()):
		return to.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(s))
	case k == reflect.String:
		to.SetString(s)
	case quoted:
		return wanted
	case k == reflect.Bool:
		if s != "true" && s != "false" {
			return wanted
		}
		to.SetBool(s == "true")
	case to.CanInt():
		v, err := strconv.ParseInt(s, 10, to.Type().Bits())
		if err != nil {
			return wanted
		}
		to.SetInt(v)
	case to.CanUint():
		v, err := strconv.ParseUint(s, 10, to.Type().Bits())
		if err != nil {
			return wanted
		}
		to.SetUint(v)
	case to.CanFloat():
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return wanted
		}
		to.SetFloat(v)
	default:
		panic("scenario: no way to set a " + to.Type().String())
	}
	return nil
}

func scalar(n ast.Node) bool {
	_, ok := n.(ast.ScalarNode)
	return ok
}

func quoted(n ast.Node) bool {
	t := n.GetToken()
	return t != nil && slices.Contains([]token.Type{token.SingleQuoteType, token.DoubleQuoteType}, t.Type)
}

func text(n ast.Node) string {
	switch x := n.(type) {
	case *ast.StringNode:
		return x.Value
	case *ast.LiteralNode:
		return x.Value.Value
	}
	if t := n.GetToken(); t != nil {
		return t.Value
	}
	return n.String()
}

func show(n ast.Node) string {
	const most = 40
	switch n.(type) {
	case ast.MapNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	}
	s := text(n)
	if len(s) > most {
		s = s[:most] + "..."
	}
	if quoted(n) || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' }) || s == "" {
		return strconv.Quote(s)
	}
	return s
}
