# make test     every module's tests that need nothing but Go, -race if there is a C compiler
# make e2e      the tests with real servers, a browser and Prometheus; QUIET=1 holds the figures
#               to their real bounds, on a quiet machine
# make short    the quick tests, without the race detector: at most a minute, between edits
# make lint     gofmt, vet and staticcheck over every module
# make vet-os   vet for the other systems that the library runs on
# make fuzz     every fuzz target, FUZZTIME each
# make bench    the benchmarks of every module
# make bench-peers  the limiter beside its peers, as Markdown: cost and control
# make figures  play the tables of README and docs again, and print what differs; some five minutes
# make names    the exported names of every package, and their sum
# make tidy     go mod tidy in every module; in CI it must change nothing
# make rehearse fetch the modules by a version, as users do after a release, and run their examples;
#               one program with all of them, and again with a newer root
# make release  VERSION=vX.Y.Z: commit and tag a release; nothing is pushed

MODULES   := $(patsubst %/,%,$(dir $(shell git ls-files 'go.mod' '*/go.mod')))
# A count, not a time: go test before 1.27 may report the end of a time as a failure (golang/go#75804).
FUZZTIME  ?= 50000x
BENCHTIME ?= 1s
QUIET     ?=
# The race detector needs cgo.
RACE      := $(shell command -v $${CC:-gcc} >/dev/null 2>&1 && echo -race)

.PHONY: test short lint vet-os fuzz e2e bench bench-peers figures names tidy rehearse release

# The race detector looks at the library and at the other packages that start goroutines. It
# does not look at the simulator and at internal/rules, which start none and would take ten times as long. The tests of
# the law play simulations, so they run once more without it.
NO_RACE   := ^github.com/aimd-go/aimd/internal/\(sim\|rules\)$$
HERMETIC  := $(filter-out proof/e2e,$(MODULES))
TEST      := go test -vet=off -shuffle=on -timeout 20m

# vet is part of make lint. The race detector would sleep for a second at each package's end.
test: export GORACE := atexit_sleep_ms=0
test:
	$(if $(RACE),,@echo 'no C compiler: testing without the race detector')
	starters=$$(git grep -lE '\bgo func|\.Go\(' -- 'cmd/*.go' ':!*_test.go' | xargs -n 1 dirname | sort -u | sed 's|^|./|'); \
	raced=$$(go list ./... $$starters | grep -v '$(NO_RACE)'); \
	$(TEST) $(RACE) $$raced && \
	$(if $(RACE),$(TEST) -run "^TestProbe(Rules|Constants)" .,true) && \
	$(TEST) $$(go list $(patsubst %,./%/...,$(HERMETIC)) | grep -vxF "$$raced")

short:
	go test -short -vet=off -timeout 2m $(patsubst %,./%/...,$(filter-out proof%,$(HERMETIC)))

# staticcheck reads the source of all dependencies, and proof/recipes alone has 1.6 million lines of them. CI leaves it to vet.
lint:
	@bad=$$(gofmt -l .); test -z "$$bad" || { echo "not gofmt-ed: $$bad"; exit 1; }
	go vet $(patsubst %,./%/...,$(MODULES))
	go tool staticcheck $(patsubst %,./%/...,$(filter-out $(if $(CI),proof/recipes),$(MODULES)))

# No other module has code that depends on the system; the workflow tests all of them there. For
# macOS only the packages with code for Unix matter: the rest is the same as on Linux.
vet-os:
	GOOS=windows go vet ./... ./cmd/aimd/... ./examples/storm/...
	GOOS=darwin go vet $$(git ls-files 'cmd/*_unix.go' | xargs -n 1 dirname | sed 's|^|./|')

fuzz:
	@set -e; for m in $(MODULES); do cd $(CURDIR)/$$m; for p in $$(go list -f '{{.Dir}}' ./...); do \
	  for f in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]+' $$p/*_test.go 2>/dev/null | cut -c6-); do \
	    echo "== $$f"; (cd $$p && go test -vet=off -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) .); done; done; done

# Most tests wait for limits, so without QUIET many run at a time. Those with a browser run alone.
e2e: export E2E_QUIET := $(QUIET)
e2e:
	cd proof/e2e && go test -v -count=1 -timeout 2h $(if $(QUIET),-p 1,-p 3 -parallel 12) $$(go list ./... | grep -v /browser$$)
	cd proof/e2e && go test -v -count=1 -timeout 2h ./browser

bench:
	go test -vet=off -run '^$$' -bench . -benchtime $(BENCHTIME) $$(git grep -l '^func Benchmark' -- '*_test.go' | xargs -n 1 dirname | sort -u | sed 's|^|./|')

bench-peers:
	@cd proof/benchmarks && go run .

figures:
	@go run ./proof/figures

# As users see them in go doc: functions, types, methods, constants and variables.
names:
	@for p in $$(go list -f '{{if and .GoFiles (ne .Name "main")}}{{.ImportPath}}{{end}}' $(patsubst %,./%/...,$(HERMETIC)) | grep -v /internal/); do \
	  go doc -all $$p | awk -v p=$${p#github.com/aimd-go/} '/^(const|var) \(/ {b = 1} /^\)/ {b = 0} \
	    /^(func|type) / || /^(const|var) [A-Z]/ {n++} b && /^\t[A-Z]/ {sub(/[=\/].*/, ""); n += 1 + gsub(/, [A-Z]/, "")} \
	    END {if (n) printf "%-24s %4d\n", p, n}'; done | awk '{print; s += $$2} END {printf "%-24s %4d\n", "sum", s}'

# The modules below cmd may not have a replace directive in git; release.sh lends them one.
tidy:
	@set -e; for m in $(filter-out cmd/%,$(MODULES)); do (cd $$m && go mod tidy); done
	release/release.sh tidy
	$(if $(CI),git diff --exit-code -- '*go.mod' '*go.sum')

rehearse:
	release/release.sh rehearse

release:
	release/release.sh prepare '$(VERSION)'
