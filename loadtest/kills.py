#!/usr/bin/env python3
"""The audit log under kill -9: what was answered must be in it, and its chain must hold.

    python3 loadtest/kills.py [--build build] [--kills 50] [--clients 8] [--sync none,group,each]

Starts attnd with an audit log, asks it from several clients, each with ids of its own, and kills it at a
random moment; the next start goes on with the same log. At the end every answer that a client had must have
its line, whatever the mode (the system has it, and only a power cut can take it), and attnd-audit must verify
the whole. Prints what was asked, answered, written and lost. Ends only processes that it started.
"""

import argparse
import http.client
import json
import os
import random
import re
import signal
import subprocess
import tempfile
import threading
import time

TEXT = "1130 Ref bef zap REF_BE 3.97 v [3.178, 3.564] fail"
READY = re.compile(r"listening on http://127\.0\.0\.1:(\d+)")


def start(args, folder, sync):
    server = subprocess.Popen(
        [f"{args.build}/attnd", "--listen", "127.0.0.1:0", "--log-level", "error", "--model",
         "testlog-bert=models/testlog-bert", "--audit-dir", folder, "--audit-sync", sync, "--audit-rotate-bytes",
         "262144"], stdout=subprocess.PIPE, text=True)
    return server, int(READY.search(server.stdout.readline())[1])


def ask(port, prefix, answered):
    """Asks until the server is gone; keeps the ids that were answered."""
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        for number in range(1 << 30):
            name = f"{prefix}-{number}"
            connection.request("POST", "/predict", json.dumps({"text": TEXT, "id": name}))
            reply = connection.getresponse()
            reply.read()
            if reply.status == 200:
                answered.append(name)
    except (OSError, http.client.HTTPException):
        pass


def run_once(args, folder, sync, round_number):
    server, port = start(args, folder, sync)
    answered = [[] for _ in range(args.clients)]
    threads = [threading.Thread(target=ask, args=(port, f"{round_number}-{i}", ids))
               for i, ids in enumerate(answered)]
    for thread in threads:
        thread.start()
    time.sleep(random.uniform(0.05, 0.6))
    os.kill(server.pid, signal.SIGKILL)
    server.wait()
    for thread in threads:
        thread.join()
    return [name for ids in answered for name in ids]


def audit(args, *words):
    done = subprocess.run([f"{args.build}/attnd-audit", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"attnd-audit {' '.join(words)}: {done.stderr}")
    return done.stdout


def judge(args, sync):
    """True if nothing that was answered is missing."""
    with tempfile.TemporaryDirectory(prefix="attnd-kills-") as folder:
        answered = [name for number in range(args.kills) for name in run_once(args, folder, sync, number)]
        verified = audit(args, "verify", folder).splitlines()
        written = {json.loads(line)["id"] for line in
                   audit(args, "export", folder, "--type", "prediction").splitlines()}
        lost = [name for name in answered if name not in written]
        print(f"{sync}: {args.kills} kills, {len(answered)} answered, {len(written)} written, {len(lost)} lost; "
              f"{verified[0]}", flush=True)
        return not lost


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--sync", default="none,group,each")
    args = parser.parse_args()
    return 0 if all([judge(args, sync) for sync in args.sync.split(",")]) else 1


if __name__ == "__main__":
    raise SystemExit(main())
