#!/usr/bin/env python3
"""Writes what people reviewed on an attnd server as data for attnd-train and attnd-eval: the kept inputs of a model
whose right label or right text was given. Python's standard library only (3.8 or later).

    python3 reviewed.py MODEL DIR

DIR/data.jsonl has a line for each, with "text" or "image" (a picture beside it) and "target" or "label".

ATTND_URL      the server, http://127.0.0.1:8080 by default
ATTND_KEY      a key with the scope feedback, if the server has keys
ATTND_CA_FILE  PEM file of the authority that signed the server's certificate, with https
"""

import json
import os
import pathlib
import ssl
import sys
import urllib.error
import urllib.parse
import urllib.request

URL = os.environ.get("ATTND_URL", "http://127.0.0.1:8080").rstrip("/")
KEY = os.environ.get("ATTND_KEY")
ENDINGS = {"image/png": ".png", "image/jpeg": ".jpg", "image/bmp": ".bmp"}
PAIR = "application/json"


def get(path, **query):
    request = urllib.request.Request(f"{URL}{path}?{urllib.parse.urlencode(query)}",
                                     headers={"Authorization": f"Bearer {KEY}"} if KEY else {})
    tls = ssl.create_default_context(cafile=os.environ.get("ATTND_CA_FILE")) if URL.startswith("https:") else None
    with urllib.request.urlopen(request, timeout=30, context=tls) as reply:
        return reply.read()


def reviewed(model):
    """The newest input of each id and index: what was given is of that one."""
    seen, before = set(), {}
    while before is not None:
        page = json.loads(get("/review", model=model, limit=100, **before))
        for item in page["inputs"]:
            name = (item["id"], item["index"])
            if name not in seen and ("right_output" in item or "right_label" in item):
                yield item
            seen.add(name)
        before = {"before": page["next"]} if page["next"] is not None else None


def line_of(item, folder):
    said = get("/review/input", id=item["id"], index=item["index"])
    if item["media_type"] in ENDINGS:
        name = item["digest"].replace("sha256:", "") + ENDINGS[item["media_type"]]
        (folder / name).write_bytes(said)
        line = {"image": name}
    else:
        line = json.loads(said) if item["media_type"] == PAIR else {"text": said.decode()}
    right = {"target": item["right_output"]} if "right_output" in item else {"label": item["right_label"]}
    return json.dumps({**line, **right}, ensure_ascii=False) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    try:
        with open(folder / "data.jsonl", "w", encoding="utf-8") as out:
            for item in reviewed(sys.argv[1]):
                try:
                    out.write(line_of(item, folder))
                    count += 1
                except urllib.error.HTTPError as refused:
                    if refused.code != 404:  # it has made room since
                        raise
    except urllib.error.HTTPError as refused:
        sys.exit(f"{refused.code}: {refused.read().decode(errors='replace')}")
    except urllib.error.URLError as lost:
        sys.exit(f"{URL}: {lost.reason}")
    print(f"{count} reviewed inputs in {folder / 'data.jsonl'}")


if __name__ == "__main__":
    main()
