# make test     every module's tests that need nothing but Go
# make race     the tests of the library and the tool with the race detector, which needs a C compiler; the longest
#               models wait for make proof, or for SLOW=
# make e2e      the tests with real servers that each push runs; QUIET=1 holds the figures to their real
#               bounds, on a quiet machine
# make short    the quick tests: at most a minute, between edits
# make vet      gofmt and vet
# make lint     these and staticcheck
# make vet-os   vet for the other systems that the library runs on
# make proof    what only proves the library, below proof, and all that takes longer than a push may:
#               recipes, laws of others, all tests with real servers and a browser, the figures of the pages
# make fuzz     every fuzz target, FUZZTIME each
# make bench    the benchmarks of every module
# make bench-peers  the limiter beside its peers, as Markdown: cost and control
# make figures  play the tables of README and docs again, and print what differs; some ten minutes. UPDATE=-update
#               writes them
# make names    the exported names of every package, and their sum
# make lines    the lines of Go: source and tests, each with proof and without
# make tidy     go mod tidy in every module; in CI it must change nothing
# make rehearse fetch the modules by a version, as users do after a release, and run their examples;
#               one program with all of them, and again with a newer root
# make release  VERSION=vX.Y.Z: commit and tag a release; nothing is pushed
# make packages what people install who have no Go, in the new folder OUT: archives, packages, an image

# Modules that go.work does not have: what they require would be in the builds of all others. Only make proof builds them.
APART     := release/dist proof/peers proof/recipes
ALL       := $(filter-out $(APART),$(patsubst %/,%,$(dir $(shell git ls-files 'go.mod' '*/go.mod'))))
PROOF     := $(filter proof%,$(ALL))
# What a push tests. Nothing requires a module below proof.
MODULES   := $(filter-out proof%,$(ALL))
PACKAGES   = $(patsubst %,./%/...,$(MODULES))
TEST      := go test -vet=off -shuffle=on -timeout 20m
# A count, not a time: go test before 1.27 may report the end of a time as a failure (golang/go#75804).
FUZZTIME  ?= 50000x
# How often it tries to shorten an input, which would take a minute for each new one. An input that fails stays longer.
MINIMIZE  ?= 20x
BENCHTIME ?= 1s
QUIET     ?=
# The tests with real servers that each push runs, by their names after Test. internal/rules holds that each is one.
ROWS      ?= PostsBehindNginx|Storm|ThreePrograms|Restarts|StoreChanges|Resets|Interrupted|UploadWhoseReaderGoes

# Models of minutes in virtual time, which take three seconds and more each under the race detector. internal/rules holds
# that each is a test.
SLOW      ?= AStoreThatIsAwayForLong|AStoreThatAnswersWhileNobodyLeads|BadItemsDoNotHoldTheOthers|RacesAreNotCallersWhoLeave|PoolsAtAServiceThatRefusesWith500|ItemsThatFailTwice|HostileDocuments|ABucketThatOthersKeptEmptyIsUsedAgain|NoRequestIsLost|AFixedQuotaIsSplitByDemand|ALaterPageIsToldThePast|CallersWhoLeaveGetTheirAnswersAfterASpike|ABatchBesideCallersWhoLeaveWithoutAWord|TheLawStandsStillNowhere|AStoreThatGoesAndComesBack|ALookTooEarlyCostsAJobLittle|ABatchWithOneDeadlineHasItsTurns|EachStepOfTheText|ALongSuccessPassesWithConstantMemory|FormsOfARefusalWithinA200|ReportsWithinDoLeaveNothing|RequestsWithDeadlinesAreAnsweredInTime|ASpikeOfProgramsThatSayWhenTheyLeave|ManyLimitersCostNoMoreThanFew|Weights|MaxRate|AFailoverOfAShardLosesNothing|ProbesGoOn|ClientsThatWereHeldUpSpreadAgain|ClientsThatStartTogetherSendAtASteadyRate|WholeSecondsKeepTheMean|SlotsThatAreToldAsAQuota|WorkersInALoopAreNotToldAgainAndAgain|WhoFailedOnceByChanceIsNotLate|NothingIsLostByChance|AttemptsIntoAnOutageDoNotGrowWithTheBacklog|TheLawEndsWhereSlowerIsNoBetter|AnItemOfEachAllocatesThreeTimes|AStoreThatGoesWhileTheLawLooks

# The packages of the tool that start goroutines. internal/rules holds that none is missing.
RACED     := $(addprefix ./cmd/aimd/internal/,cli demo/race livepage progress proxy simulate/experiment upload)

.PHONY: test race short e2e vet lint vet-os proof fuzz bench bench-peers figures names lines tidy rehearse release packages

# vet is part of make lint, and the tests of release.sh of make rehearse.
test:
	$(TEST) $(filter-out ./release/...,$(PACKAGES)) ./proof/harm

# The packages of the library that start a goroutine or lock, with their tests: in others nothing can race. The law's tests
# would take ten times as long. The detector would sleep for a second at each package's end.
race: export GORACE := atexit_sleep_ms=0
race:
	$(TEST) -race $(if $(SLOW),-skip '^Test($(SLOW))$$') $$(git grep -lE '\bgo (func|[a-z.]+\()|\.Go\(|\bsync\.|\.Parallel\(' -- \
	  '*.go' ':!cmd' ':!contrib' ':!examples' ':!proof' ':!release' ':!internal/probe' | xargs -n 1 dirname | sort -u | sed 's|^|./|') $(RACED)

short:
	go test -short -vet=off -timeout 2m $(PACKAGES)

# Most tests wait for limits, so without QUIET many run at a time. E2E are the tests, or a program that has them compiled.
E2E       ?= go test -vet=off .
e2e: export E2E_QUIET := $(QUIET)
e2e:
	cd proof/e2e && $(E2E) -test.v -test.count=1 -test.timeout=2h $(if $(QUIET),,-test.parallel=12) -test.run='^Test($(ROWS))'

vet:
	@bad=$$(gofmt -l .); test -z "$$bad" || { echo "not gofmt-ed: $$bad"; exit 1; }
	go vet $(PACKAGES)

lint: vet
	go tool staticcheck $(PACKAGES)

# The packages with code for a system, and on Windows the library. The rest is the same as on Linux; the workflow tests
# all of it there.
SYSTEM    := ./cmd/aimd/internal/again ./cmd/aimd/internal/demo/race ./cmd/aimd/internal/cli
vet-os:
	GOOS=windows go vet ./... $(SYSTEM)
	GOOS=darwin go vet $(SYSTEM)

# Each part runs, also after one that failed. The end has the seconds of each, and is red if one was. The tests with a
# browser run alone: they measure.
proof: export E2E_QUIET := $(QUIET)
proof:
	@part() { echo "== $$*"; from=$$(date +%s); "$$@" && mark= || { mark=RED; red=1; }; \
	  all="$$all$$(printf '%5d s  %3s  %s' $$(($$(date +%s) - from)) "$$mark" "$$*")\\n"; }; red=0 all=; \
	part $(MAKE) tidy MODULES='$(ALL)'; \
	part $(MAKE) lint MODULES='$(PROOF)'; \
	part $(MAKE) vet-os; \
	part env GOOS=windows go vet ./cmd/aimd/... ./examples/storm/...; \
	for m in $(APART); do part env GOWORK=off go -C $$m mod tidy -diff; part env GOWORK=off go -C $$m vet ./...; \
	  part env GOWORK=off go -C $$m test -vet=off -shuffle=on -timeout 20m ./...; done; \
	part env GOWORK=off sh -c "cd proof/recipes && $$(go tool -n staticcheck) ./..."; \
	part $(MAKE) race SLOW=; \
	part $(TEST) $(patsubst %,./%/...,$(filter-out proof/e2e,$(PROOF))); \
	part $(TEST) ./proof/harm -run '^Test(Harm|FewRefusalsByChance|WhatShadowForetells)$$' -args -set 0; \
	part $(TEST) ./cmd/aimd/internal/simulate -run '^TestBuiltin' -args -laws; \
	part $(MAKE) figures; \
	part $(MAKE) e2e ROWS=.; \
	part go -C proof/e2e test -v -count=1 -timeout 2h ./browser; \
	part $(MAKE) fuzz FUZZTIME=5000x; \
	part $(MAKE) bench BENCHTIME=1x; \
	printf '%b' "$$all"; exit $$red

fuzz:
	@set -e; for m in $(MODULES); do cd $(CURDIR)/$$m; for p in $$(go list -f '{{.Dir}}' ./...); do \
	  for f in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]+' $$p/*_test.go 2>/dev/null | cut -c6-); do \
	    echo "== $$f"; (cd $$p && go test -vet=off -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime $(MINIMIZE) .); done; done; done

bench:
	go test -vet=off -run '^$$' -bench . -benchtime $(BENCHTIME) $$(git grep -l '^func Benchmark' -- '*_test.go' | xargs -n 1 dirname | sort -u | sed 's|^|./|')

bench-peers:
	@cd proof/benchmarks && go run .

figures:
	@go run ./proof/figures $(UPDATE)

# As users see them in go doc: functions, types, methods, constants and variables.
names:
	@for p in $$(go list -f '{{if and .GoFiles (ne .Name "main")}}{{.ImportPath}}{{end}}' $(PACKAGES) | grep -v /internal/); do \
	  go doc -all $$p | awk -v p=$${p#github.com/aimd-go/} '/^(const|var) \(/ {b = 1} /^\)/ {b = 0} \
	    /^(func|type) / || /^(const|var) [A-Z]/ {n++} b && /^\t[A-Z]/ {sub(/[=\/].*/, ""); n += 1 + gsub(/, [A-Z]/, "")} \
	    END {if (n) printf "%-24s %4d\n", p, n}'; done | awk '{print; s += $$2} END {printf "%-24s %4d\n", "sum", s}'

lines:
	@set -f; for of in '*.go :!*_test.go' '*_test.go'; do for but in '' ':!proof'; do \
	  printf '%-25s %6d\n' "$$of $$but" $$(git ls-files -z -- $$of $$but | xargs -0 cat | wc -l); done; done

# In CI the modules below proof wait for make proof, since they fetch much. The modules below cmd may not
# have a replace directive in git; release.sh lends them one.
export TIDY ?= go mod tidy
tidy:
	@set -e; for m in $(filter-out cmd/%,$(sort $(MODULES) $(if $(CI),,$(PROOF)))); do (cd $$m && $(TIDY)); done
	release/release.sh tidy
	$(if $(CI),git diff --exit-code -- '*go.mod' '*go.sum')

rehearse:
	$(TEST) ./release/...
	release/release.sh rehearse

release:
	release/release.sh prepare '$(VERSION)'

OUT       ?= packages
packages:
	cd release/dist && GOWORK=off go run . -out '$(abspath $(OUT))'
