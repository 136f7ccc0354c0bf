"""The rate of attnd-stream, beside attnd-batch over the same lines with the same model on the same cores.

    python3 tests/stream/rate.py --lines FILE [--build build] [--messages 50000] [--threads 2] [--rounds 3]

A broker on the same machine takes processors too, which a broker elsewhere would not: the rate of attnd-stream
is also told for the time that the broker left, wall time less its processor time shared by the cores. Rounds
alternate, and the median of their ratios counts."""

import argparse
import itertools
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

from run import PARTITIONS, ROOT, Member, Place, make_topics, wait_until

TICKS = os.sysconf("SC_CLK_TCK")
WARM = 5000  # messages before the clock starts


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def batch_rate(options, place, lines):
    path = place.work / "lines.txt"
    path.write_text("".join(line + "\n" for line in lines))
    out = place.work / "batch.jsonl"
    out.unlink(missing_ok=True)
    command = [place.build / "attnd-batch", "--model", options.model, "--dtype", options.dtype, "--lines", path,
               "--out", out, "--threads", str(options.threads)]
    start, used = time.monotonic(), os.times()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    seconds, after = time.monotonic() - start, os.times()
    cores = (after.children_user - used.children_user + after.children_system - used.children_system) / seconds
    return len(lines) / seconds, cores


def stream_rate(options, place, lines, name):
    """From the first verdicts, so that neither opening the model nor joining the group counts, to the last."""
    make_topics(place, name)
    place.broker.produce(name, [f"k{i}\t{line}" for i, line in enumerate(lines)])
    member = Member(place, "a", name, model=str(options.model), dtype=options.dtype, threads=options.threads,
                    **json.loads(options.config))
    wait_until("it answers", lambda: member.answered() >= WARM)
    start, first = time.monotonic(), member.answered()
    own, broker = processor_seconds(member.process.pid), processor_seconds(place.broker.process.pid)
    last = first
    while last < len(lines):
        time.sleep(0.02)
        last = member.answered()
    seconds = time.monotonic() - start
    own = processor_seconds(member.process.pid) - own
    broker = processor_seconds(place.broker.process.pid) - broker
    page = member.metrics()
    stages = {stage: page[f'attnd_stream_stage_seconds_total{{stage="{stage}"}}'] for stage in ("compute", "commit")}
    assert member.end() == 0
    return (last - first) / seconds, (last - first) / (seconds - broker / os.cpu_count()), own / seconds, stages


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--model", type=pathlib.Path, default=ROOT / "models/testlog-bert")
    parser.add_argument("--dtype", default="f32")
    parser.add_argument("--messages", type=int, default=50000)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--config", default="{}", help="further options of attnd-stream, a JSON object")
    options = parser.parse_args()
    texts = [line.replace("\t", " ") for line in options.lines.read_text(errors="replace").splitlines() if line.strip()]
    lines = list(itertools.islice(itertools.cycle(texts), options.messages))
    work = options.build.resolve() / "stream-rate"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    place = Place(options.build.resolve(), work)
    ratios = []
    try:
        for i in range(options.rounds):
            offline, cores = batch_rate(options, place, lines)
            plain, fair, own, stages = stream_rate(options, place, lines, f"rate{i}")
            ratios.append(fair / offline)
            print(f"attnd-batch {offline:.0f}/s on {cores:.2f} cores; attnd-stream {plain:.0f}/s on {own:.2f} cores, "
                  f"{fair:.0f}/s without the broker's time, {ratios[-1]:.3f} of attnd-batch; compute "
                  f"{stages['compute']:.1f} s, commit {stages['commit']:.1f} s", flush=True)
    finally:
        place.close()
    print(f"median {statistics.median(ratios):.3f} of attnd-batch, {options.messages} messages in {PARTITIONS} partitions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
