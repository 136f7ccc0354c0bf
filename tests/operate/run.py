#!/usr/bin/env python3
"""Alerts from cause to Slack: attnd, Prometheus and Alertmanager as deploy/ configures them.

    python3 tests/operate/run.py [--build build]       (from the repository's root; about three minutes)

Starts attnd, Debian's prometheus and prometheus-alertmanager, and a receiver in the shape of Slack's. Then it
overloads attnd, sends pictures that are no wafers and texts that are too long, then usual ones and their labels,
breaks a reload, takes the audit log's disk away, and ends attnd. Each alert must arrive, and go again once its cause has gone. Times in the rules
are sixty times shorter; nothing else is changed. Everything listens on loopback, and only what was started here
is ended.
"""

import argparse
import http.client
import http.server
import json
import pathlib
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from free_ports import free_ports  # noqa: E402

FASTER = 60
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
READY = re.compile(r"listening on http://127\.0\.0\.1:(\d+)")
MODELS = ("wafer-vit", "testlog-bert")
USUAL = 100  # inputs of each model, which it has a reference of
TEXT = "1130 Ref bef zap REF_BE 3.97 v [3.178, 3.564] fail"


# ---- configurations ----

def shorter(match):
    """A duration of a rule, sixty times shorter, in whole seconds but at least four scrapes."""
    seconds = int(match[2]) * UNITS[match[3]]
    return f"{match[1]}{max(4, seconds // FASTER)}s"


def scaled_rules(text):
    return re.sub(r"(\[|for: )(\d+)([smhd])\b", shorter, text)


def write_prometheus(folder, attnd, alertmanager):
    for name in ("recording.yml", "alerts.yml", "prices.yml", "value.yml"):
        (folder / name).write_text(scaled_rules(pathlib.Path("deploy/prometheus", name).read_text()))
    text = pathlib.Path("deploy/prometheus/prometheus.yml").read_text()
    text = text.replace("attnd:8080", f"127.0.0.1:{attnd}").replace("alertmanager:9093", f"127.0.0.1:{alertmanager}")
    text = text.replace("scrape_interval: 5s", "scrape_interval: 1s").replace("interval: 15s", "interval: 1s")
    (folder / "prometheus.yml").write_text(text)


def write_alertmanager(folder, receiver):
    text = pathlib.Path("deploy/alertmanager/alertmanager.yml").read_text()
    text = text.replace("http://127.0.0.1:9095/attnd", f"http://127.0.0.1:{receiver}/webhook")
    text = text.replace("/etc/alertmanager/slack_url", str(folder / "slack_url"))
    text = re.sub(r"group_wait: \S+", "group_wait: 1s", re.sub(r"group_interval: \S+", "group_interval: 1s", text))
    (folder / "slack_url").write_text(f"http://127.0.0.1:{receiver}/slack")
    (folder / "alertmanager.yml").write_text(text)


# ---- Slack ----

class Receiver(http.server.ThreadingHTTPServer):
    """Remembers (path, FIRING or RESOLVED, alert) and when it came; from Slack also of "alert model"."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.came = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def wait(self, path, status, alert, seconds):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if (path, status, alert) in self.came:
                return self.came[path, status, alert]
            time.sleep(0.1)
        return None


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/slack":
            status, alert = body["attachments"][0]["title"].split(" ")[:2]
            told = [(status.split(":")[0], alert)]
            told += [(status.split(":")[0], f"{alert} {model}") for model in MODELS if model in body["attachments"][0]["text"]]
        else:
            told = [(alert["status"].upper(), alert["labels"]["alertname"]) for alert in body["alerts"]]
        for status, alert in told:
            self.server.came.setdefault((self.path, status, alert), time.monotonic())
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *args):
        pass


# ---- causes ----

def post(port, body, kind="application/json", path="/predict"):
    """Returns the answer, also if it is a problem."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("POST", path, body, {"Content-Type": kind})
        return connection.getresponse().read()
    finally:
        connection.close()


def grey_png(seed, side, grey):
    """A picture of grey(chance in 0..255, x, y), with x and y from -1 to 1."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    state, rows = seed * 2654435761 % 2**32 | 1, bytearray()
    for row in range(side):
        rows.append(0)
        for column in range(side):
            state = (state * 1664525 + 1013904223) % 2**32
            rows.append(grey(state >> 24, (2 * column + 1) / side - 1, (2 * row + 1) / side - 1))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(bytes(rows))) + chunk(b"IEND", b""))


def noise_png(seed):
    """A grey picture of noise: no wafer."""
    return grey_png(seed, 64, lambda chance, x, y: chance)


def wafer_png(seed):
    """A wafer map: of three one has failing dies in its centre, one at its edge, one here and there."""
    def die(chance, x, y):
        r2 = x * x + y * y
        failing = 200 if (seed % 3 == 0 and r2 < 0.1) or (seed % 3 == 1 and r2 > 0.75) else seed % 16
        return 0 if r2 > 1 else 255 if chance < failing else 127
    return grey_png(seed, 40, die)


def usual_text(number):
    """A line of which most are automatic."""
    return f"{4000 + number} MBIST bank {number % 7} row {500 + number} col 17 read 0 expected 1 fail"


class Load:
    """Asks in the background until it is told to stop: `ask(number)` of each of some threads."""

    def __init__(self, ask, threads=1, pause_s=0.0):
        self.stopped, self.pause_s = threading.Event(), pause_s
        self.threads = [threading.Thread(target=self.run, args=(ask, i), daemon=True) for i in range(threads)]
        for thread in self.threads:
            thread.start()

    def run(self, ask, number):
        while not self.stopped.is_set():
            try:
                ask(number)
            except (OSError, http.client.HTTPException):
                time.sleep(0.1)
            number += len(self.threads)
            time.sleep(self.pause_s)

    def stop(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join()


# ---- the processes ----

class House:
    def __init__(self, build):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="attnd-operate-"))
        self.build, self.processes = build, []
        self.receiver = Receiver()
        self.configuration = self.folder / "attnd.json"
        self.write_references()
        self.configure()
        attnd, alertmanager, self.prometheus = free_ports(3)
        self.attnd, self.port = self.start_attnd(attnd)
        write_alertmanager(self.folder, self.receiver.server_address[1])
        write_prometheus(self.folder, self.port, alertmanager)
        self.start("prometheus-alertmanager", f"--config.file={self.folder}/alertmanager.yml",
                   f"--storage.path={self.folder}/alertmanager", f"--web.listen-address=127.0.0.1:{alertmanager}",
                   "--cluster.listen-address=")
        self.start("prometheus", f"--config.file={self.folder}/prometheus.yml",
                   f"--storage.tsdb.path={self.folder}/prometheus", f"--web.listen-address=127.0.0.1:{self.prometheus}")

    def write_references(self):
        """The shipped models, each with a reference of its usual inputs in place of its own."""
        usual = self.folder / "usual"
        usual.mkdir()
        for i in range(USUAL):
            (usual / f"{i}.png").write_bytes(wafer_png(i))
        inputs = {"wafer-vit": [{"image": f"{i}.png", "label": "none"} for i in range(USUAL)],
                  "testlog-bert": [{"text": usual_text(i), "label": "scan"} for i in range(USUAL)]}
        for name, rows in inputs.items():
            shutil.copytree(f"models/{name}", self.folder / name)
            self.make_shadow(name)
            (usual / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
            subprocess.run([f"{self.build}/attnd-eval", "--model", self.folder / name, "--data",
                            usual / f"{name}.jsonl", "--reference"], check=True, stdout=subprocess.DEVNULL)

    def make_shadow(self, name):
        """The same weights as another version."""
        shutil.copytree(f"models/{name}", self.folder / f"{name}-next")
        told = self.folder / f"{name}-next" / "attnd.json"
        told.write_text(json.dumps({**json.loads(told.read_text()), "version": "next"}))

    def configure(self, **more):
        """Two models with a shadow each, and a queue that is soon full."""
        self.configuration.write_text(json.dumps({
            "models": [{"name": name, "dir": str(self.folder / name)} for name in MODELS] +
                      [{"name": name, "dir": str(self.folder / f"{name}-next"), "shadow": 1} for name in MODELS],
            "audit_dir": str(self.folder / "audit"), "audit_full": "count", "queue_limit": 64, "log_level": "error",
            **more}))

    def start(self, *command):
        log = open(self.folder / (pathlib.Path(command[0]).name + ".log"), "w", encoding="utf-8")
        process = subprocess.Popen(command, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def start_attnd(self, port):
        process = subprocess.Popen([f"{self.build}/attnd", "--config", self.configuration, "--listen",
                                    f"127.0.0.1:{port}"], stdout=subprocess.PIPE, text=True)
        self.processes.append(process)
        return process, int(READY.search(process.stdout.readline())[1])

    def take_disk(self, is_taken):
        """Files of attnd may not grow: what a full disk does to them."""
        most = 1 if is_taken else resource.RLIM_INFINITY
        resource.prlimit(self.attnd.pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(timeout=120)
        shutil.rmtree(self.folder)


def expect(house, alert, began, paths=("/slack",)):
    """True if the alert comes, wherever it should."""
    for path in paths:
        came = house.receiver.wait(path, "FIRING", alert, 90)
        if came is None:
            print(f"FAIL  {alert} does not come to {path}", flush=True)
            return False
        print(f"ok    {alert} is at {path} {came - began:.0f} s after its cause", flush=True)
    return True


def expect_gone(house, alert):
    if house.receiver.wait("/slack", "RESOLVED", alert, 120) is None:
        print(f"FAIL  {alert} does not go", flush=True)
        return False
    print(f"ok    {alert} goes", flush=True)
    return True


def with_load(house, alerts, load):
    began = time.monotonic()
    try:
        return all([expect(house, alert, began, paths) for alert, paths in alerts])
    finally:
        load.stop()


def overload(house):
    body = json.dumps({"inputs": [{"text": TEXT * 20}] * 16})
    load = Load(lambda _: post(house.port, body), threads=24)
    return with_load(house, [("AttndUnavailable", ("/slack", "/webhook")), ("AttndShedding", ("/slack",)),
                             ("AttndQueueFilling", ("/slack",))], load)


def strange(house):
    pictures = [noise_png(seed) for seed in range(32)]
    load = Load(lambda i: (post(house.port, pictures[i % 32], "image/png"),
                           post(house.port, json.dumps({"text": TEXT * 40}))), pause_s=0.02)
    return with_load(house, [("AttndManyUnknown", ("/slack",)), ("AttndManyTruncated", ("/slack",)),
                             ("AttndDrift wafer-vit", ("/slack",)), ("AttndDrift testlog-bert", ("/slack",))], load)


def give_labels(house, labels):
    given = [{"id": name, "label": label} for name, label in labels.items()]
    told = json.loads(post(house.port, json.dumps({"feedback": given}), path="/feedback"))
    assert told["accepted"] == len(given), told


def wrong(house):
    """People say that all answers were wrong, and then that they were right."""
    began, said = time.monotonic(), {}
    for i in range(40):
        answer = json.loads(post(house.port, json.dumps({"text": usual_text(i), "id": f"text-{i}"})))
        said[answer["id"]] = answer["label"]
    give_labels(house, {name: "scan" if label != "scan" else "leakage" for name, label in said.items()})
    came = expect(house, "AttndAccuracyLow testlog-bert", began)
    give_labels(house, said)
    return expect_gone(house, "AttndAccuracyLow testlog-bert") and came


def usual(house):
    """Inputs like those of the references, of which every fifth gets a label: drift goes, and value shows."""
    pictures = [wafer_png(i) for i in range(USUAL)]

    def ask(i):
        post(house.port, pictures[i % USUAL], "image/png", f"/predict?id=wafer-{i}")
        post(house.port, json.dumps({"text": usual_text(i % USUAL)}))
        if i % 5 == 0:
            post(house.port, json.dumps({"id": f"wafer-{i}", "label": ("none", "Center")[i % 2]}), path="/feedback")
    load = Load(ask)
    gone = expect_gone(house, "AttndDrift")
    load.stop()
    return gone


def broken_reload(house):
    began = time.monotonic()
    house.configure(inputs_max="many")
    house.attnd.send_signal(signal.SIGHUP)
    came = expect(house, "AttndReloadFailed", began)
    house.configure()
    house.attnd.send_signal(signal.SIGHUP)
    return came


def full_disk(house):
    house.take_disk(True)
    load = Load(lambda _: post(house.port, json.dumps({"text": TEXT})), pause_s=0.05)
    came = with_load(house, [("AttndAuditLoss", ("/slack", "/webhook"))], load)
    house.take_disk(False)
    return came


def gone(house):
    began = time.monotonic()
    house.attnd.send_signal(signal.SIGTERM)
    house.attnd.wait(timeout=120)
    came = expect(house, "AttndDown", began, ("/slack", "/webhook"))
    house.attnd, _ = house.start_attnd(house.port)
    return came


def queries():
    """(dashboard, panel, query) of all dashboards, with every variable standing for anything."""
    for path in sorted(pathlib.Path("deploy/grafana/dashboards").glob("*.json")):
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel["targets"]:
                text = target["expr"].replace('"$job"', '"attnd"')
                yield path.stem, panel["title"], re.sub(r'"\$\w+"', '".*"', text)


def dashboards(house):
    """True if every query of the dashboards is understood; and finds something, where there was load."""
    passed = True
    for name, panel, query in queries():
        with urllib.request.urlopen(f"http://127.0.0.1:{house.prometheus}/api/v1/query?" +
                                    urllib.parse.urlencode({"query": query}), timeout=10) as reply:
            found = len(json.load(reply)["data"]["result"])
        if found == 0:
            print(f"FAIL  {name}: {panel}: nothing is found by {query}", flush=True)
            passed = False
    print("ok    every panel of the dashboards shows something" if passed else "", flush=True)
    return passed


CAUSES = (overload, strange, wrong, usual, dashboards, broken_reload, full_disk, gone)
GO_AGAIN = ("AttndDown", "AttndAuditLoss", "AttndReloadFailed", "AttndShedding", "AttndQueueFilling", "AttndManyUnknown",
            "AttndManyTruncated", "AttndUnavailable")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--build", default="build")
    house = House(parser.parse_args().build)
    try:
        time.sleep(5)  # some scrapes of rest, against which counters rise
        passed = all([cause(house) for cause in CAUSES])
        passed = all([expect_gone(house, alert) for alert in GO_AGAIN]) and passed
    finally:
        house.close()
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
