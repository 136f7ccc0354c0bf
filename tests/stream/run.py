"""attnd-stream against a real broker: each message is answered exactly once, whatever is killed.

    python3 tests/stream/run.py --build build [--messages 100000] [CLAIM ...]

Claims are the functions below whose names begin with claim_; without names all are run."""

import argparse
import collections
import hashlib
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

from broker import PASSWORD, USER, Broker

ROOT = pathlib.Path(__file__).resolve().parents[2]
WAIT_S = 300
PARTITIONS = 8
SMALL_BATCH = 8  # so that there is still something in the stream when something happens


def write_settings(place, name, topic, **options):
    settings = {"model": str(ROOT / "models/testlog-bert"), "dtype": "int8", "threads": 1,
                "brokers": place.broker.address, "topics": topic, "output_topic": f"{topic}.verdicts",
                "group": f"group-{topic}", "member": name, "session_timeout_ms": 6000,
                "transaction_timeout_ms": 10000, "metrics_listen": "127.0.0.1:0", **options}
    path = place.work / f"{topic}-{name}.json"
    path.write_text(json.dumps(settings))
    return path


class Member:
    """One attnd-stream."""

    def __init__(self, place, name, topic, **options):
        self.place, self.name = place, name
        path = write_settings(place, name, topic, **options)
        self.log = place.work / f"{topic}-{name}.log"
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([place.build / "attnd-stream", "--config", path], stdout=subprocess.PIPE,
                                            stderr=log, text=True)
        place.members.append(self)
        line = self.process.stdout.readline()
        found = re.search(r"(http://\S+)/metrics", line)
        assert found, f"{name} said {line!r}: {self.log.read_text()}"
        self.url = found[1]

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=30) as answer:
            return answer.read().decode()

    def metrics(self):
        return {name: float(value) for name, value in re.findall(r"^(attnd_stream_\S+) (\S+)$", self.get("/metrics"),
                                                                  re.M)}

    def answered(self):
        return sum(value for name, value in self.metrics().items() if name.startswith("attnd_stream_messages_total"))

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.process.wait(120)


class Place:
    """A broker, and what was started beside it."""

    def __init__(self, build, work):
        self.build, self.work, self.members = build, work, []
        self.broker = Broker(build / "stream-jars", work)

    def close(self):
        for member in self.members:
            if member.process.poll() is None:
                member.process.kill()
                member.process.wait()
        self.broker.stop()


def wait_until(what, holds):
    end = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < end, f"not within {WAIT_S} s: {what}"
        time.sleep(0.5)


def make_topics(place, topic, dead=False, limits=None):
    place.broker.topic(topic, PARTITIONS)
    for kind in ("verdicts", *(["dead"] if dead else [])):
        limit = [f"max.message.bytes={limits[kind]}"] if kind in (limits or {}) else []
        place.broker.topic(f"{topic}.{kind}", PARTITIONS, *limit)


def texts(count):
    return [f"k{i}\tSCAN chain {i % 97} FAIL" for i in range(count)]


def exactly_once(place, topic, count):
    """Every key once in the output, in the partition of its input."""
    def ends():
        out = place.broker.kcat("-C", "-e", "-q", "-t", f"{topic}.verdicts", "-o", "beginning", "-X",
                                "isolation.level=read_committed", "-f", "%k\\n")
        return out.count(b"\n")
    wait_until(f"{count} verdicts in {topic}.verdicts", lambda: ends() >= count)
    keys = collections.Counter(place.broker.read(f"{topic}.verdicts").split())
    more = {key: times for key, times in keys.items() if times != 1}
    missing = [f"k{i}" for i in range(count) if f"k{i}" not in keys]
    assert not more and not missing and len(keys) == count, \
        f"{len(keys)} keys, {sum(keys.values())} verdicts, missing {missing[:5]}, not once {list(more.items())[:5]}"
    inputs, verdicts = (dict(line.split() for line in place.broker.read(name, "%k %p\\n").splitlines())
                        for name in (topic, f"{topic}.verdicts"))
    assert inputs == verdicts, "a verdict is in another partition than its input"
    return sum(keys.values())


def lag_is_over(members):
    pages = [member.metrics() for member in members]
    return sum(page["attnd_stream_partitions"] for page in pages) == PARTITIONS and \
        all(page["attnd_stream_lag_messages"] == 0 for page in pages)


def claim_one_of_two_killed_in_mid_stream_loses_and_doubles_nothing(place, count):
    make_topics(place, "kill")
    a, b = (Member(place, name, "kill", batch_messages=8 * SMALL_BATCH) for name in "ab")
    wait_until("both have partitions", lambda: all(member.metrics()["attnd_stream_partitions"] > 0 for member in (a, b)))
    start = time.monotonic()
    place.broker.produce("kill", texts(count))
    wait_until("both answer", lambda: a.answered() > count / 20 and b.answered() > count / 20)
    before = (a.answered(), b.answered())
    b.end(signal.SIGKILL)
    assert sum(before) < 0.9 * count, f"killed when {before} of {count} were answered: nothing was in the stream"
    wait_until("the other has all partitions and no lag", lambda: lag_is_over([a]))
    verdicts = exactly_once(place, "kill", count)
    seconds = time.monotonic() - start
    assert a.end() == 0
    return f"{count} in, {verdicts} out; killed after {before[0]:.0f} and {before[1]:.0f}; {count / seconds:.0f} a second"


def claim_a_member_that_comes_back_goes_on_at_once(place, count):
    make_topics(place, "back")
    place.broker.produce("back", texts(count))
    a = Member(place, "a", "back", transaction_timeout_ms=600000)
    wait_until("it answers", lambda: a.answered() > count / 10)
    a.end(signal.SIGKILL)
    again = Member(place, "a", "back", transaction_timeout_ms=600000)
    verdicts = exactly_once(place, "back", count)
    assert again.end() == 0
    return f"{count} in, {verdicts} out"


def claim_a_broker_that_restarts_is_waited_for(place, count):
    make_topics(place, "restart")
    a, b = (Member(place, name, "restart", batch_messages=SMALL_BATCH) for name in "ab")
    wait_until("both have partitions", lambda: all(member.metrics()["attnd_stream_partitions"] > 0 for member in (a, b)))
    place.broker.produce("restart", texts(count))
    wait_until("both answer", lambda: a.answered() > 0 and b.answered() > 0)
    place.broker.stop()
    place.broker.start()
    verdicts = exactly_once(place, "restart", count)
    assert (a.end(), b.end()) == (0, 0)
    return f"{count} in, {verdicts} out"


def claim_members_come_and_go_under_load(place, count):
    make_topics(place, "change")
    place.broker.produce("change", texts(count))
    a = Member(place, "a", "change", batch_messages=SMALL_BATCH)
    wait_until("it answers", lambda: a.answered() > count / 20)
    b = Member(place, "b", "change", batch_messages=SMALL_BATCH)
    wait_until("the second answers", lambda: b.answered() > 0)
    status = a.end()
    c = Member(place, "c", "change")
    verdicts = exactly_once(place, "change", count)
    rebalances = b.metrics()["attnd_stream_rebalances_total"]
    assert (status, b.end(), c.end()) == (0, 0, 0) and rebalances >= 3
    return f"{count} in, {verdicts} out; {rebalances:.0f} rebalances of the one that stayed"


def send(place, topic, key, value, *headers):
    path = place.work / "value"
    path.write_bytes(value)
    more = [argument for header in headers for argument in ("-H", header)]
    place.broker.kcat("-P", "-t", topic, "-k", key, *more, str(path))


def claim_what_cannot_be_read_is_a_dead_letter_with_its_problem(place, _):
    make_topics(place, "poison", dead=True)
    member = Member(place, "a", "poison", dead_letter_topic="poison.dead", message_bytes_max=4096)
    poison = {"latin1": (b"caf\xe9", "422"), "long": (b"x" * 5000, "413"), "json": (b'{"text": ', "400"),
              "member": (b'{"txt": "a"}', "422"), "type": (b"a", "415"), "picture": (b"GIF89a", "422"),
              "blank": (b"  ", "422")}
    types = {"json": "application/json", "member": "application/json", "type": "application/xml",
             "picture": "image/png"}
    for key, (value, _) in poison.items():
        send(place, "poison", key, value, *([f"content-type={types[key]}"] if key in types else []))
        send(place, "poison", f"good-{key}", b"SCAN chain 3 FAIL")
    wait_until("all are answered", lambda: member.answered() == 2 * len(poison))
    assert sorted(place.broker.read("poison.verdicts").split()) == sorted(f"good-{key}" for key in poison)
    dead = dict(line.split(" ", 1) for line in place.broker.read("poison.dead", "%k %h\\n").splitlines())
    assert dead.keys() == poison.keys(), dead
    for key, headers in dead.items():
        assert f'"status":{poison[key][1]}' in headers.replace(" ", ""), (key, headers)
        assert "source=poison/" in headers and "id=" in headers and "traceparent=00-" in headers, headers
    bytes_out = place.broker.kcat("-C", "-e", "-q", "-t", "poison.dead", "-o", "beginning", "-f", "%k=%s;")
    assert b"latin1=caf\xe9;" in bytes_out, "a dead letter is not as it came"
    assert member.end() == 0
    return f"{len(poison)} dead letters, {len(poison)} verdicts between them"


def random_words(seed, count):
    """A text of which no two words are the same, so that its verdict is not compressed much."""
    return " ".join(hashlib.sha256(f"{seed}-{i}".encode()).hexdigest()[:6] for i in range(count))


def claim_a_verdict_too_large_for_its_topic_is_a_problem_and_the_others_are_committed(place, count):
    make_topics(place, "large", dead=True, limits={"verdicts": 2000})
    make_topics(place, "wide", limits={"verdicts": 2000})
    lines = [f"k{i}\t{random_words(i, 300) if i % 50 == 7 else 'SCAN FAIL'}" for i in range(count // 5)]
    long = {f"k{i}" for i in range(count // 5) if i % 50 == 7}
    short = {line.split("\t")[0] for line in lines} - long
    said = []
    for topic, options in (("large", {"dead_letter_topic": "large.dead"}), ("wide", {})):
        place.broker.produce(topic, lines)
        member = Member(place, "a", topic, explain="default", top_k="all", **options)
        wait_until("all are answered", lambda: member.answered() == len(lines))
        out = dict(line.split("|", 1) for line in place.broker.read(f"{topic}.verdicts", "%k|%s\\n").splitlines())
        problems = {key: json.loads(value) for key, value in out.items() if "error_type" in value}
        assert out.keys() == (short if options else short | long), (len(out), len(short), len(long))
        assert problems.keys() == (set() if options else long), problems
        if options:
            dead = dict(line.split("|", 1) for line in place.broker.read(f"{topic}.dead", "%k|%h|%s\\n").splitlines())
            assert dead.keys() == long, dead.keys()
            problems = {key: json.loads(re.search("problem=({.*})", value)[1]) for key, value in dead.items()}
            assert all(value.endswith(random_words(key[1:], 300)) for key, value in dead.items())
        assert all(problem["status"] == 413 and "too large for topic" in problem["detail"]
                   for problem in problems.values()), problems
        aborts = member.metrics()['attnd_stream_transactions_total{result="abort"}']
        said.append(f"{aborts:.0f}")
        assert member.end() == 0
        assert "reply_refused" in member.log.read_text()
    return f"{len(short)} verdicts, {len(long)} problems; {' and '.join(said)} times other replies"


def claim_an_input_too_large_for_the_dead_letters_goes_there_without_its_value(place, _):
    make_topics(place, "bare", dead=True, limits={"dead": 2000})
    member = Member(place, "a", "bare", dead_letter_topic="bare.dead", message_bytes_max=4096)
    for key in ("a", "b"):
        send(place, "bare", f"long-{key}", random_words(key, 3000).encode())
        send(place, "bare", f"good-{key}", b"SCAN chain 3 FAIL")
    wait_until("all are answered", lambda: member.answered() == 4)
    dead = dict(line.split("|", 1) for line in place.broker.read("bare.dead", "%k|%S %h\\n").splitlines())
    assert dead.keys() == {"long-a", "long-b"}, dead
    assert all(value.startswith("0 ") and "source=bare/" in value and '"status":413' in value.replace(" ", "")
               for value in dead.values()), dead
    assert sorted(place.broker.read("bare.verdicts").split()) == ["good-a", "good-b"]
    assert member.end() == 0
    return "2 dead letters of their headers, 2 verdicts"


def claim_verdicts_have_the_object_of_predict_and_their_headers(place, _):
    make_topics(place, "headers")
    member = Member(place, "a", "headers")
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    send(place, "headers", "k", b"SCAN chain 3 FAIL", "id=wafer-7", f"traceparent=00-{trace}-00f067aa0ba902b7-01")
    send(place, "headers", "l", b'{"text": "SCAN chain 3 FAIL", "id": "body-8", "context": {"lot": "A1"}}',
         "content-type=application/json")
    send(place, "headers", "m", b" ")
    wait_until("all are answered", lambda: member.answered() == 3)
    lines = dict(line.split("|", 1) for line in place.broker.read("headers.verdicts", "%k|%h|%s\\n").splitlines())
    headers, body = lines["k"].split("|", 1)
    verdict = json.loads(body)
    assert verdict["id"] == "wafer-7" and verdict["label"] and verdict["predictions"] and "digest" in verdict["model"]
    assert "id=wafer-7" in headers and f"traceparent=00-{trace}-" in headers and "00f067aa0ba902b7" not in headers
    second = json.loads(lines["l"].split("|", 1)[1])
    assert second["id"] == "body-8" and second["score"] == verdict["score"] and second["context"] == {"lot": "A1"}
    problem = json.loads(lines["m"].split("|", 1)[1])
    assert problem["status"] == 422 and re.fullmatch("[0-9a-f]{16}", problem["id"]), problem
    assert member.get("/readyz") == "ready\n" and member.get("/healthz") == "ok\n"
    java = place.broker.java("org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server",
                             place.broker.address, "--topic", "headers.verdicts", "--from-beginning",
                             "--isolation-level", "read_committed", "--max-messages", "3", "--timeout-ms", "60000")
    assert sorted(json.loads(line)["id"] for line in java.splitlines()) == \
        sorted(["wafer-7", "body-8", problem["id"]]), java
    assert member.end() == 0
    return "kcat and Java's console consumer read the same three"


def claim_a_second_process_of_a_name_ends_the_first(place, _):
    make_topics(place, "twins")
    first = Member(place, "a", "twins")
    second = Member(place, "a", "twins")
    place.broker.produce("twins", texts(200))
    wait_until("the first ends, or all are answered by the second",
               lambda: first.process.poll() is not None or second.answered() == 200)
    place.broker.produce("twins", [f"more{i}\tSCAN" for i in range(200)])
    wait_until("the first ends", lambda: first.process.poll() is not None)
    assert first.process.returncode == 1 and "same group and member" in first.log.read_text(), first.log.read_text()
    assert second.end() == 0
    return "the first ended with status 1"


def secrets(place, listener, authority="ca", password=PASSWORD, client=None):
    """The options with which a member is let in at a listener."""
    keys = place.broker.keys
    options = {"brokers": place.broker.addresses[listener], "security_protocol": "ssl",
               "ssl_ca_file": str(keys[f"{authority}.crt"])}
    if client is not None:
        options |= {"ssl_certificate_file": str(keys[f"{client}.crt"]), "ssl_key_file": str(keys[f"{client}.key"])}
    if listener == "SASL":
        (place.work / password).write_text(f"{password}\n")
        options |= {"security_protocol": "sasl_ssl", "sasl_username": USER,
                    "sasl_password_file": str(place.work / password)}
    return options


def claim_brokers_are_reached_by_tls_and_scram(place, count):
    ways = {"tls": secrets(place, "TLS"), "certificate": secrets(place, "MUTUAL", client="client"),
            "scram": secrets(place, "SASL"), "plain": {**secrets(place, "SASL"), "sasl_mechanism": "PLAIN"}}
    each = count // 10
    for way, options in ways.items():
        make_topics(place, way)
        place.broker.produce(way, texts(each))
        member = Member(place, "a", way, **options)
        exactly_once(place, way, each)
        assert member.end() == 0 and PASSWORD not in member.log.read_text(), member.log.read_text()
    return f"{each} in and out by each of {', '.join(ways)}"


def refused(place, name, *says, **options):
    """Ends by itself with status 1, and its last line says why."""
    path = write_settings(place, name, "refused", metrics_listen="none", **options)
    done = subprocess.run([place.build / "attnd-stream", "--config", path], capture_output=True, text=True,
                          timeout=WAIT_S, check=False)
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1 and done.stdout == "" and all(text in last for text in says), (done.returncode, last)
    assert PASSWORD not in done.stderr, "a password is in the log"


def claim_a_wrong_password_or_an_unknown_authority_is_said(place, _):
    refused(place, "password", "SASL authentication error", "invalid credentials",
            **secrets(place, "SASL", password=f"not-{PASSWORD}"))
    refused(place, "authority", "certificate could not be verified", **secrets(place, "TLS", authority="stranger"))
    other_name = {**secrets(place, "TLS"), "brokers": place.broker.addresses["TLS"].replace("127.0.0.1", "localhost")}
    refused(place, "name", "certificate could not be verified", **other_name)
    path = write_settings(place, "nothing", "refused", **secrets(place, "MUTUAL"))
    log = place.work / "refused-nothing.log"
    with open(log, "wb") as out, subprocess.Popen([place.build / "attnd-stream", "--config", path],
                                                  stderr=out) as process:
        wait_until("who shows no certificate is told", lambda: "alert" in log.read_text())
        process.terminate()
        assert process.wait(120) == 0, log.read_text()
    return "a password, an authority and a name end it with status 1; without a certificate it says so and waits"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--messages", type=int, default=100000)
    parser.add_argument("claims", nargs="*")
    options = parser.parse_args()
    claims = [(name[6:], check) for name, check in globals().items() if name.startswith("claim_")]
    work = options.build.resolve() / "stream-test"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    place = Place(options.build.resolve(), work)
    failures = 0
    try:
        for name, check in claims:
            if options.claims and not any(wanted in name for wanted in options.claims):
                continue
            start = time.monotonic()
            try:
                said = check(place, options.messages if "killed" in name else options.messages // 10)
                print(f"ok   {name}: {said} ({time.monotonic() - start:.0f} s)", flush=True)
            except (AssertionError, RuntimeError, OSError, KeyError, ValueError) as error:
                failures += 1
                print(f"FAIL {name}: {type(error).__name__}: {error}", flush=True)
    finally:
        place.close()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
