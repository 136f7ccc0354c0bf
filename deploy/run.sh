#!/bin/sh
# Installs what is missing, builds, and serves the shipped models on 127.0.0.1:8080.
# usage: [LISTEN=ADDR:PORT] deploy/run.sh       (from any directory)
set -eu
cd "$(dirname "$0")/.."
deploy/install-deps.sh build
make -s -j"$(nproc)"
exec make -s run
