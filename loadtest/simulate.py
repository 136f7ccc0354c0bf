#!/usr/bin/env python3
"""How much attnd computes on machines of many cores, from times measured on this one.

    python3 loadtest/simulate.py measure --out times.json [--build build] [--seconds 10]
    python3 loadtest/simulate.py table times.json [--cores 2,8,16,32,64,128,192]

`measure` runs attnd here, with one and with two compute threads, and writes what a batch of so many tokens takes
and what a request costs beside it; then it saturates the server with all processors, simulates the same, and
tells both. `table` prints machines of more cores as Markdown.

What is simulated: clients that always have a request out, I/O threads that read and answer one request after the
other, one queue, workers that take up to 256 tokens as server/serve/batcher.h says, and pools as
server/placement/placement.h makes them of caches of eight cores. What is taken for granted, and was not measured:

- a pool of T threads computes a batch in t1 (s + (1 - s) / T), the serial share s following from one and two
  threads (Amdahl 1967); memory is as fast for every pool as here for one;
- where every core has a compute thread, what is done beside batches takes a core from a pool, and the whole pool
  waits for it.

Servers on loopback only; ends the processes that it started.
"""

import argparse
import bisect
import dataclasses
import heapq
import json
import os
import random
import re
import statistics
import subprocess
import sys
import urllib.request

BATCH_TOKENS = 256          # server/placement/plan.h
POOL_MAX = 8
SHARE_TOKENS_MIN = 64       # server/serve/batcher.h
READY = re.compile(r"listening on (http://127\.0\.0\.1:\d+)")
IMAGE, TEXT = "tests/data/examples/wafer_map.png", "1130 Ref bef zap REF_BE 3.97 v [3.178, 3.564] fail"
WORKLOADS = {
    "wafer-vit": {"model": "models/wafer-vit", "unit": "wafers an hour", "per": 3600},
    "testlog-bert": {"model": "models/testlog-bert", "unit": "logs a day", "per": 86400},
}


# ---- the machine ----

@dataclasses.dataclass
class Machine:
    workers: int
    threads: int
    spare: bool         # a core is left for what is not computing
    io_threads: int = 2

    @staticmethod
    def of(cores):
        """As plan.h and placement.h choose, for caches of eight cores."""
        pools = 1 if cores <= POOL_MAX else cores // POOL_MAX
        threads = min(cores, POOL_MAX)
        return Machine(pools, threads, cores > pools * threads, max(2, cores // 16))


class Times:
    """Milliseconds of a batch, and of what a request costs beside it."""

    def __init__(self, measured):
        self.tokens = measured["tokens"]
        self.beside_ms = measured["beside_ms"]
        self.points = sorted((int(t), one, two) for t, (one, two) in measured["batch_ms"].items())

    def of(self, tokens, threads):
        one, two = self.at(tokens)
        serial = min(max(2 * two / one - 1, 0), 1)
        return one * (serial + (1 - serial) / threads)

    def at(self, tokens):
        """Between two measured batches along a line, below the smallest as that one."""
        place = bisect.bisect_left([t for t, _, _ in self.points], tokens)
        if place == 0:
            return self.points[0][1:]
        if place == len(self.points):
            last = self.points[-1]
            return tuple(ms * tokens / last[0] for ms in last[1:])
        (low, *a), (high, *b) = self.points[place - 1:place + 1]
        share = (tokens - low) / (high - low)
        return tuple(x + (y - x) * share for x, y in zip(a, b))


# ---- the simulation ----

class Simulation:
    """Closed loop: each client sends as soon as it has its answer. Times in milliseconds."""

    def __init__(self, machine, batch_ms, beside_ms, tokens, clients, seed=1):
        self.machine, self.batch_ms, self.beside_ms, self.tokens = machine, batch_ms, beside_ms, tokens
        self.draw = random.Random(seed)
        self.now, self.events, self.order = 0.0, [], 0
        self.io_waiting, self.io_free = [], machine.io_threads
        self.queue, self.idle = [], list(range(machine.workers))
        self.batches = [None] * machine.workers     # of a busy worker: [end, requests]
        self.answered, self.latencies = 0, []
        for _ in range(clients):
            self.receive(self.draw.random() * 0.1)

    def push(self, time, what, value):
        self.order += 1
        heapq.heappush(self.events, (time, self.order, what, value))

    def receive(self, delay=0.0):
        self.push(self.now + delay, self.arrive, self.now + delay)

    def arrive(self, sent):
        self.io_waiting.append(sent)
        self.serve_io()

    def serve_io(self):
        while self.io_free and self.io_waiting:
            self.io_free -= 1
            self.push(self.now + self.beside_ms, self.end_io, self.io_waiting.pop(0))
            if not self.machine.spare:
                self.delay_a_pool()

    def delay_a_pool(self):
        """One of the pools' cores does this meanwhile; that of an idle one, if there is any."""
        busy = [batch for batch in self.batches if batch]
        if busy and len(busy) == self.machine.workers:
            self.draw.choice(busy)[0] += self.beside_ms

    def end_io(self, sent):
        self.io_free += 1
        self.queue.append(sent)
        self.serve_io()
        while self.idle and self.queue:
            self.take(self.idle.pop())

    def take(self, worker):
        budget = BATCH_TOKENS
        if self.idle:
            share = len(self.queue) * self.tokens // (len(self.idle) + 1) + 1
            budget = min(max(share, SHARE_TOKENS_MIN), BATCH_TOKENS)
        count = max(1, min(len(self.queue), budget // self.tokens))
        requests, self.queue = self.queue[:count], self.queue[count:]
        end = self.now + self.batch_ms(count * self.tokens, self.machine.threads)
        self.batches[worker] = [end, requests]
        self.push(end, self.end_batch, worker)

    def end_batch(self, worker):
        end, requests = self.batches[worker]
        if end > self.now:      # it was delayed
            self.push(end, self.end_batch, worker)
            return
        self.batches[worker] = None
        for sent in requests:
            self.answered += 1
            self.latencies.append(self.now - sent)
            self.receive()
        if self.queue:
            self.take(worker)
        else:
            self.idle.append(worker)

    def run(self, until_ms):
        while self.events and self.events[0][0] <= until_ms:
            self.now, _, what, value = heapq.heappop(self.events)
            what(value)
        return self


def saturate(machine, times, clients, beside_ms=None, seconds=4.0):
    """Requests a second, and the median latency in milliseconds."""
    beside_ms = times.beside_ms if beside_ms is None else beside_ms
    done = Simulation(machine, times.of, beside_ms, times.tokens, clients).run(seconds * 1000)
    return done.answered / seconds, statistics.median(done.latencies)


# ---- measuring ----

class Server:
    def __init__(self, args, name, workers, threads):
        self.process = subprocess.Popen(
            [f"{args.build}/attnd", "--listen", "127.0.0.1:0", "--log-level", "error", "--workers", str(workers),
             "--threads-per-worker", str(threads), "--model", f"m={WORKLOADS[name]['model']}"],
            stdout=subprocess.PIPE, text=True)
        self.url = READY.search(self.process.stdout.readline())[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def ask(self, inputs):
        body = json.dumps({"inputs": inputs}).encode()
        with urllib.request.urlopen(urllib.request.Request(f"{self.url}/predict", body)) as reply:
            return json.load(reply)

    def metric(self, name):
        page = urllib.request.urlopen(f"{self.url}/metrics").read().decode()
        return sum(float(line.rsplit(" ", 1)[1]) for line in page.splitlines()
                   if re.match(rf"{name}(\{{| )", line))


def input_of(name):
    if name == "wafer-vit":
        import base64
        return {"image": base64.b64encode(open(IMAGE, "rb").read()).decode()}
    return {"text": TEXT}


def load(args, server, name, connections, seconds):
    """Requests a second by attnd-load, and its processor time for one request in milliseconds."""
    source = ["--image", IMAGE] if name == "wafer-vit" else ["--text", TEXT]
    told = json.loads(subprocess.run(
        [f"{args.build}/attnd-load", "--url", f"{server.url}/predict", "--connections", str(connections),
         "--duration", str(seconds), "--json", "--quiet", *source],
        stdout=subprocess.PIPE, text=True, check=True).stdout)
    return told["goodput_per_s"], 1000 * told["cpu_seconds"] / told["outcomes"]["ok"], told["outcomes"]["ok"]


def batch_times(args, name, threads):
    """{tokens of a batch: milliseconds}, from requests of 1, 2, 4, ... inputs that fit one batch."""
    times, one = {}, input_of(name)
    with Server(args, name, 1, threads) as server:
        count = 1
        while True:
            server.ask([one] * count)
            tokens, batches = server.metric("attnd_batch_tokens_sum"), server.metric("attnd_batch_tokens_count")
            taken = [server.ask([one] * count)["timing_ms"]["inference"] for _ in range(30)]
            tokens = server.metric("attnd_batch_tokens_sum") - tokens
            if server.metric("attnd_batch_tokens_count") - batches > 30:
                return times
            times[round(tokens / 30)] = statistics.median(taken)
            count *= 2


def measure_one(args, name):
    """What is beside batches is what the process takes under load, less what its batches take."""
    one, two = batch_times(args, name, 1), batch_times(args, name, 2)
    measured = {"tokens": min(one), "beside_ms": 0, "batch_ms": {t: [one[t], two[t]] for t in sorted(one) if t in two}}
    names = "process_cpu_seconds_total", "attnd_batch_tokens_sum", "attnd_batch_tokens_count"
    with Server(args, name, 1, 1) as server:
        load(args, server, name, 8, 1)
        before = [server.metric(n) for n in names]
        _, _, answered = load(args, server, name, 8, args.seconds)
        cpu, tokens, batches = (server.metric(n) - b for n, b in zip(names, before))
    of_batches = batches * Times(measured).of(tokens / batches, 1)
    return {**measured, "beside_ms": max(1000 * cpu - of_batches, 0) / answered}


def compare(args, name, measured):
    """The same saturation, on this machine and simulated; the load generator's time is beside, too."""
    cores, clients = os.cpu_count(), 8
    with Server(args, name, 0, 0) as server:
        load(args, server, name, clients, 1)
        rate, client_ms, _ = load(args, server, name, clients, args.seconds)
    times = Times(measured)
    simulated, _ = saturate(Machine.of(cores), times, clients, times.beside_ms + client_ms)
    print(f"{name}: {cores} cores, {clients} connections: {rate:.0f} requests a second, simulated "
          f"{simulated:.0f} ({simulated / rate:.2f})", file=sys.stderr)
    return {"cores": cores, "requests_per_second": rate, "simulated": simulated, "client_ms": client_ms}


def measure(args):
    out = {}
    for name in WORKLOADS:
        out[name] = measure_one(args, name)
        out[name]["here"] = compare(args, name, out[name])
    json.dump(out, open(args.out, "w"), indent=1)


# ---- the table ----

def table(args):
    measured = json.load(open(args.times))
    heads = [f"{name}: {WORKLOADS[name]['unit']}, requests a second, ms" for name in measured]
    print("| cores | pools x threads | " + " | ".join(heads) + " |")
    print("|---|---|" + "---|" * len(heads))
    for cores in map(int, args.cores.split(",")):
        machine, cells = Machine.of(cores), []
        for name, times in measured.items():
            rate, median = saturate(machine, Times(times), 16 * machine.workers)
            cells.append(f"{rate * WORKLOADS[name]['per']:,.0f}, {rate:,.0f}, {median:.1f}")
        print(f"| {cores} | {machine.workers} x {machine.threads} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("measure")
    one.add_argument("--build", default="build")
    one.add_argument("--out", required=True)
    one.add_argument("--seconds", type=int, default=10)
    one.set_defaults(run=measure)
    other = commands.add_parser("table")
    other.add_argument("times")
    other.add_argument("--cores", default="2,8,16,32,64,128,192")
    other.set_defaults(run=table)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
