#!/bin/sh
# Normal clients under a connection flood: the same load alone and then beside idle connections,
# slow senders and slow readers. Every normal request must be answered as expected, and their p99
# may at most double. Needs Debian's slowhttptest and python3; takes about two minutes.
# usage: loadtest/crowd.sh [BUILD [IDLE [SLOW]]]    (from the repository's root)
set -u
build=${1:-build}
idle=${2:-10000}
slow=${3:-1000}
seconds=30
work=$(mktemp -d)
pids=
# shellcheck disable=SC2086  # a list of ids
trap 'kill $pids 2>/dev/null; rm -rf "$work"' EXIT
ulimit -n "$(ulimit -Hn)"

"$build/attnd" --listen 127.0.0.1:0 --connections-max 16384 --model wafer-vit=models/wafer-vit \
    --model kernel-bert=models/kernel-bert >"$work/ready" 2>"$work/log" &
server=$!
pids=$server
for _ in $(seq 200); do
    [ -s "$work/ready" ] && break
    sleep 0.05
done
port=$(sed 's/.*:\([0-9]*\) .*/\1/' "$work/ready")
url=http://127.0.0.1:$port

resident() {
    awk '/^VmHWM/ {peak = $2} /^VmRSS/ {now = $2} END {printf "%d MB, peak %d MB", now / 1024, peak / 1024}' \
        "/proc/$server/status"
}

honest() {
    "$build/attnd-load" --url "$url/predict" --connections 32 --duration "$1" --quiet --json \
        --image tests/data/examples/wafer_map.png \
        --text-file tests/data/examples/kernel_report.txt >"$work/load.json"
    python3 - "$work/load.json" "$2" <<'PYTHON'
import json, sys
run = json.load(open(sys.argv[1]))
print("%-14s %6d requests, %d not as expected, p50 %.1f ms, p99 %.1f ms, %.1f ok/s" %
      (sys.argv[2], run["requests"], run["unaccepted"], run["latency_ms"]["p50"],
       run["latency_ms"]["p99"], run["goodput_per_s"]))
for example in run["examples"]:
    print("  " + example)
PYTHON
}

honest 5 'warm-up'
printf 'resident: %s\n' "$(resident)"
honest "$seconds" 'alone'
cp "$work/load.json" "$work/alone.json"

python3 loadtest/idle.py "$port" "$idle" "$((seconds + 60))" >"$work/idle" &
pids="$pids $!"
for _ in $(seq 600); do
    [ -s "$work/idle" ] && break
    sleep 0.1
done
slowhttptest -B -c "$slow" -r 500 -i 2 -l "$((seconds + 20))" -s 100000 -x 20 -p 60 -v 0 \
    -t POST -f text/plain -u "$url/predict" >"$work/senders" 2>&1 &
pids="$pids $!"
slowhttptest -X -c "$slow" -r 500 -n 2 -w 16 -y 64 -z 16 -k 3 -l "$((seconds + 20))" -p 60 -v 0 \
    -u "$url/metrics" >"$work/readers" 2>&1 &
pids="$pids $!"
sleep 6
cat "$work/idle"
printf 'descriptors open: %s\n' "$(ls "/proc/$server/fd" | wc -l)"
honest "$seconds" 'in the crowd'
printf 'descriptors open: %s\n' "$(ls "/proc/$server/fd" | wc -l)"
printf 'resident: %s\n' "$(resident)"

python3 - "$work/alone.json" "$work/load.json" <<'PYTHON'
import json, sys
alone, crowd = (json.load(open(name)) for name in sys.argv[1:])
ratio = crowd["latency_ms"]["p99"] / alone["latency_ms"]["p99"]
failed = crowd["unaccepted"] + alone["unaccepted"]
print("p99 %.2f times that of the load alone, %d failed" % (ratio, failed))
sys.exit(0 if failed == 0 and ratio <= 2 else 1)
PYTHON
verdict=$?
# shellcheck disable=SC2086  # a list of ids
kill ${pids#"$server"} 2>/dev/null
kill -TERM "$server"
wait "$server"
printf 'exit code %d\n' "$?"
exit "$verdict"
