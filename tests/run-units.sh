#!/bin/sh
# Runs each given test program; prints one line a program and the output of those that fail.
# usage: tests/run-units.sh PROGRAM...    (from the repository's root)
set -u
passed=0
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for program in "$@"; do
    if "$program" >"$log" 2>&1; then
        passed=$((passed + 1))
        printf 'ok    %s  %s\n' "${program#*/tests/}" "$(tail -n 1 "$log")"
    else
        failed=$((failed + 1))
        printf 'FAIL  %s\n' "${program#*/tests/}"
        cat "$log"
    fi
done
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
