#!/bin/sh
# Runs go, of at least the version that go.mod names. From 1.21 on it fetches what it needs by itself; an
# older one, such as Debian 12's, is made to fetch that version as a module, checked against Go's sums.
# usage: tests/kubernetes/go.sh ARGUMENTS...
set -eu
wanted=$(sed -n 's/^go //p' "$(dirname "$0")/go.mod")
minor=$(go env GOVERSION | sed -n 's/^go1\.\([0-9]*\).*/\1/p')
[ "${minor:-0}" -lt 21 ] || exec go "$@"
module=golang.org/toolchain@v0.0.1-go$wanted.$(go env GOOS)-$(go env GOARCH)
(cd / && go mod download "$module")
root=$(go env GOMODCACHE)/$module
# Modules have no executable files.
[ -x "$root/bin/go" ] || chmod -R u+wx "$root/bin" "$root/pkg/tool"
GOTOOLCHAIN=local exec "$root/bin/go" "$@"
