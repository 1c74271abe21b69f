# make test     every module's tests, with the race detector where there is a C compiler
# make short    the quick tests, without it: at most a minute, to run between edits
# make lint     gofmt, vet and staticcheck over every module
# make vet-os   vet for the other systems that the library runs on
# make fuzz     every fuzz target, FUZZTIME each
# make e2e      the figures against real servers, RUNS of each, on a quiet machine: five minutes and more
# make bench    the benchmarks of every module
# make bench-peers  the limiter beside its peers, as Markdown: cost and control
# make names    the exported names of every package, and their sum
# make tidy     go mod tidy in every module; in CI it must change nothing
# make rehearse fetch, build and run the modules from a proxy, as users do after a release
# make release  VERSION=vX.Y.Z: commit and tag a release; nothing is pushed

MODULES   := $(patsubst %/,%,$(dir $(shell git ls-files 'go.mod' '*/go.mod')))
# A count, not a time: go test before 1.27 may report the end of a time as a failure (golang/go#75804).
FUZZTIME  ?= 50000x
BENCHTIME ?= 1s
RUNS      ?= 1
# The race detector needs cgo.
RACE      := $(shell command -v $${CC:-gcc} >/dev/null 2>&1 && echo -race)
STATICCHECK := go run honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: test short lint vet-os fuzz e2e bench bench-peers names tidy rehearse release

# TIMED measure time, one after the other. The simulator starts no goroutine, and the race
# detector would make it ten times slower. At the end of each package it would sleep for a second.
test: TIMED := live/browser e2e benchmarks
test: export GORACE := atexit_sleep_ms=0
test:
	$(if $(RACE),,@echo 'no C compiler: testing without the race detector')
	go test $(RACE) -shuffle=on -timeout 10m $$(go list $(patsubst %,./%/...,$(filter-out $(TIMED),$(MODULES))) | grep -v '^github.com/aimd-go/aimd/sim$$')
	go test $(RACE) -shuffle=on -timeout 10m -p 1 $(patsubst %,./%/...,$(TIMED))
	go test -shuffle=on -timeout 10m . ./sim ./cmd/aimd/internal/simulate

# e2e needs real servers, live/browser a browser, benchmarks time, and the recipes much of
# others' code: all are for make test.
short:
	@set -e; for m in $(filter-out e2e benchmarks docs/recipes live/browser,$(MODULES)); do (cd $$m && echo "== $$m" && go test -short -timeout 2m ./...); done

lint:
	@bad=$$(gofmt -l .); test -z "$$bad" || { echo "not gofmt-ed: $$bad"; exit 1; }
	@set -e; for m in $(MODULES); do (cd $$m && echo "== $$m" && go vet ./... && $(STATICCHECK) ./...); done

# e2e starts and stops processes with POSIX signals.
vet-os:
	@set -e; for os in windows darwin; do for m in $(filter-out e2e docs/recipes,$(MODULES)); do \
	  (cd $$m && echo "== $$os $$m" && GOOS=$$os go vet ./...); done; done

fuzz:
	@set -e; for m in $(MODULES); do cd $(CURDIR)/$$m; for p in $$(go list -f '{{.Dir}}' ./...); do \
	  for f in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]+' $$p/*_test.go 2>/dev/null | cut -c6-); do \
	    echo "== $$f"; (cd $$p && go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) .); done; done; done

e2e:
	cd e2e && E2E_RUNS=$(RUNS) go test -v -count=1 -timeout 2h .

bench:
	@set -e; for m in $(MODULES); do (cd $$m && go test -run '^$$' -bench . -benchtime $(BENCHTIME) ./...); done

bench-peers:
	@cd benchmarks && go run .

# Not those of tests, commands and internal folders.
names:
	@go run ./internal/names

# The modules below cmd have no replace: release finds them the rest of this tree.
tidy:
	@set -e; for m in $(filter-out cmd/%,$(MODULES)); do (cd $$m && go mod tidy); done
	go run ./release tidy
	$(if $(CI),git diff --exit-code -- '*go.mod' '*go.sum')

rehearse:
	go run ./release rehearse

release:
	go run ./release prepare $(VERSION)
