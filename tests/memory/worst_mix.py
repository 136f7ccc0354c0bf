#!/usr/bin/env python3
"""attnd under the worst mix of requests that is known, within a limit of memory.

    python3 tests/memory/worst_mix.py --attnd build/attnd --seconds 60

Starts attnd with the shipped models and memory_max, fills its connections with idle clients, and has
sixteen clients send what takes most: the largest PNG and JPEG images, progressive CMYK JPEGs that are
small until they are decoded, envelopes of images in base64, JSON of many small arrays, long texts,
explanations with heat maps, and bodies that never become whole. Beside them honest clients predict.

It must hold that the process lives, that every answer is 200, 413, 422 or 429, that no honest one is
refused for want of memory, and that the peak of the resident set (VmHWM) is at most memory_max. Honest
ones that are refused because more seconds of work wait than the queue takes are told, not counted: the
mix is more than any machine can do, and that bound is time's.

The limit is enforced too, in one of two ways: --cgroup DIR names a memory cgroup with its limit set,
which attnd is started in; otherwise RLIMIT_DATA is set to memory_max and what the process has mapped
by then without touching it.
"""

import argparse
import base64
import collections
import http.client
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import images  # noqa: E402

MODELS = ("wafer-vit", "kernel-bert", "testlog-bert")
ALLOWED = {200, 413, 422, 429}
SIDE = 5792  # squared just below image_pixels_max


def status_of(pid):
    with open(f"/proc/{pid}/status") as file:
        return {key: int(value) * 1024 for key, value in
                re.findall(r"^(Vm\w+|Rss\w+):\s+(\d+) kB", file.read(), re.M)}


def start(args):
    command = [args.attnd, "--listen", "127.0.0.1:0", "--log-level", "warn"]
    if args.memory_max:
        command += ["--memory-max", str(args.memory_max)]
    for model in MODELS:
        command += ["--model", f"{model}=models/{model}"]

    def enter():
        if args.cgroup:
            with open(os.path.join(args.cgroup, "cgroup.procs"), "w") as file:
                file.write("0")

    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=enter)
    line = process.stdout.readline()
    port = int(re.search(r":(\d+) \(", line).group(1))
    now = status_of(process.pid)
    if not args.cgroup and args.memory_max:
        untouched = now["VmData"] - now["RssAnon"]
        limit = args.memory_max + untouched
        resource.prlimit(process.pid, resource.RLIMIT_DATA, (limit, limit))
    print(f"ready: {now['VmRSS'] >> 20} MiB resident")
    return process, port


class Mix:
    """The state that all clients share."""

    def __init__(self, port, seconds):
        self.port = port
        self.end = time.monotonic() + seconds
        self.lock = threading.Lock()
        self.answers = collections.Counter()  # (client, status)
        self.bad = collections.Counter()
        self.samples = {}
        self.slowest = collections.Counter()

    def runs(self):
        return time.monotonic() < self.end

    def ask(self, name, body, content_type, path="/predict", method="POST"):
        begin = time.monotonic()
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
            connection.request(method, path, body, {"Content-Type": content_type})
            reply = connection.getresponse()
            text = reply.read()
            connection.close()
            status = reply.status
        except (OSError, http.client.HTTPException) as error:
            status, text = type(error).__name__, b""
        with self.lock:
            self.answers[name, self.outcome(status, text)] += 1
            self.slowest[name] = max(self.slowest[name], time.monotonic() - begin)
            if status not in ALLOWED:
                self.bad[name, status] += 1
            self.samples.setdefault((name, self.outcome(status, text)), text[:240])
        if status != 200:
            time.sleep(0.02)
        return status

    @staticmethod
    def outcome(status, text):
        if status != 429:
            return status
        return "429 memory" if b'"detail":"memory: ' in text else "429 time or count"

    def hold(self):
        """A large body that stops before its end."""
        try:
            client = socket.create_connection(("127.0.0.1", self.port))
            client.settimeout(5)
            client.sendall(b"POST /predict HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\n"
                           b"Content-Length: 33554432\r\n\r\n" + bytes(20 << 20))
            time.sleep(1)
            client.close()
        except OSError:
            time.sleep(0.1)


def json_body(**members):
    return json.dumps(members).encode()


def heavy_requests():
    largest = images.png(SIDE)
    heat = base64.b64encode(images.png(2048)).decode()
    progressive = images.jpeg(SIDE, 4, True)
    encoded = base64.b64encode(progressive).decode()
    baseline = images.jpeg(SIDE, 3, False)
    print("bytes: PNG %d, interlaced %d, baseline JPEG %d, progressive CMYK %d" % (
        len(largest), len(images.png(512, True)), len(baseline), len(progressive)))
    return [
        ("png", largest, "image/png"),
        ("interlaced", images.png(SIDE, True), "image/png"),
        ("baseline", baseline, "image/jpeg"),
        ("progressive", progressive, "image/jpeg"),
        ("base64", json_body(image=encoded), "application/json"),
        ("envelope", json_body(inputs=[{"image": encoded}] * 32), "application/json"),
        ("heat_map", json_body(image=heat, explain=True, overlay=True), "application/json"),
        ("heat_maps", json_body(inputs=[{"image": heat}] * 16, explain=True, overlay=True),
         "application/json"),
        ("arrays", b'{"text":"a","context":[' + b"[]," * 4000000 + b"[]]}", "application/json"),
        ("strings", b'{"text":["' + b'a","' * 4000000 + b'"]}', "application/json"),
        ("escapes", b'{"text":"' + b"\\u00e4" * 5000000 + b'"}', "application/json"),
        ("text", b"word \xe4\xb8\xad\xe3\x80\xae" * 3000000, "text/plain; charset=utf-8"),
        ("texts", json_body(inputs=[{"text": "panic " * 4000}] * 64, explain=True),
         "application/json"),
    ]


def heavy_client(mix, requests, offset):
    turn = offset
    while mix.runs():
        mix.ask(*requests[turn % len(requests)])
        turn += 1
        if turn % 7 == 0:
            mix.hold()


def honest_client(mix):
    with open("tests/data/examples/wafer_map.png", "rb") as file:
        wafer = file.read()
    while mix.runs():
        mix.ask("honest text", json_body(text="BUG: kernel NULL pointer dereference"),
                "application/json")
        mix.ask("honest image", wafer, "image/png")
        mix.ask("metrics", None, "text/plain", "/metrics", "GET")
        time.sleep(0.05)


def open_idle(port, count):
    """Connections that have had an answer and stay."""
    idle = []
    for _ in range(count):
        client = socket.create_connection(("127.0.0.1", port))
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
        client.recv(4096)
        idle.append(client)
    return idle


def report(mix, process, peak, args):
    for (name, status), count in sorted(mix.answers.items(), key=str):
        print(f"{name:14} {status!s:22} {count:6}   slowest of all {mix.slowest[name]:.1f} s")
    for key in mix.bad:
        print("bad:", key, mix.samples[key])
    if args.verbose:
        for key, text in sorted(mix.samples.items(), key=str):
            print(key, text)
    alive = process.poll() is None
    failures = []
    if not alive:
        failures.append(f"attnd ended with {process.returncode}")
    if mix.bad:
        failures.append(f"{sum(mix.bad.values())} bad answers")
    for name in ("honest text", "honest image"):
        refused = sum(n for (who, outcome), n in mix.answers.items()
                      if who == name and outcome not in (200, "429 time or count"))
        if refused:
            failures.append(f"{name}: {refused} neither answered nor refused for time")
        if not mix.answers[name, 200]:
            failures.append(f"{name}: none answered")
    if args.memory_max and peak > args.memory_max:
        failures.append(f"the peak is above memory_max ({args.memory_max >> 20} MiB)")
    print(f"peak: {peak >> 20} MiB resident")
    print("; ".join(failures) or "held")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--attnd", default="build/attnd")
    parser.add_argument("--memory-max", type=int, default=1 << 30, help="0: none is set")
    parser.add_argument("--cgroup")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--idle", type=int, default=4060)
    parser.add_argument("--only", help="names of the heavy requests to send, with commas")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    requests = heavy_requests()
    if args.only:
        requests = [row for row in requests if row[0] in args.only.split(",")]
    process, port = start(args)
    try:
        idle = open_idle(port, args.idle)
        print(f"{len(idle)} idle: {status_of(process.pid)['VmRSS'] >> 20} MiB resident")
        mix = Mix(port, args.seconds)
        threads = [threading.Thread(target=heavy_client, args=(mix, requests, i))
                   for i in range(args.clients)]
        threads += [threading.Thread(target=honest_client, args=(mix,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        peak = 0
        while any(thread.is_alive() for thread in threads) and process.poll() is None:
            peak = max(peak, status_of(process.pid).get("VmHWM", 0))
            time.sleep(0.1)
        for thread in threads:
            thread.join()
        time.sleep(1)
        if process.poll() is None:
            print(f"after: {status_of(process.pid)['VmRSS'] >> 20} MiB resident")
        return report(mix, process, peak, args)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait()


sys.exit(main())
