#!/bin/sh
# Installs what is missing, builds, and serves the shipped models on 127.0.0.1:8080.
# usage: [LISTEN=ADDR:PORT] deploy/run.sh [OPTION]...       (from any directory)
# The OPTIONs are attnd's own. Its process is this one, so a SIGTERM here stops it with status 0.
set -eu
cd "$(dirname "$0")/.."

# "building: 120 of 276 files", which overwrites itself on a terminal.
watch_build() {
    while sleep 1; do
        printf '\rattnd: building: %d of %d files' \
            "$(find build/obj -name '*.o' -newer build/.begun | wc -l)" "$1" >&2
    done
}

build() {
    files=$(make -n | grep -c -- ' -c ' || true)
    if [ "$files" -gt 0 ]; then
        echo "attnd: building $files files, about $((files / 8 / $(nproc) + 2)) s" >&2
    fi
    mkdir -p build
    touch build/.begun
    watcher=
    if [ -t 2 ] && [ "$files" -gt 0 ]; then
        watch_build "$files" &
        watcher=$!
    fi
    status=0
    make -s -j"$(nproc)" || status=$?
    if [ -n "$watcher" ]; then
        kill "$watcher"
        printf '\r\033[K' >&2
    fi
    return "$status"
}

echo 'attnd: looking for missing packages' >&2
deploy/install-deps.sh build
build
exec build/attnd --listen "${LISTEN:-127.0.0.1:8080}" --model wafer-vit=models/wafer-vit \
    --model testlog-bert=models/testlog-bert --model kernel-bert=models/kernel-bert "$@"
