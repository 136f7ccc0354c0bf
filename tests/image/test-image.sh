#!/bin/bash
# The root of the container image: the same bytes twice, small, without a shell, with a bill of materials that
# names what is in it; then attnd serves from it, read-only, as a user without rights. Needs root; where
# namespaces are forbidden it says so, and takes a plain chroot that can be written.
# usage: tests/image/test-image.sh BUILD       (from the repository's root)
set -euo pipefail

build=$(realpath "$1")
work=$build/image
root=$work/root
port=18093
daemon=

say() {
    printf 'test-image: %3d s  %s\n' "$SECONDS" "$1"
}

fail() {
    printf 'test-image: %s\n' "$1" >&2
    [ ! -s "$work/log" ] || tail -n 20 "$work/log" >&2
    exit 1
}

# attnd itself, which unshare waits for; nothing if it does not run.
attnd_process() {
    pgrep -f "^/usr/local/bin/attnd --listen 127.0.0.1:$port " || true
}

# shellcheck disable=SC2046  # no process, or one
finish() {
    [ -z "$daemon" ] || kill -KILL $(attnd_process) 2>/dev/null || true
    rm -rf --one-file-system "$root" "$work/again" "$work/bare" "$work/stream"
}
trap finish EXIT

packed() {
    tar -C "$1" --sort=name --numeric-owner --owner=0 --group=0 -cf - .
}

compressed() {
    packed "$1" | gzip -9n | wc -c
}

two_builds_are_the_same_bytes() {
    deploy/image/root.sh "$build" "$root"
    deploy/image/root.sh "$build" "$work/again"
    [ "$(packed "$root" | sha256sum)" = "$(packed "$work/again" | sha256sum)" ] ||
        fail 'two roots of one build differ'
    say 'two roots are the same bytes'
}

it_is_small() {
    local bytes bare
    deploy/image/root.sh "$build" "$work/bare" --without-backends
    bytes=$(compressed "$root") bare=$(compressed "$work/bare")
    [ "$bytes" -le 60000000 ] || fail "the image has $bytes bytes, more than 60 MB"
    [ "$bare" -lt "$bytes" ] || fail 'without backends it is no smaller'
    say "$bytes bytes compressed, without the optional backends $bare; models beside them"
}

# Only if librdkafka was installed when the programs were built.
stream_is_there_if_asked_for() {
    [ -x "$build/attnd-stream" ] || { say 'SKIPPED: attnd-stream was not built'; return; }
    [ ! -e "$root/usr/local/bin/attnd-stream" ] || fail 'attnd-stream is there, and nobody asked for it'
    deploy/image/root.sh "$build" "$work/stream" --with-stream
    chroot "$work/stream" /usr/local/bin/attnd-stream --version >"$work/log" 2>&1 || fail 'attnd-stream does not start'
    say "with attnd-stream $(compressed "$work/stream")"
}

nothing_else_can_be_run() {
    local file
    while read -r file; do
        case ${file#"$root"} in
        /usr/local/bin/attnd*) ;;
        *.so | *.so.*) ;;
        *) fail "${file#"$root"} can be run" ;;
        esac
    done < <(find "$root" -type f -perm /111)
    [ -z "$(find "$root" -perm /6000 -type f)" ] || fail 'a file changes the user'
    say 'there is no shell, and nothing to run but attnd'
}

can_unshare() {
    unshare --mount --pid --fork true 2>/dev/null
}

# enter COMMAND...: in the root, read-only, as a user without rights, with the models and what a container
# runtime mounts.
enter() {
    if can_unshare; then
        # shellcheck disable=SC2016  # for the shell outside of the root, whose $0 that is
        unshare --mount --pid --fork --kill-child sh -ec 'mount --bind "$0" "$0"
            mount --bind models "$0/models"
            mount -t proc proc "$0/proc"
            mount -t tmpfs tmpfs "$0/dev"
            for device in null urandom; do
                touch "$0/dev/$device"
                mount --bind "/dev/$device" "$0/dev/$device"
            done
            mount -o remount,bind,ro "$0"
            exec setpriv --no-new-privs chroot --userspec=65532:65532 "$0" "$@"' "$root" "$@"
    else
        chroot --userspec=65532:65532 "$root" "$@"
    fi
}

every_program_starts() {
    local program
    for program in "$root"/usr/local/bin/*; do
        enter "/usr/local/bin/${program##*/}" --version >"$work/log" 2>&1 ||
            fail "${program##*/} does not start"
    done
    say 'every program starts'
}

await_ready() {
    for _ in {1..1800}; do
        kill -0 "$daemon" 2>/dev/null || fail 'attnd has ended'
        ! curl -sf -o /dev/null "http://127.0.0.1:$port/readyz" || return 0
        sleep 0.1
    done
    fail 'attnd is not ready after three minutes'
}

# post FILE TYPE LABEL
post() {
    curl -sf -H "Content-Type: $2" --data-binary "@$1" "http://127.0.0.1:$port/predict" >"$work/answer" ||
        fail "$1 has no answer"
    grep -q "\"label\":\"$3\"" "$work/answer" || fail "$1 is no $3: $(cat "$work/answer")"
}

# Text in a character set of glibc's modules, which are files of the root.
character_sets_are_there() {
    local charset
    for charset in iso-8859-15 windows-1252 utf-16 shift_jis gb18030 big5 euc-kr; do
        iconv -f utf-8 -t "$charset" server/ui/samples/test_floor.txt >"$work/text"
        post "$work/text" "text/plain; charset=$charset" leakage
    done
    say 'texts in seven character sets are answered'
}

# serves_with BACKEND
serves_with() {
    enter /usr/local/bin/attnd --listen "127.0.0.1:$port" --linear-backend "$1" --model wafer-vit=/models/wafer-vit \
        --model testlog-bert=/models/testlog-bert >"$work/log" 2>&1 &
    daemon=$!
    await_ready
    post tests/data/examples/wafer_map.png image/png Scratch
    post server/ui/samples/test_floor.txt text/plain leakage
    ATTND_LISTEN=127.0.0.1:$port enter /usr/local/bin/attnd-healthcheck || fail 'the health check refuses it'
    [ "$1" != auto ] || character_sets_are_there
    stop
    say "attnd serves and stops ($1)"
}

stop() {
    kill -TERM "$(attnd_process)"
    wait "$daemon" || fail "attnd ended with status $?"
    daemon=
}

[ "$(id -u)" -eq 0 ] || fail 'only root can enter a root'
can_unshare || say 'namespaces are forbidden here: a chroot that can be written'
mkdir -p "$work"
rm -rf --one-file-system "$root" "$work/again" "$work/bare" "$work/stream"
two_builds_are_the_same_bytes
it_is_small
stream_is_there_if_asked_for
nothing_else_can_be_run
python3 tests/image/test_sbom.py "$root"
node tests/image/validate.mjs "$root/usr/share/doc/attnd/sbom.cdx.json"
mkdir "$root/models"
can_unshare || cp -r models/wafer-vit models/testlog-bert "$root/models/"
every_program_starts
for backend in auto openblas native; do
    serves_with "$backend"
done
say 'passed'
