package scenario

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/rival"
	"github.com/aimd-go/aimd/sim"
)

// MaxSize bounds a file, in bytes. Our longest scenario has half of that.
const MaxSize = 16 << 10

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
func parse(file string, text []byte) (body *yaml.Node, err error) {
	if len(text) > MaxSize {
		return nil, &Error{File: file, Problem: fmt.Sprintf("more than %d bytes are too many for a scenario", MaxSize)}
	}
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var doc yaml.Node
		switch err := d.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return body, nil
		case err != nil:
			return nil, syntax(file, string(text), err)
		case len(doc.Content) == 0 || null(doc.Content[0]):
			continue
		case body != nil:
			return nil, &Error{file, doc.Content[0].Line, "", "there is a second document, want one scenario to a file"}
		}
		body = doc.Content[0]
	}
}

var syntaxForm = regexp.MustCompile(`^yaml: (?:line ([0-9]+): )?(?:unknown anchor '(.*)' referenced)?(.*)`)

const plainOnly = "anchors, aliases and tags are not allowed, want a plain value"

// syntax is an error of the parser in our form.
func syntax(file, text string, err error) error {
	e := &Error{File: file, Problem: err.Error()}
	if m := syntaxForm.FindStringSubmatch(e.Problem); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
		e.Problem = m[3]
		if m[2] != "" { // of which the parser does not say where
			before, _, _ := strings.Cut(text, "*"+m[2])
			e.Line, e.Problem = 1+strings.Count(before, "\n"), plainOnly
		}
	}
	return e
}

// value puts the node into what is at the path.
func (d *decoder) value(n *yaml.Node, to reflect.Value, path string) {
	switch {
	case n.Kind == yaml.AliasNode, n.Anchor != "", n.Style&yaml.TaggedStyle != 0:
		d.fail(n.Line, path, plainOnly)
		return
	case null(n):
		d.fail(n.Line, path, "has no value; leave it out, or give it %s", a(kindOf(to.Type())))
		return
	}
	if strategy, ok := to.Addr().Interface().(*sim.Strategy); ok && n.Kind == yaml.ScalarNode {
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
func (d *decoder) ready(n *yaml.Node, to *sim.Strategy, path string) {
	all := strategies()
	i := slices.IndexFunc(all, func(s sim.Strategy) bool { return s.Name == n.Value })
	if i < 0 {
		d.fail(n.Line, path, "%s is not allowed, want fields or one of %s", show(n), strings.Join(StrategyNames(), ", "))
		return
	}
	*to = all[i]
}

// strategies are those that a file can name: the simulator's, and the rivals.
func strategies() []sim.Strategy { return slices.Concat(sim.Strategies(), rival.Strategies()) }

// StrategyNames are the names of the ready strategies.
func StrategyNames() (names []string) {
	for _, s := range strategies() {
		names = append(names, s.Name)
	}
	return names
}

func (d *decoder) mapping(n *yaml.Node, to reflect.Value, path string) {
	if n.Kind != yaml.MappingNode {
		d.fail(n.Line, path, "%s is not allowed, want fields: %s", show(n), strings.Join(fieldNames(to.Type()), ", "))
		return
	}
	seen := map[string]bool{}
	for pair := range slices.Chunk(n.Content, 2) {
		line, name := pair[0].Line, pair[0].Value
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
		d.value(pair[1], f, at)
	}
}

func (d *decoder) sequence(n *yaml.Node, to reflect.Value, path string) {
	if n.Kind != yaml.SequenceNode {
		d.fail(n.Line, path, "%s is not allowed, want a list", show(n))
		return
	}
	list := reflect.MakeSlice(to.Type(), len(n.Content), len(n.Content))
	for i, v := range n.Content {
		at := path + "[" + strconv.Itoa(i) + "]"
		d.lines[at] = v.Line
		d.value(v, list.Index(i), at)
	}
	to.Set(list)
}

// scalarTags are those of what a number or a truth may be written as.
var scalarTags = map[string][]string{"whole number": {"!!int"}, "number": {"!!int", "!!float"}, "true or false": {"!!bool"}}

func (d *decoder) scalar(n *yaml.Node, to reflect.Value, path string) {
	kind := kindOf(to.Type())
	wanted := errors.New(a(kind))
	err := wanted
	switch {
	case n.Kind != yaml.ScalarNode:
	case to.Type() == durationType:
		var v time.Duration
		if v, err = time.ParseDuration(n.Value); err != nil {
			err = wanted
		}
		to.SetInt(int64(v))
	case isText(to.Type()):
		err = to.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(n.Value))
	case kind == "text":
		to.SetString(n.Value)
		return
	case slices.Contains(scalarTags[kind], n.ShortTag()) && n.Decode(to.Addr().Interface()) == nil:
		return
	}
	if err != nil {
		d.fail(n.Line, path, "%s is not allowed, want %v", show(n), err)
	}
}

func null(n *yaml.Node) bool { return n.ShortTag() == "!!null" }

func show(n *yaml.Node) string {
	const most = 40
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	s := n.Value
	if len(s) > most {
		s = s[:most] + "..."
	}
	if n.Style != 0 || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' }) || s == "" {
		return strconv.Quote(s)
	}
	return s
}
