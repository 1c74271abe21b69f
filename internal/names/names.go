// Command names counts the exported names of every package below a folder, as a
// user sees them: types, functions, methods, constants and variables. Fields,
// tests, commands and what is below an internal folder are left out.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

func main() {
	if err := run(os.DirFS("."), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "names:", err)
		os.Exit(1)
	}
}

// run writes a line for each package, its folder and its count, and the sum.
func run(root fs.FS, w io.Writer) error {
	all, err := packages(root)
	if err != nil {
		return err
	}
	sum := 0
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(w, "%-16s %4d\n", dir, len(all[dir]))
		sum += len(all[dir])
	}
	_, err = fmt.Fprintf(w, "%-16s %4d\n", "sum", sum)
	return err
}

// names are a package's exported ones; a method is "Type.Method". A set: files
// for several systems may declare the same.
type names map[string]bool

// packages are the names by folder.
func packages(root fs.FS) (map[string]names, error) {
	all := map[string]names{}
	err := fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && leftOut(d.Name()) {
			return fs.SkipDir
		}
		if d.IsDir() || path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		return add(root, file, all)
	})
	return all, err
}

// leftOut reports whether a folder's packages are not for users, or not ours.
func leftOut(folder string) bool {
	return folder != "." && strings.ContainsAny(folder[:1], "._") ||
		slices.Contains([]string{"internal", "testdata", "vendor"}, folder)
}

// add adds the names that a file declares.
func add(root fs.FS, file string, all map[string]names) error {
	source, err := fs.ReadFile(root, file)
	if err != nil {
		return err
	}
	f, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if f.Name.Name == "main" {
		return nil
	}
	dir := path.Dir(file)
	if all[dir] == nil {
		all[dir] = names{}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			all[dir].function(d)
		case *ast.GenDecl:
			all[dir].declared(d)
		}
	}
	return nil
}

// function adds a function, or the method of an exported type.
func (n names) function(d *ast.FuncDecl) {
	if !d.Name.IsExported() {
		return
	}
	if d.Recv == nil {
		n[d.Name.Name] = true
	} else if t := receiver(d.Recv.List[0].Type); ast.IsExported(t) {
		n[t+"."+d.Name.Name] = true
	}
}

// receiver is the name of the type that has a method: T of *T and T[K].
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// declared adds types, constants and variables.
func (n names) declared(d *ast.GenDecl) {
	for _, s := range d.Specs {
		var all []*ast.Ident
		switch s := s.(type) {
		case *ast.TypeSpec:
			all = []*ast.Ident{s.Name}
		case *ast.ValueSpec:
			all = s.Names
		}
		for _, name := range all {
			if name.IsExported() {
				n[name.Name] = true
			}
		}
	}
}
