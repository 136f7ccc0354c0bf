#!/usr/bin/env python3
"""Five folds over the crash reports, and what a linear SVM makes of them.

    python3 models/kernel_folds.py folds DATA OUT            # OUT/fold0-train.jsonl, -test.jsonl, ...
    python3 models/kernel_folds.py svm OUT                   # needs scikit-learn
    python3 models/kernel_folds.py pool OUT/*/report.json    # one figure from the folds' reports

DATA holds train.jsonl and val.jsonl; the folds are cut from both together. Logs of one bug are
often nearly the same, so they must not lie on both sides of a cut: logs whose sets of four-word
shingles (numbers, addresses and time stamps made alike) overlap by SAME_BUG are one group, and a
group stays whole. Groups are dealt out, the largest first, each to the fold that its classes miss
most: the same seed gives the same folds.

Standard library only, but for `svm`.
"""
import argparse
import collections
import json
import math
import pathlib
import random
import re
import sys

FOLDS = 5
SHINGLE_WORDS = 4
WORDS_COMPARED = 3000
SAME_BUG = 0.7  # of the union; below it, pairs are as often of two classes as any neighbours are
SVM_HEAD = 1500  # characters; the whole text is worse


def read(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def words(text):
    text = re.sub(r"^\[[^\]]*\]\s*(\[[^\]]*\])?", "", text.lower(), flags=re.M)
    text = re.sub(r"0x[0-9a-f]+|\b[0-9a-f]{8,}\b|\d+", "#", text)
    return re.findall(r"[a-z_]+|#", text)[:WORDS_COMPARED]


def shingles(text):
    w = words(text)
    return {tuple(w[i:i + SHINGLE_WORDS]) for i in range(max(1, len(w) - SHINGLE_WORDS + 1))}


def groups_of(rows):
    """Lists of indices: reports that overlap by SAME_BUG, directly or through others."""
    sets = [shingles(row["text"]) for row in rows]
    leader = list(range(len(rows)))

    def find(i):
        while leader[i] != i:
            leader[i] = leader[leader[i]]
            i = leader[i]
        return i

    for i, a in enumerate(sets):
        for j in range(i):
            b = sets[j]
            if min(len(a), len(b)) < SAME_BUG * max(len(a), len(b)):
                continue
            common = len(a & b)
            if common >= SAME_BUG * (len(a) + len(b) - common):
                leader[find(i)] = find(j)
    groups = collections.defaultdict(list)
    for i in range(len(rows)):
        groups[find(i)].append(i)
    return list(groups.values())


def deal(rows, groups, seed):
    """The fold of each row."""
    random.Random(seed).shuffle(groups)
    groups.sort(key=len, reverse=True)
    wanted = collections.Counter(row["label"] for row in rows)
    wanted = {label: count / FOLDS for label, count in wanted.items()}
    held = [collections.Counter() for _ in range(FOLDS)]
    fold_of = [0] * len(rows)
    for group in groups:
        labels = [rows[i]["label"] for i in group]

        def need(fold):
            missing = sum((wanted[l] - held[fold][l]) / wanted[l] for l in labels)
            return (-missing, sum(held[fold].values()))

        best = min(range(FOLDS), key=need)
        held[best].update(labels)
        for i in group:
            fold_of[i] = best
    return fold_of


def write(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def folds(args):
    data, out = pathlib.Path(args.data), pathlib.Path(args.out)
    rows = read(data / "train.jsonl") + read(data / "val.jsonl")
    groups = groups_of(rows)
    several = [g for g in groups if len(g) > 1]
    mixed = sum(len({rows[i]["label"] for i in g}) > 1 for g in several)
    print(f"{len(rows)} reports; {sum(map(len, several))} of them in {len(several)} groups of "
          f"near copies, {mixed} of these with two labels")
    fold_of = deal(rows, groups, args.seed)
    out.mkdir(parents=True, exist_ok=True)
    for fold in range(FOLDS):
        test = [row for row, f in zip(rows, fold_of) if f == fold]
        write(out / f"fold{fold}-test.jsonl", test)
        write(out / f"fold{fold}-train.jsonl", [r for r, f in zip(rows, fold_of) if f != fold])
        print(f"fold {fold}: {len(test)}", *sorted(collections.Counter(
            row["label"] for row in test).items()))


def wilson(right, total, z=1.96):
    if total == 0:
        return 0.0, 1.0
    p = right / total
    middle = (p + z * z / (2 * total)) / (1 + z * z / total)
    half = z * math.sqrt(p * (1 - p) / total + z * z / (4 * total * total)) / (1 + z * z / total)
    return middle - half, middle + half


def macro_f1(matrix):
    n = len(matrix)
    column = [sum(row[j] for row in matrix) for j in range(n)]
    return sum(2 * matrix[i][i] / max(1, sum(matrix[i]) + column[i]) for i in range(n)) / n


def interval_of_f1(matrix, draws=1000, seed=0):
    """A bootstrap over the inputs."""
    cells = [(i, j) for i, row in enumerate(matrix) for j, count in enumerate(row)
             for _ in range(count)]
    rng, found = random.Random(seed), []
    for _ in range(draws):
        drawn = [[0] * len(matrix) for _ in matrix]
        for i, j in rng.choices(cells, k=len(cells)):
            drawn[i][j] += 1
        found.append(macro_f1(drawn))
    found.sort()
    return found[int(draws * 0.025)], found[int(draws * 0.975)]


def tell(name, labels, matrix, per_class=True):
    right, total = sum(matrix[i][i] for i in range(len(matrix))), sum(map(sum, matrix))
    low, high = wilson(right, total)
    f1_low, f1_high = interval_of_f1(matrix)
    print(f"{name}: accuracy {right / total:.3f} ({low:.3f} to {high:.3f}), "
          f"macro-F1 {macro_f1(matrix):.3f} ({f1_low:.3f} to {f1_high:.3f}), {total} reports")
    if per_class:
        for i, label in enumerate(labels):
            f1 = 2 * matrix[i][i] / max(1, sum(matrix[i]) + sum(row[i] for row in matrix))
            print(f"    {label:20} F1 {f1:.3f}  of {sum(matrix[i])}")


def svm_matrix(train, test, labels, head):
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.svm import LinearSVC
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    inputs = vectorizer.fit_transform(row["text"][:head] for row in train)
    model = LinearSVC(C=1.0).fit(inputs, [row["label"] for row in train])
    answers = model.predict(vectorizer.transform(row["text"][:head] for row in test))
    matrix = [[0] * len(labels) for _ in labels]
    for row, answer in zip(test, answers):
        matrix[labels.index(row["label"])][labels.index(answer)] += 1
    return matrix


def add(total, matrix):
    return [[a + b for a, b in zip(x, y)] for x, y in zip(total, matrix)] if total else matrix


def svm(args):
    directory = pathlib.Path(args.out)
    for head in (SVM_HEAD, None):
        total = None
        for fold in range(FOLDS):
            train = read(directory / f"fold{fold}-train.jsonl")
            test = read(directory / f"fold{fold}-test.jsonl")
            labels = sorted({row["label"] for row in train})
            matrix = svm_matrix(train, test, labels, head)
            total = add(total, matrix)
            tell(f"fold {fold}", labels, matrix, per_class=False)
        tell(f"SVM, {f'first {head} characters' if head else 'whole text'}", labels, total)


def pool(args):
    total, labels = None, None
    for path in args.report:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        these = [row["label"] for row in report["classes"]]
        if labels not in (None, these):
            sys.exit(f"{path}: other labels than the reports before")
        labels = these
        total = add(total, report["confusion"])
        tell(path, labels, report["confusion"], per_class=False)
    tell("together", labels, total)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    command = parser.add_subparsers(required=True)
    one = command.add_parser("folds")
    one.add_argument("data")
    one.add_argument("out")
    one.add_argument("--seed", type=int, default=0)
    one.set_defaults(run=folds)
    one = command.add_parser("svm")
    one.add_argument("out")
    one.set_defaults(run=svm)
    one = command.add_parser("pool")
    one.add_argument("report", nargs="+")
    one.set_defaults(run=pool)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
