#!/usr/bin/env python3
"""Three attnd behind deploy/haproxy/haproxy.cfg, and what clients of the balancer see of their operation.

    python3 tests/haproxy/run.py [--build build] [--seconds 6] [--tls]     (from the repository's root; a minute)

Under load: one daemon is killed and started again, each is stopped by SIGTERM and started again in turn, each
gets a new version of its model, which is promoted, and reloads. No request may fail. Then what may be sent
again and what may not, where labels and kept inputs go, what the balancer keeps to itself, and what an answer
costs. --tls does the same with TLS on the way to the daemons. Everything listens on loopback, and only what
was started here is ended.
"""

import argparse
import hashlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from free_ports import free_ports  # noqa: E402

MODEL = "models/testlog-bert"
NAME = "testlog-bert"
TEXT = "1130 Ref bef zap REF_BE 3.97 v [3.178, 3.564] fail"
BUFFER = int(re.search(r"tune.bufsize (\d+)", pathlib.Path("deploy/haproxy/haproxy.cfg").read_text())[1])
KEYS = {"line": "predict,feedback,metrics", "operator": "admin,metrics"}
READY_S = 120


def ask(port, method, path, body=None, key="", has_tls=False, **headers):
    """(status, text) of one request on a connection of its own."""
    connection = (http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=ssl._create_unverified_context())
                  if has_tls else http.client.HTTPConnection("127.0.0.1", port, timeout=30))
    try:
        connection.request(method, path, body, {"Authorization": f"Bearer {key}", **headers})
        reply = connection.getresponse()
        return reply.status, reply.read().decode()
    finally:
        connection.close()


def cpu_s(pid):
    """Processor time of a process."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# ---- the processes ----

class Daemon:
    """attnd on a port that stays its own, with a state and an audit log that no other has."""

    def __init__(self, farm, number, port, admin):
        self.farm, self.port, self.admin = farm, port, admin
        self.folder = farm.folder / f"attnd{number}"
        self.folder.mkdir()
        self.log = open(self.folder / "log", "w", encoding="utf-8")
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [f"{self.farm.build}/attnd", "--listen", f"127.0.0.1:{self.port}", "--model", f"{NAME}={MODEL}",
             "--models-root", self.farm.folder / "registry", "--keys-file", self.farm.folder / "keys.txt",
             "--admin-listen", f"127.0.0.1:{self.admin}", "--workers", "1", "--threads-per-worker", "1",
             "--drain-delay-ms", "2000", "--audit-dir", self.folder / "audit", "--state-dir", self.folder / "state",
             "--keep-inputs-bytes", "1000000", *self.farm.tls_options], stdout=subprocess.DEVNULL, stderr=self.log)
        self.wait_ready()

    def wait_ready(self):
        deadline = time.monotonic() + READY_S
        while True:
            try:
                if self.operator("GET", "/readyz")[0] == 200:
                    return
            except (OSError, http.client.HTTPException):
                pass
            if time.monotonic() > deadline:
                raise SystemExit(f"attnd on port {self.port} is not ready: {self.folder}/log")
            time.sleep(0.05)

    def operator(self, method, path, body=None):
        return self.farm.ask(self.admin, method, path, body, key="operator")

    def change(self, method, path, body=None):
        status, told = self.operator(method, path, json.dumps(body) if body is not None else None)
        if status >= 300:
            raise SystemExit(f"{method} {path}: {status} {told}")

    def freeze(self):
        """Stops all threads, and waits until they are: one goes on until another has taken the signal."""
        self.process.send_signal(signal.SIGSTOP)
        threads, deadline = pathlib.Path(f"/proc/{self.process.pid}/task"), time.monotonic() + READY_S
        while {(thread / "stat").read_text().rpartition(")")[2].split()[0] for thread in threads.iterdir()} != {"T"}:
            if time.monotonic() > deadline:
                raise SystemExit("attnd was not stopped by SIGSTOP")
            time.sleep(0.001)

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.process.wait(timeout=60)


class Farm:
    def __init__(self, build, has_tls):
        self.build, self.has_tls = build, has_tls
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="attnd-haproxy-"))
        self.folder.chmod(0o755)
        self.write_keys()
        self.tls_options = self.make_certificate() if has_tls else []
        shutil.copytree(MODEL, self.folder / "registry" / "v2")
        told = self.folder / "registry" / "v2" / "attnd.json"
        told.write_text(json.dumps({**json.loads(told.read_text()), "version": "2"}))
        ports = free_ports(8)
        self.port, self.watch = ports[:2]
        self.daemons = [Daemon(self, i + 1, ports[2 + i], ports[5 + i]) for i in range(3)]
        self.write_configuration()
        self.haproxy = subprocess.Popen(["haproxy", "-db", "-f", self.folder / "haproxy.cfg"],
                                        stderr=open(self.folder / "haproxy.log", "w", encoding="utf-8"))
        self.wait_up(3)

    def write_keys(self):
        self.keys = {name: hashlib.sha256(os.urandom(32)).hexdigest() for name in KEYS}
        (self.folder / "keys.txt").write_text("".join(
            f"sha256:{hashlib.sha256(key.encode()).hexdigest()} {name} {KEYS[name]}\n"
            for name, key in self.keys.items()))
        (self.folder / "line.key").write_text(self.keys["line"])

    def make_certificate(self):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc",
                        "-days", "2", "-subj", "/CN=attnd.fab", "-addext", "subjectAltName=DNS:attnd.fab", "-keyout",
                        self.folder / "tls.key", "-out", self.folder / "tls.pem"], check=True, capture_output=True)
        return ["--tls-cert-file", self.folder / "tls.pem", "--tls-key-file", self.folder / "tls.key"]

    def write_configuration(self):
        """The file as it is, with the addresses of this run, and without what only root may do."""
        text = pathlib.Path("deploy/haproxy/haproxy.cfg").read_text()
        text = re.sub(r"^    (user|group|chroot) .*\n", "", text, flags=re.M)
        text = text.replace("127.0.0.1:8080", f"127.0.0.1:{self.port}").replace("127.0.0.1:8404",
                                                                                f"127.0.0.1:{self.watch}")
        for i, daemon in enumerate(self.daemons):
            text = text.replace(f"127.0.0.1:{8081 + i}", f"127.0.0.1:{daemon.port}")
        if self.has_tls:
            text = re.sub(r"^    default-server .*\n    # With TLS: (default-server .*)$", r"    \1", text, flags=re.M)
            text = text.replace("/etc/haproxy/attnd-ca.pem", str(self.folder / "tls.pem"))
            assert "ssl verify required" in re.sub("#.*", "", text)
        (self.folder / "haproxy.cfg").write_text(text)
        subprocess.run(["haproxy", "-c", "-q", "-f", self.folder / "haproxy.cfg"], check=True)

    def ask(self, port, method, path, body=None, key="line", **headers):
        """Asks the balancer or a daemon, which may speak TLS."""
        has_tls = self.has_tls and port not in (self.port, self.watch)
        return ask(port, method, path, body, self.keys.get(key, key), has_tls, **headers)

    def figure(self, name, server):
        text = ask(self.watch, "GET", "/metrics")[1]
        return float(re.search(rf'^{name}{{proxy="attnd",server="{server}".*}} (\S+)', text, re.M)[1])

    def is_up(self, number):
        text = ask(self.watch, "GET", "/metrics")[1]
        return f'haproxy_server_status{{proxy="attnd",server="attnd{number}",state="UP"}} 1' in text

    def wait_up(self, count):
        """Until haproxy sees so many daemons ready, and itself answers."""
        deadline = time.monotonic() + READY_S
        while time.monotonic() < deadline:
            try:
                if sum(self.is_up(i + 1) for i in range(3)) == count:
                    return
            except OSError:
                pass
            time.sleep(0.1)
        raise SystemExit(f"haproxy does not see {count} daemons ready")

    def close(self):
        for process in [self.haproxy] + [daemon.process for daemon in self.daemons]:
            if process.poll() is None:
                process.kill()
                process.wait()
        for daemon in self.daemons:
            daemon.log.close()
        shutil.rmtree(self.folder)


class Load:
    """attnd-load on a port until it is stopped."""

    def __init__(self, farm, port, connections=12):
        scheme = "https" if farm.has_tls and port != farm.port else "http"
        self.process = subprocess.Popen(
            [f"{farm.build}/attnd-load", "--url", f"{scheme}://127.0.0.1:{port}/predict", "--json", "--quiet",
             "--connections", str(connections), "--duration", "120", "--key-file", farm.folder / "line.key",
             "--text", TEXT, *(["--insecure"] if scheme == "https" else [])], stdout=subprocess.PIPE, text=True)

    def stop(self):
        """Its counts; `failed` are requests that were not answered as they should, or asked again."""
        assert self.process.poll() is None, "the load ended before its cause"
        self.process.send_signal(signal.SIGINT)
        told = json.loads(self.process.communicate(timeout=60)[0])
        told["failed"] = told["requests"] - told["outcomes"]["ok"] + told["retries"]
        return told


def say(is_so, claim, figures):
    print(f"{'ok   ' if is_so else 'FAIL '} {claim}: {figures}", flush=True)
    return is_so


def under_load(farm, claim, cause):
    """True if no request fails while the cause goes on, nor in a second before and after it."""
    load = Load(farm, farm.port)
    try:
        time.sleep(1)
        cause()
        time.sleep(1)
    finally:
        told = load.stop()
    failures = {name: count for name, count in told["outcomes"].items() if count and name != "ok"}
    p99, most = told["latency_ms"]["p99"], told["latency_ms"]["max"]
    return say(told["failed"] == 0 and told["requests"] > 100, claim,
               f"{told['requests']} requests, {told['failed']} failed {failures or ''} {told['examples'] or ''}"
               f"(p99 {p99:.0f} ms, max {most:.0f} ms)")


# ---- what an operator does ----

def kill(farm):
    farm.daemons[1].stop(signal.SIGKILL)
    farm.wait_up(2)
    farm.daemons[1].start()
    farm.wait_up(3)


def restart_in_turn(farm):
    for daemon in farm.daemons:
        code = daemon.stop()
        assert code == 0, f"SIGTERM ends attnd with {code}"
        daemon.start()
        farm.wait_up(3)


def change_model_in_turn(farm):
    for daemon in farm.daemons:
        daemon.change("POST", "/admin/models", {"name": NAME, "dir": "v2"})
        daemon.change("POST", f"/admin/models/{NAME}/2/promote", {"force": True, "reason": "seen in the lab"})
        daemon.change("DELETE", f"/admin/models/{NAME}/1")
        daemon.change("POST", "/admin/reload")


def versions(farm):
    return [json.loads(farm.ask(daemon.port, "GET", f"/models/{NAME}")[1])["version"] for daemon in farm.daemons]


def operations(farm):
    killed = under_load(farm, "a daemon that is killed and comes back is not noticed", lambda: kill(farm))
    again = sum(farm.figure("haproxy_server_retry_warnings_total", f"attnd{i + 1}") for i in range(3))
    elsewhere = sum(farm.figure("haproxy_server_redispatch_warnings_total", f"attnd{i + 1}") for i in range(3))
    return all([killed,
                say(again + elsewhere > 0, "what it had was sent again",
                    f"{again:.0f} retries, {elsewhere:.0f} to another daemon"),
                under_load(farm, "a restart of each in turn is not noticed", lambda: restart_in_turn(farm)),
                under_load(farm, "another model of each in turn is not noticed", lambda: change_model_in_turn(farm)),
                say(versions(farm) == ["2"] * 3, "each has it", versions(farm))])


# ---- what may be sent again ----

def statuses_of_kill(farm, size):
    """Statuses of six requests of so many bytes, two of which are at a daemon that is killed meanwhile."""
    victim = farm.daemons[2]
    victim.freeze()
    body, came = json.dumps({"text": TEXT}).ljust(size), []
    asking = [threading.Thread(target=lambda: came.append(farm.ask(farm.port, "POST", "/predict", body)[0]))
              for _ in range(6)]
    for thread in asking:
        thread.start()
    deadline = time.monotonic() + READY_S
    while len(came) < 4 and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.2)
    victim.stop(signal.SIGKILL)
    for thread in asking:
        thread.join()
    victim.start()
    farm.wait_up(3)
    return sorted(came)


def largest(farm):
    within, beyond = statuses_of_kill(farm, BUFFER - 4096), statuses_of_kill(farm, BUFFER + 4096)
    whole = farm.ask(farm.port, "POST", "/predict", json.dumps({"text": TEXT}).ljust(16 * BUFFER))[0]
    return all([say(within == [200] * 6, "requests that fit into a buffer outlive their daemon", within),
                # Over TLS the stopped daemon shakes no hand, so that nothing was sent.
                say(set(beyond) == ({200} if farm.has_tls else {200, 502}), "larger ones that were sent are 502", beyond),
                say(whole == 200, "without a kill they are answered", f"{16 * BUFFER} bytes: {whole}")])


def nobody(farm):
    """All stopped: the balancer's own answer tells when to come back."""
    for daemon in farm.daemons:
        daemon.process.send_signal(signal.SIGTERM)
    farm.wait_up(0)
    for daemon in farm.daemons:
        daemon.process.wait(timeout=60)
    connection = http.client.HTTPConnection("127.0.0.1", farm.port, timeout=30)
    connection.request("POST", "/predict", json.dumps({"text": TEXT}))
    reply = connection.getresponse()
    told, retry = json.loads(reply.read()), reply.getheader("Retry-After")
    connection.close()
    ready = ask(farm.port, "GET", "/readyz")[0]
    for daemon in farm.daemons:
        daemon.start()
    farm.wait_up(3)
    return say(reply.status == 503 and retry == "2" and told["status"] == 503 and ready == 503,
               "without any daemon the answer is a problem that says when to come back", f"{reply.status}, after {retry} s")


# ---- what is of one daemon ----

def named(path, name, by_query):
    return f"{path}/{name}" if "/" not in name else f"{path}{by_query}?{urllib.parse.urlencode({'id': name})}"


def labels(farm):
    """Each label finds the daemon that remembers its prediction, and so does a kept input."""
    names = [f"die-{i}" if i % 3 else f"lot {i}/die+{i}" for i in range(24)]  # no path can hold each third
    for name in names:
        farm.ask(farm.port, "POST", "/predict", json.dumps({"text": "SCAN chain 3 FAIL", "id": name}))
    deadline = time.monotonic() + READY_S  # inputs are kept after their reply
    while (shown := [farm.ask(farm.port, "GET", named("/review", name, "/input"))[0] for name in names]) != [200] * len(names):
        if time.monotonic() > deadline:
            break
    taken = 0
    for i, name in enumerate(names):
        one = {"id": name, "label": "scan"}
        body = json.dumps(one if i % 2 else {"feedback": [one]})
        taken += json.loads(farm.ask(farm.port, "POST", "/feedback", body)[1])["accepted"]
    at = [len(json.loads(farm.ask(d.port, "GET", "/review?limit=100")[1])["inputs"]) for d in farm.daemons]
    gone = [farm.ask(farm.port, "DELETE", named("/feedback", name, ""))[0] for name in names]
    return say(taken == len(names) and set(shown + gone) == {200} and all(at),
               "labels and kept inputs find the daemon that answered", f"{taken} labels, {at} inputs at each daemon")


def kept_back(farm):
    asked = [("GET", "/metrics"), ("POST", "/admin/reload"), ("GET", "//admin/models"), ("GET", "/review"),
             ("GET", "/review/groups"), ("GET", "/metrics/"), ("GET", "/admin/models")]
    told = [farm.ask(farm.port, method, path, key="operator") for method, path in asked]
    # Each byte of those paths that needs no encoding, and the slashes, encoded; of both cases.
    spelt = sorted({path[:i] + form % ord(path[i]) + path[i + 1:] for method, path in asked if method == "GET"
                    for i in range(1, len(path)) for form in ("%%%02x", "%%%02X")})
    hidden = {farm.ask(port, "GET", path, key="operator")[0] for path in spelt
              for port in (farm.port, farm.daemons[0].port)}
    passed = [path for path in ("/models", f"/models/{NAME}", "/openapi.json", "/", "/healthz")
              if farm.ask(farm.port, "GET", path)[0] == 200]
    wrong = farm.ask(farm.port, "POST", "/predict", json.dumps({"text": TEXT}), key="guessed")[0]
    return all([say(all(status == 404 and "behind this balancer" in text for status, text in told),
                    "changes, figures and lists are not behind the balancer", [status for status, _ in told]),
                say(hidden == {400}, "nor in any other spelling, at the balancer and at a daemon",
                    f"{len(spelt)} paths: {sorted(hidden)}"),
                say(len(passed) == 5, "the rest is", passed),
                say(wrong == 401, "keys are judged by the daemons", wrong)])


def trace(farm):
    connection = http.client.HTTPConnection("127.0.0.1", farm.port, timeout=30)
    connection.request("POST", "/predict", json.dumps({"text": TEXT}), {
        "Authorization": f"Bearer {farm.keys['line']}",
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})
    reply = connection.getresponse()
    reply.read()
    told = reply.getheader("traceparent", "")
    connection.close()
    return say(told.startswith("00-0af7651916cd43dd8448eb211c80319c-"), "a trace goes through", told)


# ---- what it costs ----

def measure(farm, port, seconds, connections):
    """Answers, and the processor's seconds of daemons and balancer for a thousand of them."""
    processes = [d.process.pid for d in farm.daemons] + [farm.haproxy.pid]
    before = [cpu_s(pid) for pid in processes]
    load = Load(farm, port, connections)
    time.sleep(seconds)
    told = load.stop()
    spent = [cpu_s(pid) - was for pid, was in zip(processes, before)]
    answers = told["outcomes"]["ok"]
    return answers, told["goodput_per_s"], 1000 * sum(spent[:3]) / answers, 1000 * spent[3] / answers


def cost(farm, seconds):
    """Told, not judged: the machine is shared, and the load is on the same processors."""
    _, rate, one, _ = measure(farm, farm.daemons[0].port, seconds, 4)
    _, rate3, three, proxy = measure(farm, farm.port, seconds, 12)
    print(f"      one daemon asked directly: {rate:.0f} answers/s, {one:.3f} s of processor for 1000 answers\n"
          f"      three behind haproxy: {rate3:.0f} answers/s, {three:.3f} s for 1000, haproxy {proxy:.3f} s\n"
          f"      answers a second of a daemon's core: {one / three:.2f} of one's, with haproxy's own time "
          f"{one / (three + proxy):.2f}", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--tls", action="store_true")
    args = parser.parse_args()
    if shutil.which("haproxy") is None:
        return "haproxy is missing: deploy/install-deps.sh haproxy installs it"
    farm = Farm(args.build, args.tls)
    try:
        passed = all([operations(farm), largest(farm), nobody(farm), labels(farm), kept_back(farm), trace(farm),
                      cost(farm, args.seconds)])
    finally:
        farm.close()
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
