#!/bin/sh
# Installs the packages of Debian 12 or 13 that are missing, and only those.
# usage: deploy/install-deps.sh WHAT
#   build    to compile; build-stream: attnd-stream, too
#   test     to compile and test
#   docs, browser, openapi, image, operate, haproxy, kubernetes, stream, trace, fuzz
#            for make test-WHAT, and make fuzz; what comes from npm or as modules in Go comes with the target
#   deb      for the Debian package
#   package  for the Debian package, the bundle and their test
#   roots    for the tests in bare systems (tests/roots)
#   run      to run programs built elsewhere
set -eu

complain() {
    printf 'install-deps: %s\n' "$1" >&2
    exit "${2:-1}"
}

# Names differ between releases: of A|B it is the first that apt offers.
run='libmicrohttpd12t64|libmicrohttpd12 libgnutls30t64|libgnutls30 libjansson4 libb64-0d libopenblas0-pthread
     libpng16-16t64|libpng16-16 libjpeg62-turbo libnettle8t64|libnettle8'
build='gcc libc6-dev make pkg-config libmicrohttpd-dev libgnutls28-dev libjansson-dev libb64-dev
       libopenblas-pthread-dev libpng-dev libjpeg62-turbo-dev nettle-dev'
# What attnd-stream is linked with, and no other program.
stream=librdkafka-dev
# Node and npm also come from elsewhere than Debian, and Debian's would then be in the way.
node=
command -v node >/dev/null 2>&1 || node="$node nodejs"
command -v npm >/dev/null 2>&1 || node="$node npm"
# So does Go.
go=
command -v go >/dev/null 2>&1 || go=golang-go
# The clients of clients/ need node without npm, and for C# a compiler and these libraries.
js=
command -v node >/dev/null 2>&1 || js=nodejs
mono='mono-mcs mono-runtime libmono-btls-interface4.0-cil libmono-system-net-http4.0-cil
      libmono-system-runtime-serialization4.0-cil'
# Of clang the runtime holds libFuzzer and the sanitizers, llvm the symbolizer.
fuzz='clang libclang-rt-dev llvm'
deb='build-essential debhelper help2man lintian man-db'
case "${1:-}" in
build) wanted=$build ;;
build-stream) wanted="$build $stream" ;;
test) wanted="$build $stream check" ;;
docs) wanted="$build $stream $mono $js curl gzip openssl python3" ;;
browser) wanted="$build $node chromium curl" ;;
openapi) wanted="$build $node" ;;
image) wanted="$build $run $node binutils curl python3" ;;
operate) wanted="$build prometheus prometheus-alertmanager python3" ;;
haproxy) wanted="$build haproxy openssl python3" ;;
stream) wanted="$build $stream kcat maven default-jre-headless openssl python3" ;;
kubernetes | trace) wanted="$build $go" ;;
kube-apiserver) wanted="$build $go etcd-server" ;;
fuzz) wanted="$build $fuzz" ;;
deb) wanted="$build $stream $deb" ;;
package) wanted="$build $stream $deb debootstrap iproute2 systemd systemd-container" ;;
roots) wanted=mmdebstrap ;;
run) wanted=$run ;;
*) complain 'usage: install-deps.sh build|build-stream|test|docs|browser|openapi|image|operate|haproxy|kubernetes|kube-apiserver|stream|trace|fuzz|deb|package|roots|run' 2 ;;
esac

command -v dpkg-query >/dev/null 2>&1 ||
    complain "this is not Debian; install the equivalents of: $wanted"

installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

offered() {
    [ -n "$(apt-cache show --no-all-versions "$1" 2>/dev/null)" ]
}

# first TEST NAMES: of A|B the first of which TEST is true.
first() {
    for name in $(printf '%s' "$2" | tr '|' ' '); do
        ! "$1" "$name" || { echo "$name"; return; }
    done
    return 1
}

missing=
for names in $wanted; do
    first installed "$names" >/dev/null || missing="$missing $names"
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null 2>&1 ||
        complain "neither root nor sudo; ask an administrator for: apt-get install$missing"
    as_root='sudo'
fi

# apt's output is shown only if it fails.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
quietly() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@" \
        >"$log" 2>&1 </dev/null && return
    cat "$log" >&2
    complain "apt-get $1 failed; missing:$missing"
}
printf 'install-deps: installing%s\n' "$missing" >&2
# sudo may ask for its password here, while it still has a terminal.
[ -z "$as_root" ] || sudo true || complain "sudo was refused; missing:$missing"
quietly update
packages=
for names in $wanted; do
    first installed "$names" >/dev/null && continue
    name=$(first offered "$names") ||
        complain "apt offers no $names; its sources are to be those of Debian 12 or 13"
    packages="$packages $name"
done
# shellcheck disable=SC2086  # a list of words
quietly install -y --no-install-recommends $packages
