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
import multiprocessing
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
TOLD_EACH = 20000       # so many logs go by between two lines about them
DRAWN_SHARE = 0.6       # of the logs have a layout of their own, the others one of the six trained styles


def style_of(split, rng):
    if split == "style":
        return styles.HELD_OUT
    if rng.random() < DRAWN_SHARE:
        return layouts.draw(rng)
    return rng.choice([s for s in styles.STYLES if s is not styles.HELD_OUT])


def line(place):
    """The `i`th example of a split, as a line: labels in turn, then families and styles by chance."""
    split, seed, i = place
    rng = random.Random(f"{seed}/{split}/{i}")
    label = registry.LABELS[i % len(registry.LABELS)]
    table = registry.held_out(label) if split == "families" else registry.trained(label)
    name, function, needs = rng.choice(table)
    style = style_of(split, rng)
    return json.dumps({"text": story.write(rng, function, needs, style), "label": label, "family": name,
                       "style": style.name})


def lines(split, count, seed, pool):
    """`count` examples of a split; each depends on its place alone, so all processors write at once."""
    made = []
    for one in pool.imap(line, ((split, seed, i) for i in range(count)), chunksize=100):
        made.append(one)
        if len(made) % TOLD_EACH == 0:
            print(f"{split}: {len(made)} of {count} logs", file=sys.stderr)
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
    with multiprocessing.Pool(initializer=registry.load) as pool:
        parts = {split: lines(split, count, options.seed, pool) for split, count in sizes.items()}
        some = {split: min(count, 200) for split, count in sizes.items()} if options.check else {}
        again = {split: lines(split, count, options.seed, pool) for split, count in some.items()}
    for split, made in parts.items():
        (options.out / f"{split}.jsonl").write_text("".join(one + "\n" for one in made), encoding="utf-8")
    if not options.check:
        return 0
    same = all(set(again[s]) <= set(parts[s]) for s in sizes)
    return check.report({s: [json.loads(one) for one in made] for s, made in parts.items()}, same)


if __name__ == "__main__":
    sys.exit(main())
