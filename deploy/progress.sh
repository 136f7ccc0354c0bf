#!/bin/sh
# Runs a command that compiles, and shows how far it has come, and how long the rest takes at the pace
# so far: "building: 120 of 276 files, about 40 s left". The line overwrites itself on a terminal, and
# is one for each tenth elsewhere.
# usage: deploy/progress.sh TREE TARGETS COMMAND...    (TARGETS of TREE's Makefile, one word; BUILD: build)
set -eu
tree=$1 targets=$2
shift 2
objects=$tree/${BUILD:-build}/obj
# shellcheck disable=SC2086  # a list of words
files=$(make -n -C "$tree" ${BUILD:+"BUILD=$BUILD"} $targets 2>/dev/null | grep -c -- ' -c [^ ]*\.c -o ') || true

watch_files() {
    told=0
    while sleep 1 && kill -0 $$ 2>/dev/null; do
        built=$(find "$objects" -name '*.o' -newer "$began" 2>/dev/null | wc -l)
        left=
        [ "$built" -eq 0 ] || [ "$built" -ge "$files" ] ||
            left=", about $((($(date +%s) - start) * (files - built) / built)) s left"
        if [ -t 2 ]; then
            printf '\r\033[Kattnd: building: %d of %d files%s' "$built" "$files" "$left" >&2
        elif [ $((10 * (built - told))) -ge "$files" ]; then
            printf 'attnd: building: %d of %d files%s\n' "$built" "$files" "$left" >&2
            told=$built
        fi
    done
}

[ "$files" -gt 0 ] || exec "$@"
printf 'attnd: building %d files\n' "$files" >&2
start=$(date +%s)
began=$(mktemp) # not below the objects, which a package's build removes first
touch -d '1 second ago' "$began" # a file made in the same tick of the clock is not newer
trap 'rm -f "$began"' EXIT
watch_files &
watcher=$!
status=0
"$@" || status=$?
kill "$watcher"
[ ! -t 2 ] || printf '\r\033[K' >&2
exit "$status"
