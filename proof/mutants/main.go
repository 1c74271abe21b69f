// Mutants says which changes of the code no test notices. It puts a switch into each condition of if and case, which turns it
// round, and before each call that stands alone, which leaves it out. Each package is compiled once. A mutant, drawn by a fixed
// seed, dies if a test of its own package fails, or of one of the packages -by. With -v each is shown with the tests that notice.
//
//	go run ./proof/mutants -n 300 -by ./httplimit ./answer ./verdict ./httplimit
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// helper is the file with the switch.
const helper = "package %s\n\nimport \"os\"\n\nvar mutantOn = os.Getenv(\"MUTANT\")\n\nfunc mutant(n string) bool { return n == mutantOn }\n"

// most is the time of a package's tests: an endless loop dies.
const most = 2 * time.Minute

// mutant is a switch: the folder of its package, and its place.
type mutant struct{ dir, at string }

// house is the place where the changed packages and their tests are.
type house struct {
	tmp     string
	overlay map[string]string
	all     []mutant
	verbose bool
}

func main() {
	n, seed := flag.Int("n", 300, "mutants to draw"), flag.Uint64("seed", 1, "the seed of the draw")
	by, verbose := flag.String("by", "", "more packages whose tests count, with commas"), flag.Bool("v", false, "show the tests that notice")
	only := flag.String("only", "", "draw these places alone, with commas")
	flag.Parse()
	tmp, err := os.MkdirTemp("", "mutants")
	check(err)
	defer os.RemoveAll(tmp)
	h := house{tmp: tmp, overlay: map[string]string{}, verbose: *verbose}
	for _, dir := range flag.Args() {
		h.change(dir)
	}
	others := strings.FieldsFunc(*by, func(c rune) bool { return c == ',' })
	h.compile(append(flag.Args(), others...))
	if *only != "" {
		places := strings.Split(*only, ",")
		h.all = slices.DeleteFunc(h.all, func(m mutant) bool { return !slices.Contains(places, m.at) })
	}
	drawn := rand.New(rand.NewPCG(*seed, 0)).Perm(len(h.all))[:min(*n, len(h.all))]
	var mu sync.Mutex
	dead, jobs, workers := 0, make(chan mutant), sync.WaitGroup{}
	for range 2 {
		workers.Go(func() {
			for m := range jobs {
				noticed := h.notice(m, append([]string{m.dir}, others...))
				mu.Lock()
				if len(noticed) > 0 {
					dead++
				}
				if *verbose || len(noticed) == 0 {
					fmt.Println(m.at, noticed)
				}
				mu.Unlock()
			}
		})
	}
	for _, i := range drawn {
		jobs <- h.all[i]
	}
	close(jobs)
	workers.Wait()
	fmt.Printf("%d of %d died, of %d\n", dead, len(drawn), len(h.all))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// at is a file of the house for a path.
func (h *house) at(path string) string {
	path, err := filepath.Abs(path)
	check(err)
	return filepath.Join(h.tmp, strings.ReplaceAll(path, string(filepath.Separator), "_"))
}

// change writes the files of a package with their switches.
func (h *house) change(dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	check(err)
	name := ""
	for _, path := range files {
		if !strings.HasSuffix(path, "_test.go") {
			name = h.switched(dir, path)
		}
	}
	h.put(filepath.Join(dir, "zz_mutant.go"), fmt.Sprintf(helper, name))
}

func (h *house) put(path, text string) {
	check(os.WriteFile(h.at(path), []byte(text), 0o600))
	path, err := filepath.Abs(path)
	check(err)
	h.overlay[path] = h.at(path)
}

// switched writes a file with its switches, and returns the name of its package.
func (h *house) switched(dir, path string) string {
	source, err := os.ReadFile(path)
	check(err)
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, source, parser.SkipObjectResolution)
	check(err)
	inserts := make([]string, len(source)+1) // by place
	around := func(n ast.Node, form, end string) {
		from, to := set.Position(n.Pos()), set.Position(n.End())
		m := mutant{dir, fmt.Sprintf("%s:%d:%d", filepath.ToSlash(path), from.Line, from.Column)}
		h.all = append(h.all, m)
		inserts[from.Offset] += fmt.Sprintf(form, m.at)
		inserts[to.Offset] = end + inserts[to.Offset]
	}
	calls := func(list []ast.Stmt) {
		for _, s := range list {
			if s, is := s.(*ast.ExprStmt); is {
				if call, is := s.X.(*ast.CallExpr); is && fmt.Sprint(call.Fun) != "panic" { // a function may end with it
					around(s, "if !mutant(%q) { ", " }")
				}
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			around(n.Cond, "mutant(%q) != (", ")")
		case *ast.SwitchStmt:
			for _, c := range n.Body.List {
				for _, e := range c.(*ast.CaseClause).List {
					if n.Tag == nil {
						around(e, "mutant(%q) != (", ")")
					}
				}
			}
		case *ast.BlockStmt:
			calls(n.List)
		case *ast.CaseClause:
			calls(n.Body)
		case *ast.CommClause:
			calls(n.Body)
		}
		return true
	})
	var out strings.Builder
	for i, c := range source {
		out.WriteString(inserts[i])
		out.WriteByte(c)
	}
	h.put(path, out.String())
	return file.Name.Name
}

// compile makes the tests, which must pass without a mutant.
func (h *house) compile(dirs []string) {
	list, err := json.Marshal(map[string]any{"Replace": h.overlay})
	check(err)
	check(os.WriteFile(h.at("overlay.json"), list, 0o600))
	for _, dir := range dirs {
		build := exec.Command("go", "test", "-C", dir, "-c", "-vet=off", "-overlay", h.at("overlay.json"), "-o", h.at(dir)+".test", ".")
		if out, err := build.CombinedOutput(); err != nil {
			log.Fatalf("%s: %v\n%s", dir, err, out)
		}
		if noticed := h.notice(mutant{}, []string{dir}); len(noticed) > 0 {
			log.Fatalf("%s: the tests fail without a mutant: %v", dir, noticed)
		}
	}
}

var failed = regexp.MustCompile(`(?m)^(?:--- FAIL: |panic: )(\w+)`)

// notice is the tests that notice a mutant, or the folder of the first that does.
func (h *house) notice(m mutant, dirs []string) (noticed []string) {
	for _, dir := range dirs {
		ctx, cancel := context.WithTimeout(context.Background(), most)
		test := exec.CommandContext(ctx, h.at(dir)+".test", "-test.short")
		if !h.verbose {
			test.Args = append(test.Args, "-test.failfast")
		}
		test.Dir, test.Env = dir, append(os.Environ(), "MUTANT="+m.at)
		out, err := test.CombinedOutput()
		cancel()
		switch {
		case err == nil:
		case !h.verbose:
			return []string{dir}
		default:
			for _, name := range failed.FindAllSubmatch(out, -1) {
				noticed = append(noticed, string(name[1]))
			}
			if len(noticed) == 0 {
				noticed = []string{dir}
			}
		}
	}
	slices.Sort(noticed)
	return slices.Compact(noticed)
}
