#!/bin/sh
# Stops a loaded attnd by SIGTERM, ROUNDS times: no accepted request may be lost and the exit code is
# 0. Requests that never reached the server (refused, unsent) are not counted as lost.
# usage: loadtest/sigterm.sh [BUILD [ROUNDS]]    (from the repository's root)
set -u
build=${1:-build}
rounds=${2:-20}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
for round in $(seq "$rounds"); do
    rm -f "$work/ready"
    "$build/attnd" --listen 127.0.0.1:0 --model wafer-vit=models/wafer-vit \
        --model kernel-bert=models/kernel-bert >"$work/ready" 2>"$work/log" &
    server=$!
    for _ in $(seq 100); do
        [ -s "$work/ready" ] && break
        sleep 0.05
    done
    url=$(sed 's/.*\(http[^ ]*\).*/\1/' "$work/ready")/predict
    "$build/attnd-load" --url "$url" --connections 32 --duration 2 --quiet --accept refused \
        --accept unsent --image tests/data/examples/wafer_map.png \
        --text-file tests/data/examples/kernel_report.txt >"$work/load" &
    load=$!
    sleep "0.$((round % 5 + 4))"
    kill -TERM "$server"
    wait "$server"
    code=$?
    wait "$load"
    verdict=$?
    answered=$(sed -n 's/^  ok  *\([0-9]*\).*/\1/p' "$work/load")
    printf 'round %2d: exit code %d, %s answered, load %s\n' "$round" "$code" "$answered" \
        "$([ "$verdict" -eq 0 ] && echo "lost nothing" || echo "LOST REQUESTS")"
    if [ "$code" -ne 0 ] || [ "$verdict" -ne 0 ]; then
        failed=$((failed + 1))
        cat "$work/load"
        tail -n 3 "$work/log"
    fi
done
printf '%d of %d rounds lost a request or ended badly\n' "$failed" "$rounds"
[ "$failed" -eq 0 ]
