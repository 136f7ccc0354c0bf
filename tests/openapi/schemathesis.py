"""Requests that schemathesis makes from /openapi.json, good ones and bad ones, to a server on loopback: no
status that the document lacks, no 5xx but 503 and 504 (the deadline that a request names), no body or type that it does
not describe.

    BUILD=build python3 tests/openapi/schemathesis.py [EXAMPLES [OPTION...]]     (from the repository's root)

It needs PyPI, so it is run by hand: 400 examples an operation are some 15 000 requests and 20 minutes on two cores. Further
options are schemathesis's. A virtual environment in BUILD gets it; the server's log is beside."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import venv

ROOT = pathlib.Path.cwd()
BUILD = ROOT / os.environ.get("BUILD", "build")
PLACE = BUILD / "schemathesis"
VERSION = "4.32.5"
PROGRAM = PLACE / "venv/bin/schemathesis"
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
CONFIG = """[checks]
not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 503, 504]
"""
MODELS = {"text": "tests/data/golden/bert-3", "wafer": "tests/data/golden/vit-0", "any": "tests/data/golden/clip-0",
          "vectors": "tests/data/embedding/st-bert-0", "ranks": "tests/data/rerank/rerank-bert-0",
          "tags": "tests/data/tags/ner-bert-0", "answers": "tests/data/answers/qa-bert-0",
          "fills": "tests/data/vocabulary/mlm-bert-0", "sparse": "tests/data/vocabulary/splade-bert-0"}


def main(examples="400", *more):
    if not PROGRAM.exists():
        venv.create(PLACE / "venv", with_pip=True)
        subprocess.run([PLACE / "venv/bin/pip", "install", "-q", f"schemathesis=={VERSION}"], check=True)
    shutil.rmtree(PLACE / "state", ignore_errors=True)
    (PLACE / "schemathesis.toml").write_text(CONFIG, encoding="utf-8")
    options = [part for name, folder in MODELS.items() for part in ("--model", f"{name}={folder}")]
    with open(PLACE / "server.log", "w", encoding="utf-8") as log:
        server = subprocess.Popen(
            [BUILD / "attnd", "--listen", "127.0.0.1:0", *options, "--workers", "1", "--body-timeout-ms", "3000",
             "--state-dir", PLACE / "state", "--keep-inputs-bytes", "10000000", "--keep-inputs-share", "1",
             "--answers-bytes", "1000000", "--idempotency-bytes", "1000000"],
            cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        port = re.search(r":(\d+) ", server.stdout.readline())[1]
        done = subprocess.run(
            [PROGRAM, "run", f"http://127.0.0.1:{port}/openapi.json", "--checks", CHECKS, "--phases",
             "examples,coverage,fuzzing", "-n", examples, "--continue-on-failure", "--request-timeout", "20",
             "--no-color", *more], cwd=PLACE, check=False)
    finally:
        server.terminate()
        ended = server.wait(timeout=60)
    if ended != 0:
        print(f"the server ended with {ended}", file=sys.stderr)
    return done.returncode or ended


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
