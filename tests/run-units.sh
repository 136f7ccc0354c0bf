#!/bin/sh
# Runs each given test program; prints one line a program, the output of those that fail, and which
# of their tests were skipped and why: the lines "skipped: TEST: WHY" of tests/support/suite.h.
# usage: tests/run-units.sh PROGRAM...    (from the repository's root)
set -u
passed=0
failed=0
skipped=0
log=$(mktemp)
trap 'rm -f "$log" "$log.skipped"' EXIT
for program in "$@"; do
    if "$program" >"$log" 2>&1; then
        passed=$((passed + 1))
        printf 'ok    %s  %s\n' "${program#*/tests/}" "$(tail -n 1 "$log")"
    else
        failed=$((failed + 1))
        printf 'FAIL  %s\n' "${program#*/tests/}"
        cat "$log"
    fi
    sed -n 's/^skipped: /  skipped  /p' "$log" | sort -u >"$log.skipped"
    cat "$log.skipped"
    skipped=$((skipped + $(wc -l <"$log.skipped")))
done
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ]
