#!/bin/sh
# Runs the given test programs, as many at once as there are processors (TEST_JOBS: so many), and
# prints one line a program as it ends, with its seconds, the output of those that fail, and which of
# their tests were skipped and why: the lines "skipped: TEST: WHY" of tests/support/suite.h.
# TEST_SECONDS=N: no program starts later than N seconds after the first; the last lines say how many did not.
# usage: tests/run-units.sh PROGRAM...    (from the repository's root)
set -u
if [ "${1-}" = --one ]; then
    results=$2 program=$3
    log=$results/$(printf '%s' "$program" | tr '/' '_')
    began=$(date +%s)
    if [ "${TEST_SECONDS:-0}" -gt 0 ] && [ "$began" -ge $((TEST_BEGAN + TEST_SECONDS)) ]; then
        echo late >"$log.result"
        exit 0
    fi
    if "$program" >"$log" 2>&1; then
        printf 'ok    %s  %s  %d s\n' "${program#*/tests/}" "$(tail -n 1 "$log")" \
            $(($(date +%s) - began)) >"$log.told"
        echo ok >"$log.result"
    else
        { printf 'FAIL  %s\n' "${program#*/tests/}"; cat "$log"; } >"$log.told"
        echo FAIL >"$log.result"
    fi
    sed -n 's/^skipped: /  skipped  /p' "$log" | sort -u >"$log.skipped"
    exec flock "$results" cat "$log.told" "$log.skipped"
fi

TEST_BEGAN=$(date +%s)
export TEST_BEGAN
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
printf '%s\n' "$@" | xargs -P "${TEST_JOBS:-$(nproc)}" -I '{}' sh "$0" --one "$results" '{}'
count() { find "$results" -name "*.$1" -exec cat '{}' + | grep -c "$2"; }
passed=$(count result ok)
failed=$(count result FAIL)
late=$(count result late)
[ "$late" -eq 0 ] ||
    printf 'not run: %d of %d programs: %d s had passed (TEST_SECONDS)\n' "$late" $# "$TEST_SECONDS"
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$(count skipped .)"
[ "$failed" -eq 0 ] && [ $((passed + late)) -eq $# ] && [ "$passed" -gt 0 ]
