#!/usr/bin/env bash
# Makes releases of this repository, and rehearses them.
#
#   release.sh tidy            go mod tidy for the commands
#   release.sh rehearse        fetch, build and run the work tree as users would
#   release.sh prepare v0.1.0  commit and tag a release; push nothing
#
# A release is one commit, and one tag for each released module: the root, the folders below
# contrib and those below cmd. They require each other at the version of the release. The
# modules below contrib also replace each other by relative paths, which Go ignores for
# dependencies. go install refuses a command that replaces, so go.work does that for commands.
set -euo pipefail

tools=$(cd "$(dirname "$0")" && pwd)
cd "$(git rev-parse --show-toplevel)"
tree=$PWD
tmp=$(mktemp -d)
version=
export GOWORK=off

fail() {
  echo "release: $*" >&2
  exit 1
}

# modules prints the folder of each module, released the folders of those that get a tag.
modules() { git ls-files --cached --others --exclude-standard go.mod '*/go.mod' | xargs -n 1 dirname | sort; }
released() { modules | grep -E '^(\.$|contrib/|cmd/)'; }
path() { sed -n 's/^module //p' "$1/go.mod"; }
tag() { case $1 in .) echo "$version" ;; *) echo "$1/$version" ;; esac }

# require makes the modules require each other at the version.
require() {
  local m path
  for m in $(modules); do
    for path in $(for o in $(modules); do path "$o"; done); do
      if grep -qE "^(require )?[[:space:]]*$path v" "$m/go.mod"; then go mod edit -require="$path@$version" "$m/go.mod"; fi
    done
  done
}

# tidy replaces our modules by their folders while go mod tidy runs.
tidy() {
  local c m
  for c in $(modules | grep '^cmd/'); do
    for m in $(modules); do go mod edit -replace="$(path "$m")=$tree/$m" "$c/go.mod"; done
    (cd "$c" && eval "${TIDY-go mod tidy}")
    for m in $(modules); do go mod edit -dropreplace="$(path "$m")" "$c/go.mod"; done
  done
}

# snapshot prints a commit, on no branch, of the work tree as it is.
snapshot() {
  export GIT_INDEX_FILE=$tmp/index GIT_AUTHOR_NAME=rehearsal GIT_AUTHOR_EMAIL=rehearsal@localhost
  export GIT_COMMITTER_NAME=rehearsal GIT_COMMITTER_EMAIL=rehearsal@localhost
  git add --all
  git commit-tree -p HEAD -m snapshot "$(git write-tree)"
}

# copy makes a clone of the work tree at a commit.
copy() { # COMMIT FOLDER
  git clone --quiet --shared --no-checkout "$tree" "$2"
  git -C "$2" checkout --quiet --detach "$1"
}

# forget removes what was rehearsed from the user's module cache.
forget() { # REPOSITORY TIME
  local m at cache
  cache=$(go env GOMODCACHE)
  for m in $(released); do
    for at in "$cache/$(path "$m")@"*"$2"; do
      [ ! -d "$at" ] || chmod -R u+w "$at"
      rm -rf "$at"
    done
    rm -f "$cache/cache/download/$(path "$m")/@v/"*"$2".*
  done
  for at in $(grep -lFs "$1" "$cache"/cache/vcs/*.info); do rm -rf "${at%.info}"*; done
}

# use fetches a library into an empty module, and runs its examples there. It prints how many.
use() { # MODULE
  local path out
  path=$(path "$1")
  mkdir -p "$tmp/use/$1/program"
  cd "$tmp/use/$1/program"
  (go mod init program && go get "$path@$version") >&2
  out=$(go test -mod=mod -vet=off -v -run '^Example' "$path") || fail "$1: $out"
  out=$(grep -c '^--- PASS: Example' <<<"$out") || fail "$1: no example with an output"
  echo "$out examples"
}

# try installs a command, and prints its version.
try() { # MODULE
  local out
  GOBIN=$tmp/bin go install "$(path "$1")@$version"
  out=$("$tmp/bin/${1##*/}" --version 2>&1)
  case $out in *"$version"*) ;; *) fail "$1: --version prints '$out', want $version" ;; esac
  echo "$out"
}

# program makes a program with these requirements. It imports all their public packages; if commands are among them,
# they are built with it. It prints how many of our modules have which version.
program() { # MODULE@VERSION...
  local root
  root=$(path "$tmp/clone")
  rm -rf "$tmp/use/all"
  mkdir -p "$tmp/use/all/program"
  cd "$tmp/use/all/program"
  {
    go mod init program && go get "$@" &&
      {
        printf 'package main\n\nimport (\n'
        go list -mod=mod -f '{{if ne .Name "main"}}{{printf "\t_ %q" .ImportPath}}{{end}}' "$root/..." | grep -v /internal/
        printf ')\n\nfunc main() {}\n'
      } >main.go && go build -mod=mod . "$root/..."
  } >&2 || fail "no program can be built with $*"
  go list -mod=mod -m all | awk -v of="^$root(/|$)" '$1 ~ of {n[$2]++} END {for (v in n) print n[v], "at", v}' | sort -k 3 | paste -sd ,
}

# rehearse tags a clone with v0.1.0, and has the go command take our modules from there: each alone, and all in one
# program. Then the root alone gets v0.1.1, in which its internal packages have other names, since a user may
# update it without the integrations. A command uses those packages: its go.mod says of which version. The versions
# end in the time, so that they are new to every cache.
rehearse() {
  local m d out commit repository root time all=() integrations=()
  copy "$(snapshot)" "$tmp/clone"
  cd "$tmp/clone"
  time=-rehearsal.$(date -u +%Y%m%d%H%M%S)
  version=v0.1.0$time
  require
  commit=$(snapshot)
  for m in $(released); do
    git tag "$(tag "$m")" "$commit"
    all+=("$(path "$m")@$version")
    case $m in contrib/*) integrations+=("$(path "$m")@$version") ;; esac
  done
  root=$(path .)
  repository=https://${root%.git}
  export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="url.$tmp/clone.insteadOf" GIT_CONFIG_VALUE_0=$repository
  export GONOPROXY="$(go env GONOPROXY),$root" GONOSUMDB="$(go env GONOSUMDB),$root"
  trap "cd '$tmp/clone'; forget '$repository' '$time'; rm -rf '$tmp'" EXIT
  for m in $(released); do
    case $m in cmd/*) out=$(try "$m") ;; *) out=$(use "$m") ;; esac
    printf 'works: %-40s %s\n' "$(path "$m")" "$out"
  done
  out=$(program "${all[@]}")
  echo "works: a program with all of them: $out"

  cd "$tmp/clone"
  git ls-files '*.go' | xargs sed -i.bak -E "s#\"$root/internal/[^/\"]+#&_renamed#"
  for d in internal/*/; do mv "$d" "${d%/}_renamed"; done
  version=v0.1.1$time
  git tag "$version" "$(snapshot)"
  out=$(program "${integrations[@]}" "$root@$version")
  echo "works: the integrations with a newer root: $out"
}

# compatible fails if a library breaks its API, but the version does not allow that: before v1
# a break needs a new minor version, from then on a new major one.
compatible() { # LAST
  local m broken path
  case $version:$1 in
  v0.*:v0.*) [ "${version%.*}" = "${1%.*}" ] || return 0 ;;
  v1.*:v1.*) ;;
  *) return 0 ;;
  esac
  (cd "$tools" && go build -o "$tmp/apidiff" golang.org/x/exp/cmd/apidiff)
  copy "$1" "$tmp/last"
  for m in $(cd "$tmp/last" && released | grep -v '^cmd/'); do
    [ -f "$m/go.mod" ] || continue
    path=$(path "$m")
    (cd "$tmp/last/$m" && "$tmp/apidiff" -m -w "$tmp/was" "$path")
    (cd "$m" && "$tmp/apidiff" -m -w "$tmp/is" "$path")
    broken=$("$tmp/apidiff" -m -incompatible "$tmp/was" "$tmp/is")
    [ -z "$broken" ] || fail "$path breaks the API of $1, so $version is not enough: $broken"
  done
}

prepare() {
  local last entries m tags=
  [[ $version =~ ^v[01](\.(0|[1-9][0-9]*)){2}$ ]] || fail "version '$version': want v0.Y.Z or v1.Y.Z"
  [ -z "$(git status --porcelain)" ] || fail "the work tree has changes that are not committed: $(git status --porcelain)"
  last=$(git tag --list 'v*' | sort -V | tail -n 1)
  [ "$last" != "$version" ] && [ "$(printf '%s\n' "$last" "$version" | sort -V | tail -n 1)" = "$version" ] ||
    fail "version $version is not after the last one, $last"
  ! grep -qF "## [${version#v}]" CHANGELOG.md || fail "CHANGELOG.md has a section [${version#v}] already"
  entries=$(awk '/^## /{inside = ($0 == "## [Unreleased]")} inside' CHANGELOG.md)
  grep -q '^- ' <<<"$entries" || fail "CHANGELOG.md: [Unreleased] has no entry"
  ! grep -iwE 'TODO|TBD|FIXME|XXX' <<<"$entries" || fail "CHANGELOG.md: [Unreleased] is unfinished"
  [ -z "$last" ] || compatible "$last"
  require
  awk -v new="## [${version#v}] - $(date -u +%F)" '{print} $0 == "## [Unreleased]" {print "\n" new}' CHANGELOG.md >"$tmp/changelog"
  cat "$tmp/changelog" >CHANGELOG.md
  git commit --quiet --all --message "release $version"
  for m in $(released); do
    git tag --annotate --message "$(path "$m") $version" "$(tag "$m")"
    tags+=" $(tag "$m")"
  done
  printf '%s is committed and tagged, not pushed. To publish it:\n\n    git push --atomic origin HEAD%s\n' "$version" "$tags"
}

trap 'rm -rf "$tmp"' EXIT
case ${1-} in
tidy | rehearse) "$1" ;;
prepare) version=${2-} && prepare ;;
*) fail "usage: release.sh tidy | rehearse | prepare VERSION" ;;
esac
