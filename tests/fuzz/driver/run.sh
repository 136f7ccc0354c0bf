#!/bin/sh
# Runs libFuzzer's targets one after another and prints a table; exits 1 if there was a finding.
# usage: tests/fuzz/driver/run.sh BUILD SECONDS [TARGET...]    (from the repository's root)
# Each target has an equal share of the time. What it learns stays in BUILD/corpus/TARGET; a finding
# is kept in BUILD/findings. FUZZ_RUNS bounds the executions of each target too.
set -u
build=$1
seconds=$2
shift 2
if [ $# -eq 0 ]; then
    for source in tests/fuzz/*.c; do
        name=${source##*/}
        set -- "$@" "${name%.c}"
    done
fi
share=$((seconds / $#))
[ "$share" -gt 0 ] || share=1
mkdir -p "$build/findings" "$build/logs"

# Freed memory is kept for less long, and only where it was taken is noted: twice the executions. A
# finding is replayed with all of it.
export ASAN_OPTIONS="quarantine_size_mb=8:malloc_context_size=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}"

# The number after a word in libFuzzer's output: the last one.
figure() {
    sed -n "s/.*$1 *\([0-9][0-9]*\).*/\1/p" "$2" | tail -n 1
}

run_target() {
    target=$1
    corpus=$build/corpus/$target
    log=$build/logs/$target.log
    mkdir -p "$corpus"
    set -- -max_total_time="$share" -print_final_stats=1 -timeout=10 -rss_limit_mb=2048 \
        -artifact_prefix="$build/findings/$target-"
    [ -z "${FUZZ_RUNS:-}" ] || set -- "$@" -runs="$FUZZ_RUNS"
    [ ! -f "tests/fuzz/$target.dict" ] || set -- "$@" -dict="tests/fuzz/$target.dict"
    folders=
    while read -r word; do
        case $word in
        -*) set -- "$@" "$word" ;;
        *) folders="$folders $word" ;;
        esac
    done <<OPTIONS
$(cat "tests/fuzz/$target.options" 2>/dev/null)
OPTIONS
    # shellcheck disable=SC2086  # a list of words
    "$build/fuzz/$target" "$@" "$corpus" "tests/fuzz/corpus/$target" $folders >"$log" 2>&1
    status=$?
    runs=$(figure 'stat::number_of_executed_units:' "$log")
    loaded=$(figure 'INITED.* corp:' "$log")
    kept=$(figure ' corp:' "$log")
    edges=$(figure ' cov:' "$log")
    found=$(sed -n 's/.*Test unit written to \(.*\)/\1/p' "$log")
    if [ "$status" -eq 0 ]; then
        result=none
    else
        result="${found:-exit $status, see $log}"
        failed=1
    fi
    printf '%-18s %12s %9s %9s %9s  %s\n' "$target" "${runs:--}" "${loaded:--}" "${kept:--}" \
        "${edges:--}" "$result"
    [ -z "$found" ] || printf '    replay: %s\n' "$build/fuzz/$target $found"
}

failed=0
printf '%-18s %12s %9s %9s %9s  %s\n' target executions 'corpus in' 'corpus out' edges findings
for target; do
    run_target "$target"
done
exit "$failed"
