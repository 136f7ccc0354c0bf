#!/bin/sh
# Installs what is missing, builds, and serves the shipped models on 127.0.0.1:8080.
# usage: [LISTEN=ADDR:PORT] deploy/run.sh [OPTION]...       (from any directory)
# The OPTIONs are attnd's own. Its process is this one, so a SIGTERM here stops it with status 0.
set -eu
cd "$(dirname "$0")/.."

echo 'attnd: looking for missing packages' >&2
deploy/install-deps.sh build
deploy/progress.sh . all make -s -j"$(nproc)"
exec "${BUILD:-build}/attnd" --listen "${LISTEN:-127.0.0.1:8080}" --model wafer-vit=models/wafer-vit \
    --model testlog-bert=models/testlog-bert --model kernel-bert=models/kernel-bert "$@"
