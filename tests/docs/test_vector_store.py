"""The program of docs/similar.md that puts vectors into a vector database, with a store in memory, finds what
attnd-index finds. Skipped where the clients openai and qdrant-client are not installed.

    BUILD=build python3 tests/docs/test_vector_store.py        (from the repository's root)
"""

import contextlib
import importlib.util
import io
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from blocks import blocks_of

ROOT = pathlib.Path.cwd()
BUILD = ROOT / os.environ.get("BUILD", "build")
MODEL, DATA = "tests/data/embedding/st-bert-0", "tests/data/eval/kernel.jsonl"
HAS_CLIENTS = all(importlib.util.find_spec(name) for name in ("openai", "qdrant_client"))


class VectorStore(unittest.TestCase):
    def setUp(self):
        self.server = subprocess.Popen(
            [BUILD / "attnd", "--listen", "127.0.0.1:0", "--model", f"vectors={MODEL}"], cwd=ROOT,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(self.stop)
        self.port = re.search(r":(\d+) ", self.server.stdout.readline())[1]

    def stop(self):
        self.server.terminate()
        self.server.communicate(timeout=60)

    def searched(self, text):
        with tempfile.TemporaryDirectory() as folder:
            index = f"{folder}/a.index"
            subprocess.run([BUILD / "attnd-index", "build", "--model", MODEL, "--data", DATA, "--out", index],
                           cwd=ROOT, check=True, capture_output=True)
            done = subprocess.run([BUILD / "attnd-index", "search", "--index", index, "--model", MODEL, "--text", text,
                                   "--json"], cwd=ROOT, check=True, capture_output=True, text=True)
        return [(near["score"], near["label"]) for near in json.loads(done.stdout)["neighbours"]]

    @unittest.skipUnless(HAS_CLIENTS, "openai and qdrant-client are not installed")
    def test_a_vector_database_finds_what_an_index_finds(self):
        program, = [block.text for block in blocks_of((ROOT / "docs/similar.md").read_text())
                    if block.language == "python"]
        for old, new in (("127.0.0.1:8080", f"127.0.0.1:{self.port}"), ('url="http://127.0.0.1:6333"', '":memory:"'),
                         ("size=384", "size=48"), ("cases.jsonl", str(ROOT / DATA))):
            self.assertIn(old, program)
            program = program.replace(old, new)
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            exec(compile(program, "docs/similar.md", "exec"), {})
        found = [line.split(" ", 1) for line in shown.getvalue().splitlines()]
        right = self.searched("soft lockup")
        self.assertEqual(len(found), len(right))
        for (score, label), (wanted, wanted_label) in zip(found, right):
            self.assertAlmostEqual(float(score), wanted, places=4)
            self.assertEqual(label, wanted_label)


if __name__ == "__main__":
    unittest.main()
