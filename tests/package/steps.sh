# shellcheck shell=bash
# Steps of both in-root.sh and in-service.sh, which source it.
cd /test || exit

port=${ATTND_LISTEN:-127.0.0.1:8080}
port=${port##*:}
# shellcheck disable=SC2034  # in who sources this
bundle=$(echo attnd-*-debian12-amd64)

say() {
    printf '  %s\n' "$1"
}

fail() {
    printf '%s: %s\n' "${0##*/}" "$1" >&2
    [ ! -f attnd.log ] || cat attnd.log >&2
    exit 1
}

quietly() {
    "$@" >command.log 2>&1 || {
        cat command.log >&2
        fail "failed: $*"
    }
}

# Until attnd answers, or has ended: the arguments are the command that tells.
wait_ready() {
    for _ in {1..1800}; do
        "$@" || fail 'attnd has ended'
        ! attnd-healthcheck 2>/dev/null || return 0
        sleep 0.1
    done
    fail 'attnd is not ready after three minutes'
}

# post FILE TYPE LABEL: 200, and this label. There is no curl in a bare Debian; bash opens sockets.
post() {
    exec 3<>"/dev/tcp/127.0.0.1/$port"
    {
        printf 'POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n'
        printf 'Content-Type: %s\r\nContent-Length: %d\r\n\r\n' "$2" "$(stat -c %s "$1")"
        cat "$1"
    } >&3
    cat <&3 >answer
    exec 3>&-
    head -n 1 answer | grep -q '^HTTP/1.1 200 ' || fail "$1: $(cat answer)"
    grep -q "\"label\":\"$3\"" answer || fail "$1 is no $3: $(cat answer)"
}

image_and_text_are_answered() {
    post wafer_map.png image/png Scratch
    post test_floor.txt text/plain leakage
}
