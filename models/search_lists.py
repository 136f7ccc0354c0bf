#!/usr/bin/env python3
"""Lists to learn and to measure search by, cut so that what is searched was not learnt.

    python3 models/search_lists.py kernel DATA OUT   # DATA: train.jsonl, val.jsonl of crash reports
    python3 models/search_lists.py builds FILE OUT   # FILE: failures.jsonl of Maven builds

Writes OUT/learn.jsonl, OUT/search.jsonl, and OUT/search-head.jsonl, the first HEAD characters of
the same texts. Reports of one bug are often nearly the same (kernel_folds.py says when): a group of
near copies stays on one side, and of those to search by, one of each group is left. Crash reports
are cut by group, 2 in 5 to search by, with audited labels (kernel_labels.py); builds by project,
half of them, and a group that has a project of either side is searched only. Standard library only.
"""
import argparse
import collections
import json
import pathlib
import random

import kernel_folds
import kernel_labels

HEAD = 1500  # characters, about what a model of 256 tokens reads


def write(out, learn, search):
    out.mkdir(parents=True, exist_ok=True)
    kernel_folds.write(out / "learn.jsonl", learn)
    kernel_folds.write(out / "search.jsonl", search)
    kernel_folds.write(out / "search-head.jsonl",
                       [dict(row, text=row["text"][:HEAD]) for row in search])
    labels = collections.Counter(row["label"] for row in search)
    print(f"{out}: {len(learn)} to learn, {len(search)} to search:",
          *(f"{label} {count}" for label, count in sorted(labels.items())))


def kernel(args):
    data = pathlib.Path(args.data)
    rows = kernel_folds.read(data / "train.jsonl") + kernel_folds.read(data / "val.jsonl")
    for row in rows:
        row["label"] = kernel_labels.decide(row["text"], row["label"])[0]
    groups = kernel_folds.groups_of(rows)
    fold_of = kernel_folds.deal(rows, groups, args.seed)
    is_searched = [fold_of[group[0]] < 2 for group in groups]
    write(pathlib.Path(args.out),
          [rows[i] for group, held in zip(groups, is_searched) if not held for i in group],
          [rows[group[0]] for group, held in zip(groups, is_searched) if held])


def builds(args):
    rows = [{"id": row["commit"], "project": row["project"], "label": row["category"],
             "text": row["error_lines"]} for row in kernel_folds.read(args.data)]
    size = collections.Counter(row["project"] for row in rows)
    projects = sorted(size)
    random.Random(args.seed).shuffle(projects)
    held, count = set(), 0
    for project in projects:
        if count < len(rows) / 2:
            held.add(project)
            count += size[project]
    learn, search = [], []
    for group in kernel_folds.groups_of(rows):
        of_held = [i for i in group if rows[i]["project"] in held]
        if of_held:
            search.append(rows[of_held[0]])
        else:
            learn += [rows[i] for i in group]
    write(pathlib.Path(args.out), learn, search)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    command = parser.add_subparsers(required=True)
    for name, run in (("kernel", kernel), ("builds", builds)):
        one = command.add_parser(name)
        one.add_argument("data")
        one.add_argument("out")
        one.add_argument("--seed", type=int, default=0)
        one.set_defaults(run=run)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
