#!/bin/bash
# Steps in a bare root (test-root.sh), with the sources in /src.
# usage: in-root.sh STEP...
#   serve     deploy/run.sh until it has answered an image and a text over loopback, then SIGTERM
#   tests     tests/run.sh
#   sockets   of the tests all over sockets (server/), and one in eight of the others, drawn by the commit
#   package   the Debian package is built, judged and installed, and answers
set -euo pipefail
cd /src
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true' EXIT

say() {
    printf 'roots: %s        %s\n' "$release" "$1"
}

fail() {
    printf 'roots: %s: %s\n' "$release" "$1" >&2
    exit 1
}

# post PORT FILE TYPE LABEL: the file's answer has the label. A bare system has no curl.
post() {
    local answer
    exec 3<>"/dev/tcp/127.0.0.1/$1"
    printf 'POST /predict HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n' \
        "$3" "$(stat -c %s "$2")" >&3
    cat "$2" >&3
    answer=$(tr -d '\0' <&3)
    exec 3>&-
    grep -q "\"label\":\"$4\"" <<<"$answer" || fail "$2 is no $4: $answer"
}

# answers LOG: the server that writes to it has begun, answers, and ends at a SIGTERM with status 0.
answers() {
    local port=
    until port=$(sed -n 's/.*listening on http:.*:\([0-9]*\) .*/\1/p' "$1" 2>/dev/null) && [ -n "$port" ]; do
        kill -0 "$server" 2>/dev/null || { cat "$1"; fail 'it ended before it listened'; }
        ((SECONDS < 3600)) || fail 'it does not listen after an hour'
        sleep 0.2
    done
    post "$port" tests/data/examples/wafer_map.png image/png Scratch
    post "$port" server/ui/samples/test_floor.txt text/plain leakage
    kill -TERM "$server"
    wait "$server" || fail "it ended with status $?"
    server=
}

serve() {
    LISTEN=127.0.0.1:0 sh deploy/run.sh >/tmp/serve.log 2>&1 &
    server=$!
    answers /tmp/serve.log
    say "deploy/run.sh: $SECONDS s to two predictions and the end"
}

# run_tests COMMAND...: its last line counts them.
run_tests() {
    "$@" >/tmp/tests.log 2>&1 || {
        sed -n '/^FAIL/,/^ok /p' /tmp/tests.log | head -n 100 || true # head ends the pipe
        tail -n 3 /tmp/tests.log
        fail "$1 failed"
    }
    grep '^  skipped' /tmp/tests.log || true
    say "$(tail -n 1 /tmp/tests.log), $SECONDS s"
}

tests() {
    run_tests sh tests/run.sh
}

# drawn: of the names on standard input those of this commit's share.
drawn() {
    local name commit
    commit=$(cat /commit)
    while read -r name; do
        if (($(cksum <<<"$commit $name" | cut -d ' ' -f 1) % 8 == 0)); then
            echo "$name"
        fi
    done
}

compile_and_run() {
    make -s -j"$(nproc)" all "$@"
    sh tests/run-units.sh "$@"
}

sockets() {
    local programs
    deploy/install-deps.sh test
    export WERROR=-Werror
    mapfile -t programs < <({
        make -s list-tests | grep '^server/'
        make -s list-tests | grep -v '^server/' | drawn
    } | sed 's:^:build/tests/:')
    run_tests compile_and_run "${programs[@]}"
}

package() {
    local version
    version=$(cat .version)
    deploy/install-deps.sh deb
    make -s deb
    lintian --allow-root --fail-on error,warning build/attnd{,-stream}_"$version"_amd64.deb ||
        fail 'lintian refuses a package'
    DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends \
        ./build/attnd{,-stream}_"$version"_amd64.deb >/tmp/install.log 2>&1 || {
        tail -n 20 /tmp/install.log
        fail 'the package does not install'
    }
    attnd-stream --version >/dev/null
    attnd --config /etc/attnd/attnd.json --listen 127.0.0.1:0 >/tmp/package.log 2>&1 &
    server=$!
    answers /tmp/package.log
    say "the package is installed, answers and ends, $SECONDS s"
}

for step; do
    SECONDS=0
    "$step"
done
