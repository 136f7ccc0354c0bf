#!/usr/bin/env python3
"""Live reloads under load: attnd serves both kinds of model to 32 connections while a file of one of
the models is touched and the configuration reloaded, again and again. No request may fail, every
reload must succeed, and the memory must not grow: the slope of the resident memory over the reloads
is a least-squares fit of their second half.

usage: loadtest/reloads.py [--build BUILD] [--reloads 1000] [--connections 32] [--break-every 50]
                           [--settle 20]

Every --break-every reloads one directory is broken for one reload, which must fail and leave the old
model serving. Reloads follow each other faster than requests end, so that several generations live
at once; every --settle reloads there is a pause in which the old ones go, and then the memory is
read. From the repository's root; takes some minutes; needs python3."""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--reloads", type=int, default=1000)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--break-every", type=int, default=50)
    parser.add_argument("--settle", type=int, default=20)
    return parser.parse_args()


def status(pid):
    with open("/proc/%d/status" % pid) as file:
        fields = dict(line.split(":", 1) for line in file)
    return int(fields["VmRSS"].split()[0]), int(fields["Threads"])


def reload(url):
    """(HTTP status, body) of one reload."""
    request = urllib.request.Request(url + "/admin/reload", method="POST", data=b"")
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def slope(points):
    """KB a reload."""
    points = points[len(points) // 2:]
    n = len(points)
    x, y = sum(p[0] for p in points) / n, sum(p[1] for p in points) / n
    over = sum((p[0] - x) * (p[1] - y) for p in points)
    return over / (sum((p[0] - x) ** 2 for p in points) or 1)


def progress(done, total, start):
    if sys.stderr.isatty() and done % 10 == 0:
        rate = done / (time.monotonic() - start)
        left = (total - done) / rate if rate > 0 else 0
        print("\r%d of %d reloads, %.1f/s, %d s left " % (done, total, rate, left), end="",
              file=sys.stderr, flush=True)


class Reloads:
    def __init__(self, url, models, pid, chosen):
        self.url, self.models, self.pid = url, models, pid
        self.every, self.settle = chosen.break_every, chosen.settle
        self.refused = self.broken = self.most = 0
        self.resident, self.threads, self.took = [], set(), []

    def break_one(self):
        """A model without its configuration: nothing may change."""
        path = os.path.join(self.models[0], "config.json")
        os.rename(path, path + ".away")
        code, body = reload(self.url)
        os.rename(path + ".away", path)
        self.broken += 1
        if code != 422:
            self.refused += 1
            print("a broken model: %d %s" % (code, body))

    def once(self, number):
        os.utime(os.path.join(self.models[number % len(self.models)], "config.json"))
        start = time.monotonic()
        code, body = reload(self.url)
        self.took.append(1000 * (time.monotonic() - start))
        if code != 200 or not body["changed"]:
            self.refused += 1
            print("reload %d: %d %s" % (number, code, body))
        self.most = max(self.most, status(self.pid)[0])
        if number % self.settle == self.settle - 1:
            time.sleep(1.5)
            resident, threads = status(self.pid)
            self.resident.append((number, resident))
            self.threads.add(threads)
        if self.every > 0 and number % self.every == self.every - 1:
            self.break_one()


def main():
    chosen = options()
    work = tempfile.mkdtemp(prefix="attnd-reloads-")
    names = ("wafer-vit", "kernel-bert")
    models = [shutil.copytree("models/" + name, os.path.join(work, name)) for name in names]
    command = [chosen.build + "/attnd", "--listen", "127.0.0.1:0"]
    for name, path in zip(names, models):
        command += ["--model", "%s=%s" % (name, path)]
    with open(os.path.join(work, "log"), "w") as log:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    url = server.stdout.readline().split()[3]
    load = subprocess.Popen(
        [chosen.build + "/attnd-load", "--url", url + "/predict", "--quiet", "--json",
         "--connections", str(chosen.connections), "--duration", "3600",
         "--image", "tests/data/examples/wafer_map.png",
         "--text-file", "tests/data/examples/kernel_report.txt"],
        stdout=subprocess.PIPE, text=True)
    time.sleep(2)
    run = Reloads(url, models, server.pid, chosen)
    start = time.monotonic()
    for number in range(chosen.reloads):
        run.once(number)
        progress(number + 1, chosen.reloads, start)
    seconds = time.monotonic() - start
    load.terminate()
    report = json.loads(load.communicate()[0])
    server.terminate()
    code = server.wait()
    took = sorted(run.took)
    print("%d reloads in %.0f s (median %.0f ms, longest %.0f), %d broken ones refused as expected, "
          "%d not as expected" % (chosen.reloads, seconds, took[len(took) // 2], took[-1],
                                  run.broken, run.refused))
    print("%d requests meanwhile, %d not as expected, p50 %.1f ms, p99 %.1f ms" % (
        report["requests"], report["unaccepted"], report["latency_ms"]["p50"],
        report["latency_ms"]["p99"]))
    for example in report["examples"]:
        print("  " + str(example))
    kb = [point[1] for point in run.resident]
    print("resident, settled: %.1f MB after %d reloads, %.1f MB after the last, %.2f KB a reload over "
          "the second half; at most %.1f MB with several generations at once" % (
              kb[0] / 1024, run.resident[0][0] + 1, kb[-1] / 1024, slope(run.resident),
              run.most / 1024))
    print("threads, settled: %s" % ", ".join(map(str, sorted(run.threads))))
    shutil.rmtree(work)
    return 0 if run.refused == 0 and report["unaccepted"] == 0 and code == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
