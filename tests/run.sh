#!/bin/sh
# Installs what is missing, builds, and runs every unit test.
# usage: tests/run.sh       (from any directory)
set -eu
cd "$(dirname "$0")/.."
deploy/install-deps.sh test
export WERROR=-Werror
deploy/progress.sh . 'all tests' make -s -j"$(nproc)" all tests
exec make -s test
