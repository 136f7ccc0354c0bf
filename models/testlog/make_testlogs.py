"""Writes synthetic semiconductor test logs with the cause of the failure as label (see README.md beside).

    python3 models/testlog/make_testlogs.py OUT [--seed 1] [--count 6000] [--validation 1000] [--families 1000]
                                            [--style 1000] [--calibration 0]
    python3 models/testlog/make_testlogs.py OUT --check          (also checks what it wrote)
    python3 models/testlog/make_testlogs.py OUT --real failing_dies.jsonl     (the real dies alone)

OUT receives train.jsonl, validation.jsonl, families.jsonl, style.jsonl and calibration.jsonl (more logs like those of
validation.jsonl, for thresholds), one {"text", "label", "family", "style"} a line: the same bytes for the same seed
and sizes. Needs Python 3 and nothing else.
"""
import argparse
import json
import pathlib
import random
import sys

sys.dont_write_bytecode = True  # leave no folder of compiled files among the sources

import check
import layouts
import real
import registry
import story
import styles


SIZES = {"validation": 1000, "families": 1000, "style": 1000, "calibration": 0}
DRAWN_SHARE = 0.6       # of the logs have a layout of their own, the others one of the six trained styles


def style_of(split, rng):
    if split == "style":
        return styles.HELD_OUT
    if rng.random() < DRAWN_SHARE:
        return layouts.draw(rng)
    return rng.choice([s for s in styles.STYLES if s is not styles.HELD_OUT])


def examples(split, count, seed):
    """`count` examples of a split: labels in turn, then families and styles by chance."""
    for i in range(count):
        rng = random.Random(f"{seed}/{split}/{i}")
        label = registry.LABELS[i % len(registry.LABELS)]
        table = registry.held_out(label) if split == "families" else registry.trained(label)
        name, function, needs = rng.choice(table)
        style = style_of(split, rng)
        yield {"text": story.write(rng, function, needs, style), "label": label, "family": name, "style": style.name}


def lines(split, count, seed):
    made = [json.dumps(e) for e in examples(split, count, seed)]
    random.Random(f"{seed}/{split}").shuffle(made)
    return made


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=6000, help="training examples")
    for split, count in SIZES.items():
        parser.add_argument(f"--{split}", type=int, default=count, help=f"examples of the {split} part")
    parser.add_argument("--check", action="store_true", help="check the parts and print their statistics")
    parser.add_argument("--real", type=pathlib.Path, help="real dies (JSONL): write real.jsonl alone")
    return parser.parse_args()


def main():
    options = arguments()
    registry.load()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.real:
        return real.convert(options.real, options.out)
    sizes = {"train": options.count} | {split: getattr(options, split) for split in SIZES}
    parts = {split: lines(split, count, options.seed) for split, count in sizes.items()}
    for split, made in parts.items():
        (options.out / f"{split}.jsonl").write_text("".join(line + "\n" for line in made), encoding="utf-8")
    if not options.check:
        return 0
    again = {split: lines(split, min(count, 200), options.seed) for split, count in sizes.items()}
    same = all(set(again[s]) <= set(parts[s]) for s in sizes)
    return check.report({s: [json.loads(line) for line in made] for s, made in parts.items()}, same)


if __name__ == "__main__":
    sys.exit(main())
