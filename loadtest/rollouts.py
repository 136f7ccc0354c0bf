#!/usr/bin/env python3
"""Versions of a model, loaded, promoted, rolled back and unloaded while clients ask: none may notice.

    python3 loadtest/rollouts.py [--build build] [--cycles 1000] [--clients 4] [--model models/testlog-bert]

Starts attnd with one model, asks it without a pause, and makes as many cycles of load with a split, promote,
rollback and unload of a second version, a copy of the first with another number. Prints what was asked and
what failed, the median time of each change, and the memory of the process before and after. Exit status 1 if
one request failed. Ends only the processes that it started.
"""

import argparse
import http.client
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

TEXT = "1130 Ref bef zap REF_BE 3.97 v [3.178, 3.564] fail"
READY = re.compile(r"listening on http://127\.0\.0\.1:(\d+)")


def copy_version(model, folder, version):
    to = os.path.join(folder, f"v{version}")
    shutil.copytree(model, to)
    path = os.path.join(to, "attnd.json")
    told = json.load(open(path)) if os.path.exists(path) else {}
    json.dump({**told, "version": version}, open(path, "w"))


def start(args, folder):
    server = subprocess.Popen(
        [f"{args.build}/attnd", "--listen", "127.0.0.1:0", "--log-level", "error", "--model", f"logs={args.model}",
         "--models-root", folder, "--state-dir", f"{folder}/state"], stdout=subprocess.PIPE, text=True)
    return server, int(READY.search(server.stdout.readline())[1])


class Client(threading.Thread):
    """Asks until it is told to stop; counts what was answered, and keeps what was not."""

    def __init__(self, port):
        super().__init__()
        self.port, self.answered, self.failures, self.versions = port, 0, [], set()
        self.stopping = threading.Event()

    def ask(self, connection, number):
        body = json.dumps({"text": TEXT, "context": {"lot": f"lot-{number % 50}"}})
        connection.request("POST", "/predict", body)
        reply = connection.getresponse()
        told = json.loads(reply.read())
        if reply.status != 200:
            self.failures.append(told.get("detail", reply.status))
            return
        self.answered += 1
        self.versions.add(told["model"]["version"])

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        number = 0
        while not self.stopping.is_set():
            number += 1
            try:
                self.ask(connection, number)
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(repr(error))
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)


def change(connection, method, path, body, times):
    start_s = time.monotonic()
    connection.request(method, path, json.dumps(body) if body is not None else None)
    reply = connection.getresponse()
    told = reply.read()
    if reply.status >= 300:
        raise SystemExit(f"{method} {path}: {told.decode()}")
    times.append(time.monotonic() - start_s)


def resident_kb(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{pid}/status").read())[1])


def make_cycles(args, port, pid):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    times = {name: [] for name in ("load", "promote", "rollback", "unload")}
    memory = None
    for number in range(args.cycles):
        change(connection, "POST", "/admin/models", {"name": "logs", "dir": "v2", "split": 0.5}, times["load"])
        change(connection, "POST", "/admin/models/logs/2/promote", {"force": True, "reason": "a cycle"},
               times["promote"])
        change(connection, "POST", "/admin/models/logs/rollback", None, times["rollback"])
        change(connection, "DELETE", "/admin/models/logs/2", None, times["unload"])
        if number == min(20, args.cycles - 1):
            memory = resident_kb(pid)
        if sys.stderr.isatty() or number % 100 == 99:
            print(f"\r{number + 1} of {args.cycles}", end="" if sys.stderr.isatty() else "\n", file=sys.stderr)
    return times, memory


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--cycles", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--model", default="models/testlog-bert")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="attnd-rollouts-") as folder:
        copy_version(args.model, folder, "2")
        server, port = start(args, folder)
        clients = [Client(port) for _ in range(args.clients)]
        for client in clients:
            client.start()
        begun_s = time.monotonic()
        times, early_kb = make_cycles(args, port, server.pid)
        seconds = time.monotonic() - begun_s
        for client in clients:
            client.stopping.set()
        for client in clients:
            client.join()
        late_kb = resident_kb(server.pid)
        server.terminate()
        status = server.wait()
    answered, failures = sum(c.answered for c in clients), [f for c in clients for f in c.failures]
    versions = sorted(set().union(*(c.versions for c in clients)))
    print(f"{args.cycles} cycles in {seconds:.0f} s under {args.clients} clients: {answered} answered by versions "
          f"{', '.join(versions)}, {len(failures)} failed; exit status {status}")
    print("median ms of a change: " +
          ", ".join(f"{name} {1000 * statistics.median(list_s):.1f}" for name, list_s in times.items()))
    print(f"resident: {early_kb} KB after 20 cycles, {late_kb} KB at the end")
    for failure in failures[:5]:
        print("failed:", failure)
    return 1 if failures or status != 0 else 0


if __name__ == "__main__":
    sys.exit(main())
