// Package api tests what users see of the packages: each type has a name that they can write, and a reason in types.md.
package api

import (
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/aimd-go/aimd"

// sdks are the modules of others whose types a module may show: what its users have anyway.
var sdks = map[string][]string{
	"contrib/aimdotel":   {"go.opentelemetry.io/otel"},
	"contrib/aimdprom":   {"github.com/prometheus/client_golang"},
	"contrib/asynqlimit": {"github.com/hibiken/asynq"},
	"contrib/awslimit":   {"github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go"},
	"contrib/grpclimit":  {"google.golang.org/grpc"},
	"contrib/miniolimit": {"github.com/minio/minio-go/v7"},
	"contrib/pgshare":    {"github.com/jackc/pgx/v5"},
	"contrib/redisshare": {"github.com/redis/go-redis/v9"},
	"contrib/riverlimit": {"github.com/riverqueue/river"},
}

// A type that users see has a name that they can write: it is public, and of this repository, of Go itself or of
// the SDK that an integration is for. Otherwise go doc does not show it, or another's release breaks ours.
func TestUsersCanNameEveryTypeThatTheySee(t *testing.T) {
	t.Chdir("../..")
	patterns := []string{"./..."}
	for _, below := range []string{"contrib", "cmd"} { // those with a release
		mods, err := filepath.Glob(below + "/*/go.mod")
		require.NoError(t, err)
		require.NotEmpty(t, mods)
		for _, m := range mods {
			patterns = append(patterns, "./"+filepath.ToSlash(filepath.Dir(m))+"/...")
		}
	}
	names, types, unnamed := api(t, patterns...)
	require.Greater(t, names, 200)
	assert.Empty(t, unnamed)

	table, err := os.ReadFile("proof/api/types.md")
	require.NoError(t, err)
	var told []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z0-9]+\\.[A-Z]\\w*)` \\| .+ \\|$").FindAllStringSubmatch(string(table), -1) {
		told = append(told, row[1])
	}
	assert.ElementsMatch(t, types, told, "types.md says why each type is public")
}

func TestAPackageThatShowsWhatUsersCannotNameFails(t *testing.T) {
	_, _, unnamed := api(t, "./testdata/leak")
	for i, u := range unnamed {
		unnamed[i] = strings.NewReplacer("proof/api/testdata/leak.", "", module+"/", "").Replace(u)
	}
	assert.Equal(t, []string{
		"Alias: internal/sliding.Counts",
		"Embedded.Counts: internal/sliding.Counts",
		"Field.Clock: github.com/benbjohnson/clock.Clock",
		"Interface.Method: internal/sliding.Counts",
		"Of.Sum: internal/sliding.Counts",
		"Promoted.At: internal/sliding.Counts",
		"Promoted.Method: internal/sliding.Counts",
		"Result.At: internal/sliding.Counts",
		"Result.Method: internal/sliding.Counts",
		"Underlying: internal/sliding.Counts",
		"Variable.Seen: internal/sliding.Counts",
	}, unnamed)
}

// api returns how many exported names the public packages have, their types ("package.Name"), and which of the names
// show a type that users cannot name: "package.Name.Field: type".
func api(t *testing.T, patterns ...string) (names int, all, unnamed []string) {
	t.Helper()
	list := exec.Command("go", append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}} {{.Name}} {{.DepOnly}}"}, patterns...)...)
	list.Stderr = os.Stderr
	out, err := list.Output()
	require.NoError(t, err)
	exports, public := map[string]string{}, []string{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) != 4 {
			continue // unsafe has no export data
		}
		exports[f[0]] = f[1]
		if f[2] != "main" && f[3] == "false" && !strings.Contains(strings.TrimSuffix(f[0], "/proof/api/testdata/leak")+"/", "/internal/") {
			public = append(public, f[0])
		}
	}
	imp := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, path := range public {
		pkg, err := imp.Import(path)
		require.NoError(t, err)
		w := walk{pkg: pkg, unnamed: map[string]bool{}, seen: map[types.Type]bool{}}
		for _, name := range pkg.Scope().Names() {
			if o := pkg.Scope().Lookup(name); o.Exported() {
				names++
				if _, ok := o.(*types.TypeName); ok {
					all = append(all, pkg.Name()+"."+name)
				}
				w.object(o)
			}
		}
		unnamed = append(unnamed, slices.Sorted(maps.Keys(w.unnamed))...)
	}
	return names, all, unnamed
}

// walk goes through what one package exports.
type walk struct {
	pkg     *types.Package
	unnamed map[string]bool
	// seen are the types on the way, since a type may contain itself.
	seen map[types.Type]bool
}

func (w walk) object(o types.Object) {
	at := w.pkg.Path() + "." + o.Name()
	name, ok := o.(*types.TypeName)
	if !ok {
		w.typ(at, o.Type())
		return
	}
	if name.IsAlias() {
		w.typ(at, types.Unalias(o.Type()))
		return
	}
	w.declared(at, o.Type().(*types.Named))
}

// declared looks at what a type of this package shows: its type parameters, what it is made of, and its methods,
// those of embedded types among them.
func (w walk) declared(at string, t *types.Named) {
	if w.seen[t] {
		return
	}
	w.seen[t] = true
	for p := range t.TypeParams().TypeParams() {
		w.typ(at, p.Constraint())
	}
	w.typ(at, t.Underlying())
	if types.IsInterface(t) {
		return
	}
	for m := range types.NewMethodSet(types.NewPointer(t)).Methods() {
		if m.Obj().Exported() {
			w.typ(at+"."+m.Obj().Name(), m.Type())
		}
	}
}

// typ looks at a type where it is used.
func (w walk) typ(at string, t types.Type) {
	switch t := t.(type) {
	case *types.Alias:
		w.named(at, t.Obj())
		w.args(at, t.TypeArgs())
	case *types.Named:
		w.args(at, t.TypeArgs())
		if w.named(at, t.Obj()); t.Obj().Pkg() == w.pkg && !t.Obj().Exported() {
			w.declared(at, t.Origin()) // its methods and fields are seen here
		}
	case *types.Map:
		w.typ(at, t.Key())
		w.typ(at, t.Elem())
	case interface{ Elem() types.Type }: // a pointer, slice, array or channel
		w.typ(at, t.Elem())
	case *types.Tuple:
		for v := range t.Variables() {
			w.typ(at, v.Type())
		}
	case *types.Signature:
		for p := range t.TypeParams().TypeParams() {
			w.typ(at, p.Constraint())
		}
		w.typ(at, t.Params())
		w.typ(at, t.Results())
	case *types.Interface:
		for m := range t.Methods() {
			if m.Exported() {
				w.typ(at+"."+m.Name(), m.Type())
			}
		}
		for e := range t.EmbeddedTypes() {
			w.typ(at, e)
		}
	case *types.Union:
		for term := range t.Terms() {
			w.typ(at, term.Type())
		}
	case *types.Struct:
		w.fields(at, t)
	}
}

// fields looks at the exported fields of a struct, and at those that a field without an exported name promotes.
func (w walk) fields(at string, t *types.Struct) {
	for f := range t.Fields() {
		switch {
		case f.Exported():
			w.typ(at+"."+f.Name(), f.Type())
		case f.Embedded():
			of := f.Type()
			if p, ok := of.Underlying().(*types.Pointer); ok {
				of = p.Elem()
			}
			if s, ok := of.Underlying().(*types.Struct); ok {
				w.fields(at, s)
			}
		}
	}
}

func (w walk) args(at string, list *types.TypeList) {
	for t := range list.Types() {
		w.typ(at, t)
	}
}

// named notes a type that users cannot name.
func (w walk) named(at string, o *types.TypeName) {
	if o.Pkg() == nil {
		return // error, any
	}
	path := o.Pkg().Path()
	within := func(m string) bool { return path == m || strings.HasPrefix(path, m+"/") }
	of, _, _ := strings.Cut(path, "/")
	switch {
	case strings.Contains("/"+path+"/", "/internal/") && o.Pkg() != w.pkg:
	case !strings.Contains(of, "."), within(module), slices.ContainsFunc(sdks[strings.TrimPrefix(w.pkg.Path(), module+"/")], within):
		if o.Exported() || o.Pkg() == w.pkg {
			return
		}
	}
	w.unnamed[fmt.Sprintf("%s: %s.%s", strings.TrimPrefix(strings.TrimPrefix(at, module), "/"), path, o.Name())] = true
}
