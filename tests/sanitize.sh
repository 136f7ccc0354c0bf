#!/usr/bin/env bash
# Builds the unit tests with a sanitizer, in a build folder of its own, and runs them: memory and
# undefined behaviour (`address`, build-asan) or races (`thread`, build-tsan, of the tests with threads).
# SINCE=COMMIT: only in the folders of tests that include what has changed since, and in one more
# (tests/rooms.sh). MOST=N: at most N of them, drawn by the last commit, so that other commits draw others;
# and none starts after 8 minutes, so that a slow machine is not at its limit of time for all stages.
# usage: tests/sanitize.sh address|thread
set -euo pipefail
cd "$(dirname "$0")/.."
kind=${1:?address or thread}
jobs=$(nproc)

# The sanitizers of gcc 12 do not know the wider address randomisation of newer kernels and stop
# now and then at start; without randomisation they run everywhere. Some containers forbid that.
plain=()
if setarch "$(uname -m)" -R true 2>/dev/null; then
    plain=(setarch "$(uname -m)" -R)
fi

# Here memory and races are judged. Some tests take most of their minute when every access is watched.
export CK_TIMEOUT_MULTIPLIER=5

# Prints the tests' names of standard input that are in the folders of SINCE. All names pass if a file that
# judges or builds all tests has changed.
wanted() {
    if [ -z "${SINCE:-}" ] || ! git diff --quiet "$SINCE" -- Makefile tests/sanitize.sh tests/lsan.supp; then
        cat
    else
        awk 'NR == FNR { room[$0]; next }
             { folder = $0; if (!sub("/[^/]*$", "", folder)) folder = "." }
             folder in room' <(tests/rooms.sh "$SINCE") -
    fi
}

# Draws MOST of the names on standard input by the last commit.
drawn() {
    if [ "${MOST:-0}" -eq 0 ]; then
        cat
    else
        shuf -n "$MOST" --random-source=<(yes "$(git rev-parse HEAD)")
    fi
}

# run BUILD: the tests on standard input, built in this folder with the flags of `built`.
run() {
    local programs
    mapfile -t programs < <(wanted | drawn | sed "s|^|$1/tests/|")
    ((${#programs[@]} > 0)) || return 0
    make -s -j"$jobs" BUILD="$1" OPT='-O1 -g' SANITIZE="$built" all "${programs[@]}"
    TEST_SECONDS=$((${MOST:-0} > 0 ? 480 : 0)) "${plain[@]}" sh tests/run-units.sh "${programs[@]}"
}

# Tests that ask for impossible amounts of memory must see NULL, as they would from malloc.
address() {
    built='-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer'
    export ASAN_OPTIONS="allocator_may_return_null=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
    export LSAN_OPTIONS="suppressions=$PWD/tests/lsan.supp:print_suppressions=0${LSAN_OPTIONS:+:$LSAN_OPTIONS}"
    make -s list-tests | run build-asan
}

# OpenBLAS is not instrumented: the hand-over between threads of its own pool looks like a race with
# whoever reads the product. One thread, as the programs set it, leaves only our threads to judge;
# the server's tests take the reference product. test_doc_load and test_metrics_process put calls of
# their own before the C library's, which this sanitizer does as well.
thread() {
    built='-fsanitize=thread'
    export ATTND_TEST_BACKEND=reference OPENBLAS_NUM_THREADS=1
    export TSAN_OPTIONS="halt_on_error=1:allocator_may_return_null=1${TSAN_OPTIONS:+:$TSAN_OPTIONS}"
    {
        find tests/unit/server -name 'test_*.c'
        grep -rlE --include='test_*.c' 'pthread|thread_' tests/unit || true
    } | grep -vE '/test_(doc_load|metrics_process).c$' | sed 's|^tests/unit/||; s|\.c$||' | sort -u |
        run build-tsan
}

"$kind"
