package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// light are the packages that a program without HTTP uses.
var light = []string{".", "./retry", "./job"}

// heavy are packages of Go that a program does not link because of a light one. The templates call methods by names that
// the linker cannot know, so that it keeps every exported method of the program.
var heavy = []string{
	"net/http", "net/http/httptrace", "crypto/tls", "crypto/x509", "crypto/rsa", "math/big", "mime/multipart",
	"text/template", "html/template", "regexp", "database/sql", "encoding/gob", "encoding/asn1", "go/ast", "testing", "flag", "expvar",
}

func TestAProgramWithoutHTTPStaysSmall(t *testing.T) {
	t.Chdir(root)
	out, err := exec.Command("go", append([]string{"list", "-deps", "-f", "{{.ImportPath}}\t{{.Standard}}\t{{range .GoFiles}}{{$.Dir}}/{{.}}\t{{end}}"}, light...)...).Output()
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Greater(t, len(lines), 100, "the packages of Go are among them")
	for _, line := range lines {
		p := strings.Split(strings.TrimSpace(line), "\t")
		assert.NotContains(t, heavy, p[0])
		if p[1] == "false" {
			for _, file := range p[2:] {
				noMethodIsCalledByNumber(t, file)
			}
		}
	}
}

// noMethodIsCalledByNumber fails if the file asks reflect for a method by its number, or by a name that the linker does
// not see. The linker then keeps every exported method of the program: 2.5 MB.
func noMethodIsCalledByNumber(t *testing.T, file string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	uses := false
	for _, i := range f.Imports {
		uses = uses || i.Path.Value == `"reflect"`
	}
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || !uses {
			return true
		}
		if to, ok := call.Fun.(*ast.SelectorExpr); ok && len(call.Args) == 1 {
			_, literal := call.Args[0].(*ast.BasicLit)
			assert.False(t, to.Sel.Name == "Method" || to.Sel.Name == "MethodByName" && !literal, "%s: reflect's %s", file, to.Sel.Name)
		}
		return true
	})
}
