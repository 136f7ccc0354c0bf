"""The package attnd-client as it is installed from its wheel: types (mypy), its retries against a transport that says
what the test wants, and its methods against a server on loopback.

    BUILD=build python3 tests/clients/test_python.py      (from the repository's root; it needs PyPI)

A virtual environment in BUILD gets the wheel and its one dependency; this file then runs itself there."""

import asyncio
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest
import venv

ROOT = pathlib.Path.cwd()
BUILD = ROOT / os.environ.get("BUILD", "build")
PLACE = BUILD / "clients-python"
PYTHON = PLACE / "venv/bin/python"
IMAGE = ROOT / "tests/data/examples/wafer_map.png"
PAST = PLACE / "past.index"


def make():
    """The wheel, and the environment that has it and what checks it."""
    def run(*command):
        subprocess.run(command, check=True, cwd=ROOT)
    if not PYTHON.exists():
        venv.create(PLACE / "venv", with_pip=True)
        run(PYTHON, "-m", "pip", "install", "-q", "mypy", "setuptools", "wheel")
    for old in PLACE.glob("*.whl"):
        old.unlink()
    source = PLACE / "source"
    run("rm", "-rf", source)
    run("cp", "-r", "clients/python", source)  # setuptools writes beside what it builds
    run(PYTHON, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", PLACE, source)
    wheel, = PLACE.glob("attnd_client-*.whl")
    run(PYTHON, "-m", "pip", "install", "-q", "--force-reinstall", "--no-deps", wheel)
    run(PYTHON, "-m", "pip", "install", "-q", wheel)
    run(PYTHON, "-m", "mypy", "--strict", "-p", "attnd_client")
    cases = PLACE / "past.jsonl"
    cases.write_text("".join(json.dumps({"id": f"case{i}", "text": text, "label": "seen"}) + "\n"
                             for i, text in enumerate(("leakage at pin 3", "scan chain 7 is broken"))))
    run(BUILD / "attnd-index", "build", "--model", "tests/data/embedding/st-bert-0", "--data", cases, "--out", PAST)


if __name__ == "__main__" and "--installed" not in sys.argv:
    make()
    os.chdir(ROOT)
    sys.exit(subprocess.run([PYTHON, "-B", "-P", __file__, "--installed"], check=False).returncode)

import httpx  # noqa: E402 (in the environment)

import attnd_client  # noqa: E402
from attnd_client import AsyncClient, Client  # noqa: E402


class Server:
    def __init__(self, *options):
        self.process = subprocess.Popen(
            [BUILD / "attnd", "--listen", "127.0.0.1:0", "--model", "text=tests/data/golden/bert-3", "--model",
             "wafer=models/wafer-vit", "--model", f"vectors=tests/data/embedding/st-bert-0,index={PAST}", "--model",
             "ranks=tests/data/rerank/rerank-bert-0", "--model", "pins=tests/data/tags/ner-bert-0", "--model",
             "qa=tests/data/answers/qa-bert-0", "--inputs-max", "4", *options],
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = "http://127.0.0.1:" + re.search(r":(\d+) ", self.process.stdout.readline())[1]

    def stop(self):
        self.process.terminate()
        self.process.communicate(timeout=60)


class Methods(unittest.TestCase):
    """The same calls of both clients."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.stop)

    def both(self, call):
        """What call(client) gives, of both clients; it must be the same but for times and ids of the server."""
        with Client(self.server.url) as client:
            one = call(client)
            one = list(one) if hasattr(one, "__next__") else one

        async def ask():
            async with AsyncClient(self.server.url) as client:
                made = call(client)
                return [line async for line in made] if hasattr(made, "__aiter__") else await made
        other = asyncio.run(ask())
        self.assertEqual(self.without_times(one), self.without_times(other))
        return one

    def without_times(self, answer):
        if isinstance(answer, list):
            return [self.without_times(one) for one in answer]
        if not isinstance(answer, dict):
            return answer
        return {key: value for key, value in answer.items() if key not in ("timing_ms", "id", "replaced")}

    def test_a_text_a_picture_and_a_lot_are_answered(self):
        answer = self.both(lambda attnd: attnd.predict("scan", top_k=2, id="one", context={"lot": "A1", "wafer": 3}))
        self.assertEqual((answer["id"], answer["context"]), ("one", {"lot": "A1", "wafer": 3}))
        self.assertEqual(len(answer["predictions"]), 2)
        self.assertEqual(self.both(lambda attnd: attnd.predict(IMAGE))["label"], "Scratch")
        self.assertEqual(self.both(lambda attnd: attnd.predict(IMAGE.read_bytes()))["label"], "Scratch")
        lot = self.both(lambda attnd: attnd.predict_lot(ROOT / "tests/data/examples/lot.stdf", context={"tool": "P"}))
        self.assertEqual([one["id"] for one in lot], ["W01", "W02", "W03"])

    def test_spans_and_answers_are_parts_of_the_text(self):
        text, asked = "Lot A1: leakage at vdd_io: 3.97 V", "Which pin leaks?"
        spans = self.both(lambda attnd: attnd.predict(text, model="pins", aggregation="first"))["spans"]
        self.assertEqual([text[span["start"]:span["end"]] for span in spans], [span["text"] for span in spans])
        answer = self.both(lambda attnd: attnd.predict({"text": text, "question": asked}, model="qa"))["answer"]
        self.assertEqual(text[answer["start"]:answer["end"]], answer["text"])

    def test_a_str_is_a_text_although_it_names_a_picture(self):
        self.assertEqual(self.both(lambda attnd: attnd.predict(str(IMAGE)))["model"]["name"], "text")

    def test_lists_are_cut_to_what_the_server_takes(self):
        texts = [f"leakage at pin {i}" for i in range(11)]
        results = self.both(lambda attnd: attnd.predict_many([*texts, "", IMAGE]))
        self.assertEqual(len(results), 13)
        self.assertEqual(results[11]["error_type"], "unusable")
        vectors = self.both(lambda attnd: attnd.embed(texts, model="vectors", dimensions=3))
        self.assertEqual([len(vector) for vector in vectors], [3] * 11)
        ranked = self.both(lambda attnd: attnd.rerank("leakage", texts, top_n=5))
        self.assertEqual(len(ranked), 5)
        self.assertEqual(ranked, sorted(ranked, key=lambda row: -row["score"]))

    def test_past_cases_the_nearest_first(self):
        found = self.both(lambda attnd: attnd.similar("scan chain 7 is broken", k=2, model="vectors"))
        self.assertEqual([(one["id"], one["label"]) for one in found], [("case1", "seen"), ("case0", "seen")])
        self.assertEqual(len(self.both(lambda attnd: attnd.similar({"text": "pin 3"}, k=1, model="vectors"))), 1)

    def test_lines_are_answered_in_order_each_in_its_place(self):
        given = [{"text": f"pin {i}", "id": f"x{i}"} for i in range(100)] + [""]
        lines = self.both(lambda attnd: attnd.predict_lines(given, top_k=2, context={"lot": "A"}))
        self.assertEqual([line["index"] for line in lines], list(range(101)))
        self.assertEqual([line["id"] for line in lines[:100]], [f"x{i}" for i in range(100)])
        self.assertEqual((lines[100]["status"], lines[0]["context"]), (422, {"lot": "A"}))

    def test_a_caller_may_stop_reading_lines(self):
        with Client(self.server.url) as client:
            for line in client.predict_lines("scan" for _ in range(4000)):
                break
            self.assertTrue(client.ready())

    def test_models_readiness_and_feedback(self):
        models = self.both(lambda attnd: attnd.models())
        self.assertEqual([model["name"] for model in models], ["text", "wafer", "vectors", "ranks", "pins", "qa"])
        self.assertTrue(self.both(lambda attnd: attnd.ready()))
        with Client(self.server.url) as client:
            label = client.predict("scan", id="told")["label"]
        self.assertEqual(self.both(lambda attnd: attnd.feedback("told", label))["id"], "told")
        with Client(self.server.url) as client:
            with self.assertRaises(attnd_client.AttndError):
                client.feedback("told", "no such label")
        with Client("http://127.0.0.1:9") as client:
            self.assertFalse(client.ready())

    def test_refusals_are_exceptions_by_kind(self):
        for kind, status, call in ((attnd_client.Unusable, 422, lambda attnd: attnd.predict("")),
                                   (attnd_client.NotFound, 404, lambda attnd: attnd.predict("a", model="none")),
                                   (attnd_client.NotFound, 404, lambda attnd: attnd.embed("a", model="none")),
                                   (attnd_client.Unusable, 422, lambda attnd: list(
                                       attnd.predict_lines(["a"], topk=2)))):
            with Client(self.server.url) as client, self.assertRaises(kind) as caught:
                call(client)
            self.assertEqual(caught.exception.status, status)
            self.assertTrue(caught.exception.detail)


class Retries(unittest.TestCase):
    """A server that answers as it is told."""

    def client(self, *replies):
        self.asked, self.slept = [], []
        replies = iter(replies)

        def answer(request):
            self.asked.append(request.read().decode())
            reply = next(replies)
            if isinstance(reply, Exception):
                raise reply
            return reply
        client = Client("http://server", transport=httpx.MockTransport(answer))
        real = attnd_client.client.time.sleep
        attnd_client.client.time.sleep = self.slept.append
        self.addCleanup(setattr, attnd_client.client.time, "sleep", real)
        self.addCleanup(client.close)
        return client

    def lines(self, *lines):
        return httpx.Response(200, content="".join(f"{line}\n" for line in lines))

    def test_a_busy_server_is_asked_again_when_it_says(self):
        client = self.client(httpx.Response(429, headers={"Retry-After": "7"}), httpx.Response(503),
                             httpx.ReadTimeout("late"), httpx.Response(200, json={"label": "scan"}))
        self.assertEqual(client.predict("a"), {"label": "scan"})
        self.assertEqual(self.slept[0], 7)
        self.assertTrue(all(0 < seconds <= 60 for seconds in self.slept))
        self.assertEqual(len(set(self.asked)), 1)

    def test_waits_and_tries_are_bounded(self):
        client = self.client(*[httpx.Response(429, headers={"Retry-After": "4000"}) for _ in range(5)])
        with self.assertRaises(attnd_client.Busy):
            client.predict("a")
        self.assertEqual(self.slept, [60] * 4)

    def test_a_conflict_is_asked_again_only_if_it_passes(self):
        client = self.client(httpx.Response(409, headers={"Retry-After": "1"}), httpx.Response(409))
        with self.assertRaises(attnd_client.Conflict):
            client.predict("a", idempotency_key="k")
        self.assertEqual(len(self.asked), 2)

    def test_feedback_is_not_sent_twice_after_a_connection_that_broke(self):
        client = self.client(httpx.ReadError("broken"))
        with self.assertRaises(httpx.ReadError):
            client.feedback("one", "scan")

    def test_lines_of_a_busy_server_and_of_a_broken_connection_are_sent_again(self):
        client = self.client(
            self.lines('{"index": 0, "label": "a"}', '{"index": 1, "status": 429}', '{"index": 2, "label": "c"}'),
            httpx.RemoteProtocolError("broken"), self.lines('{"index": 0, "label": "b"}'))
        lines = list(client.predict_lines(["a", "b", "c"]))
        self.assertEqual([(line["index"], line["label"]) for line in lines], [(0, "a"), (2, "c"), (1, "b")])
        self.assertEqual(self.asked[1:], ['{"text": "b"}'] * 2)

    def test_lines_that_stay_refused_are_given_as_they_are(self):
        client = self.client(*[self.lines('{"index": 0, "status": 429}') for _ in range(5)])
        self.assertEqual(list(client.predict_lines(["a"])), [{"index": 0, "status": 429}])

    def test_a_list_that_never_becomes_whole_is_an_error(self):
        client = self.client(*[self.lines() for _ in range(5)])
        with self.assertRaises(httpx.RemoteProtocolError):
            list(client.predict_lines(["a"]))


if __name__ == "__main__":
    sys.argv.remove("--installed")
    unittest.main()
