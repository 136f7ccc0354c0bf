"""A reader that attnd runs: a checkpoint of train.py, answered by attnd-predict.

    texts = read_all("wafer-id", [path, ...], ["--checksum", "semi-m13"])
"""
import json
import os
import subprocess

PROGRAM = os.environ.get("ATTND_PREDICT", "build/attnd-predict")
AT_ONCE = 500


def read_all(model, paths, options=()):
    """[(text, score)] of pictures; "" where there is no mark, or no text obeys the options."""
    read = []
    for first in range(0, len(paths), AT_ONCE):
        command = [PROGRAM, "--model", str(model), "--json", *options, *map(str, paths[first:first + AT_ONCE])]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        answers = [json.loads(line) for line in out.splitlines()]
        assert len(answers) == len(paths[first:first + AT_ONCE])
        read += [(answer["output"] or "", answer.get("score", 0.0)) for answer in answers]
    return read
