#!/usr/bin/env python3
"""Models that write beside classifications: how long pictures wait while texts are written, and
whether any answer of many at once differs from what the same request is answered alone.

usage: loadtest/writing.py [--build BUILD] [--writer DIR] [--rounds 5] [--seconds 8] [--rate 20]
                           [--writers 4] [--new-tokens 64] [--requests 10000] [--connections 32]

Waiting: wafer maps are posted to models/wafer-vit at a steady rate (--rate 0: each when the one
before is answered, for a machine with other work), for some seconds with nothing else, then for as
long while --writers clients have texts written without pause; in turn, --rounds times.
Answers: --requests requests, wafer maps, texts to classify and texts to write (greedy and
with beams, of several lengths), are drawn at random and sent by --connections clients while the
models are reloaded again and again. What was written must be the same to the letter, labels too,
and scores within 1e-5. The resident memory is read after each tenth of the requests, settled.
Without --writer the golden checkpoint of tests/data writes; --rounds 0 or --requests 0 leaves a
part out. From the repository's root; needs python3."""
import argparse
import http.client
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

IMAGE = "tests/data/examples/wafer_map.png"
TOLERANCE = 1e-5


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--writer")
    parser.add_argument("--dtype", default="f32")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--rate", type=int, default=20)
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--requests", type=int, default=10000)
    parser.add_argument("--connections", type=int, default=32)
    return parser.parse_args()


def golden(folder):
    """A small checkpoint that writes, from two folders of tests/data."""
    folder.mkdir()
    for source in ("golden", "recoding"):
        for file in pathlib.Path("tests/data", source, "marian-0").iterdir():
            if file.name != "cases.json":
                shutil.copy(file, folder)
    return folder


class Server:
    def __init__(self, chosen, work):
        self.models = {name: shutil.copytree("models/" + name, work / name)
                       for name in ("wafer-vit", "testlog-bert")}
        self.models["writer"] = (pathlib.Path(chosen.writer) if chosen.writer
                                 else golden(work / "writer"))
        config = {"listen": "127.0.0.1:0", "models": [
            {"name": name, "dir": str(path.resolve()),
             "dtype": chosen.dtype if name == "writer" else "f32"}
            for name, path in self.models.items()]}
        (work / "attnd.json").write_text(json.dumps(config))
        self.log = open(work / "log", "w")
        self.process = subprocess.Popen(
            [chosen.build + "/attnd", "--config", str(work / "attnd.json")],
            stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.url = self.process.stdout.readline().split()[3]
        self.address = self.url.split("//")[1]

    def resident_mb(self):
        with open("/proc/%d/status" % self.process.pid) as file:
            fields = dict(line.split(":", 1) for line in file)
        return int(fields["VmRSS"].split()[0]) / 1024

    def stop(self):
        self.process.terminate()
        return self.process.wait()


class Client:
    def __init__(self, server):
        self.connection = http.client.HTTPConnection(server.address, timeout=120)

    def post(self, path, body, kind="application/json"):
        self.connection.request("POST", path, body, {"Content-Type": kind})
        reply = self.connection.getresponse()
        return reply.status, json.loads(reply.read())


# ---- how long pictures wait ----

def written_until(server, chosen, stop, done):
    client, number = Client(server), 0
    while not stop.is_set():
        body = {"model": "writer", "text": "Die %d failed the scan test of chain %d." % (number, number % 7),
                "max_new_tokens": chosen.new_tokens, "min_new_tokens": chosen.new_tokens, "num_beams": 1}
        status, answer = client.post("/predict", json.dumps(body))
        assert status == 200, answer
        number += 1
    done.append(number)


def latencies(server, chosen):
    report = json.loads(subprocess.run(
        [chosen.build + "/attnd-load", "--url", server.url + "/predict", "--model", "wafer-vit", "--quiet",
         "--json", "--duration", str(chosen.seconds), "--image", IMAGE] +
        (["--connections", "4", "--rate", str(chosen.rate)] if chosen.rate > 0 else ["--connections", "1"]), stdout=subprocess.PIPE, text=True).stdout)
    assert report["unaccepted"] == 0, report
    return report["latency_ms"]


def waiting(server, chosen):
    print("round  load  idle p50, p99 ms   written p50, p99 ms   p99 ratio  texts/s")
    ratios = []
    for number in range(chosen.rounds):
        idle = latencies(server, chosen)
        stop, done = threading.Event(), []
        writers = [threading.Thread(target=written_until, args=(server, chosen, stop, done))
                   for _ in range(chosen.writers)]
        for writer in writers:
            writer.start()
        time.sleep(0.5)
        began = time.monotonic()
        busy = latencies(server, chosen)
        seconds = time.monotonic() - began
        stop.set()
        for writer in writers:
            writer.join()
        ratios.append(busy["p99"] / idle["p99"])
        print("%5d %5.1f %8.2f %8.2f %11.2f %8.2f %13.2f %8.1f" % (
            number + 1, os.getloadavg()[0], idle["p50"], idle["p99"], busy["p50"], busy["p99"], ratios[-1],
            sum(done) / seconds), flush=True)
    print("p99 with %d texts being written over p99 idle: median %.2f, %.2f to %.2f in %d rounds" % (
        chosen.writers, statistics.median(ratios), min(ratios), max(ratios), len(ratios)))


# ---- whether answers get mixed ----

def kinds(chosen):
    """(path, body, content type) of each request that is drawn."""
    image = pathlib.Path(IMAGE).read_bytes()
    yield "/predict?model=wafer-vit&top_k=3", image, "image/png"
    for number in range(40):
        text = "1130 Ref bef zap REF_BE %d.%d v [3.178, 3.564] fail %s" % (number, 7 * number, "x " * (number % 9))
        yield "/predict?model=testlog-bert&top_k=2", text, "text/plain"
    for number in range(60):
        body = {"model": "writer", "text": "Die %d failed %s at %d V." % (number, "the scan test " * (number % 5), number),
                "max_new_tokens": (4, 9, 17, 40)[number % 4], "num_beams": (1, 1, 2, 4)[number // 4 % 4]}
        if body["num_beams"] > 1:
            body["num_return_sequences"] = 2
        yield "/predict", json.dumps(body), "application/json"


def gist(answer):
    """(what must be the same, numbers that must be near) of an answer."""
    rows = answer.get("predictions") or [{"label": answer["output"], "score": answer["score"]}] + [
        {"label": row["output"], "score": row["score"]} for row in answer.get("alternatives", [])]
    return [row["label"] for row in rows], [row["score"] for row in rows]


def is_same(one, other):
    return one[0] == other[0] and all(abs(a - b) <= TOLERANCE for a, b in zip(one[1], other[1]))


class Mixed:
    def __init__(self, server, chosen):
        self.server, self.chosen = server, chosen
        self.requests = list(kinds(chosen))
        alone = Client(server)
        self.expected = []
        for request in self.requests:
            status, answer = alone.post(*request)
            assert status == 200, answer
            self.expected.append(gist(answer))
        self.lock = threading.Lock()
        self.left, self.mixed, self.failed, self.reloads, self.refused = 0, 0, 0, 0, 0
        self.examples = []

    def take(self):
        with self.lock:
            self.left -= 1
            return self.left >= 0

    def ask(self, seed):
        client, draw = Client(self.server), random.Random(seed)
        while self.take():
            index = draw.randrange(len(self.requests)) if draw.random() > 0.2 else 0
            status, answer = client.post(*self.requests[index])
            if status == 200 and is_same(gist(answer), self.expected[index]):
                continue
            with self.lock:
                self.failed += status != 200
                self.mixed += status == 200
                self.examples.append((self.requests[index][1][:200], status, answer, self.expected[index]))

    def reload(self, stop):
        client, paths = Client(self.server), list(self.server.models.values())
        while not stop.wait(0.3):
            os.utime(paths[self.reloads % len(paths)] / "config.json")
            status, answer = client.post("/admin/reload", b"")
            self.reloads += 1
            self.refused += status != 200

    def portion(self, number, count):
        self.left = count
        clients = [threading.Thread(target=self.ask, args=(1000 * number + i,))
                   for i in range(self.chosen.connections)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()


def answers(server, chosen):
    mixed, portions = Mixed(server, chosen), 10
    stop, resident = threading.Event(), []
    reloader = threading.Thread(target=mixed.reload, args=(stop,))
    began = time.monotonic()
    reloader.start()
    for number in range(portions):
        mixed.portion(number, chosen.requests // portions)
        if number == portions - 1:
            stop.set()
            reloader.join()
        time.sleep(2)
        resident.append(server.resident_mb())
        print("%d of %d requests, %d differ, %d failed, %d reloads, %.0f MB, load %.1f" % (
            (number + 1) * (chosen.requests // portions), chosen.requests, mixed.mixed, mixed.failed,
            mixed.reloads, resident[-1], os.getloadavg()[0]), file=sys.stderr, flush=True)
    print("%d requests of %d kinds over %d connections in %.0f s, %d reloads meanwhile (%d refused)" % (
        chosen.requests // portions * portions, len(mixed.requests), chosen.connections,
        time.monotonic() - began, mixed.reloads, mixed.refused))
    print("answers that differ from those alone: %d; failed: %d" % (mixed.mixed, mixed.failed))
    for example in mixed.examples[:5]:
        print("  ", example)
    print("resident MB after each tenth: " + " ".join("%.0f" % mb for mb in resident))
    return mixed.mixed + mixed.failed + mixed.refused == 0


def main():
    chosen = options()
    work = pathlib.Path(tempfile.mkdtemp(prefix="attnd-writing-"))
    server, ok = Server(chosen, work), True
    try:
        if chosen.rounds > 0:
            waiting(server, chosen)
        if chosen.requests > 0:
            ok = answers(server, chosen)
    finally:
        ok = server.stop() == 0 and ok
        shutil.rmtree(work)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
