#!/usr/bin/env python3
"""Asks an attnd server for an image and a text. Python's standard library only (3.8 or later).

    python3 attnd_client.py wafer.png fail.log

ATTND_URL      the server, http://127.0.0.1:8080 by default
ATTND_KEY      the key, if the server has keys
ATTND_CA_FILE  PEM file of the authority that signed the server's certificate, with https
"""

import json
import os
import ssl
import sys
import time
import urllib.error
import urllib.request

TRIES = 5
WAIT_S_MAX = 60
MEDIA_TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".bmp": "image/bmp"}


class Problem(Exception):
    """A refusal: attnd answers with application/problem+json (RFC 9457)."""

    def __init__(self, status, body):
        try:
            said = json.loads(body)
        except ValueError:
            said = {}
        self.status = status
        self.title = said.get("title", "HTTP error")
        self.detail = said.get("detail", body.decode(errors="replace")[:200])
        super().__init__(f"{status} {self.title}: {self.detail}")


class Client:
    def __init__(self, url, key=None, ca_file=None):
        self.url = url.rstrip("/")
        self.headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.tls = ssl.create_default_context(cafile=ca_file) if self.url.startswith("https:") else None

    def post(self, path, body, media_type):
        """Waits and asks again while the server is busy (429) or not ready (503)."""
        request = urllib.request.Request(self.url + path, body, {**self.headers, "Content-Type": media_type})
        for left in reversed(range(TRIES)):
            try:
                with urllib.request.urlopen(request, timeout=30, context=self.tls) as reply:
                    return json.load(reply)
            except urllib.error.HTTPError as refused:
                if refused.code not in (429, 503) or left == 0:
                    raise Problem(refused.code, refused.read()) from None
                wait_s = min(int(refused.headers.get("Retry-After", "1")), WAIT_S_MAX)
                print(f"the server is busy ({refused.code}), again in {wait_s} s", file=sys.stderr)
                time.sleep(wait_s)

    def predict(self, path):
        """The bytes of a file: a picture by its name, all else as a text in UTF-8."""
        ending = os.path.splitext(path)[1].lower()
        with open(path, "rb") as file:
            return self.post("/predict", file.read(), MEDIA_TYPES.get(ending, "text/plain; charset=utf-8"))


def main(paths):
    client = Client(os.environ.get("ATTND_URL", "http://127.0.0.1:8080"), os.environ.get("ATTND_KEY"),
                    os.environ.get("ATTND_CA_FILE"))
    status = 0
    for path in paths:
        try:
            answer = client.predict(path)
            print(f"{path}: {answer['label']} {answer['score']:.4f} {answer['decision']}")
        except (Problem, OSError) as failed:
            print(f"{path}: {failed}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
