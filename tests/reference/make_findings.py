#!/usr/bin/env python3
"""Writes tests/data/eval/findings.json: made-up inputs with every figure that learn/eval computes of
them, computed here again, one input at a time, from the definitions in the headers and the papers
that they name, without numpy. tests/unit/learn/eval/measure/test_findings_reference.c compares.

    python3 tests/reference/make_findings.py
"""
import json
import math
import random

BINS, FOLDS, DRAWS = 15, 5, 1000
MASK = (1 << 64) - 1
Z_LOW = 1.2815515655446004  # 90 % sure


# ---- random numbers, as engine/base/rng.h has them ----

def hash32(key, index):
    x = (index * 0x9E3779B1 + key) & 0xFFFFFFFF
    x ^= x >> 16
    x = x * 0x7FEB352D & 0xFFFFFFFF
    x ^= x >> 15
    x = x * 0x846CA68B & 0xFFFFFFFF
    return x ^ x >> 16


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def picks(seed, purpose, index, below, count):
    """The stream's first numbers below `below` (none of so few is drawn again)."""
    state = mix(mix(mix(seed + 1) + purpose & MASK) + index & MASK)
    for _ in range(count):
        state = state + 0x9E3779B97F4A7C15 & MASK
        yield (mix(state) >> 32) * below >> 32


# ---- scores ----

def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def scores_of(case, row, temperature):
    if case["sigmoid"]:
        return [sigmoid(z / temperature) for z in row]
    mass = [math.exp(z / temperature) for z in row]
    return [m / sum(mass) for m in mass]


def verdicts_of(case, items, temperature, winners):
    """(score, label, right, item) of each winner, or of each label."""
    out = []
    for item in items:
        row, truth = case["logits"][item], case["classes"][item]
        scores = scores_of(case, row, temperature)
        for label in [row.index(max(row))] if winners else range(len(row)):
            out.append((round(scores[label], 12), label, label == truth, item))
    return out


def losses(case, items, temperature):
    nll = brier = 0
    for item in items:
        truth = case["classes"][item]
        scores = scores_of(case, case["logits"][item], temperature)
        share = len(scores) if case["sigmoid"] else 1
        for label, score in enumerate(scores):
            brier += (score - (label == truth)) ** 2 / share
            if label == truth or case["sigmoid"]:
                nll -= math.log(score if label == truth else 1 - score) / share
    return nll, brier


def fitted_temperature(case, items):
    """Fits T by golden section over log T: the likelihood has one optimum."""
    low, high, ratio = math.log(0.05), math.log(20), (math.sqrt(5) - 1) / 2
    while high - low > 1e-10:
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        if losses(case, items, math.exp(a))[0] < losses(case, items, math.exp(b))[0]:
            high = b
        else:
            low = a
    return math.exp((low + high) / 2)


# ---- calibration ----

def ece_of(groups, count):
    error = 0
    for group in groups:
        if group:
            error += abs(sum(v[0] for v in group) - sum(v[2] for v in group))
    return error / count


def by_width(verdicts):
    groups = [[] for _ in range(BINS)]
    for verdict in verdicts:
        groups[max(0, math.ceil(verdict[0] * BINS) - 1)].append(verdict)
    return groups


def by_mass(verdicts):
    groups = [[] for _ in range(BINS)]
    ranked = sorted(verdicts, key=lambda v: v[0])
    for verdict in ranked:
        first = next(i for i, v in enumerate(ranked) if v[0] == verdict[0])
        groups[first * BINS // len(ranked)].append(verdict)
    return groups


# ---- decisions ----

def wilson(hits, count, z):
    p = hits / count
    centre, spread = p + z * z / (2 * count), z * math.sqrt(p * (1 - p) / count + z * z / (4 * count * count))
    return [max(0, (centre - spread) / (1 + z * z / count)), min(1, (centre + spread) / (1 + z * z / count))]


def lowest_pure(verdicts, is_pure):
    """The lowest score from which on the verdicts are pure; None."""
    for score in sorted({v[0] for v in verdicts}):
        taken = [v for v in verdicts if v[0] >= score]
        right = sum(v[2] for v in taken)
        if right > 0 and is_pure(right, len(taken)):
            return score
    return None


def thresholds_of(case, verdicts):
    def is_pure(right, taken):
        return wilson(right, taken, Z_LOW)[0] >= case["purity"]
    labels = range(len(case["logits"][0]))
    own = {label: [v for v in verdicts if v[1] == label] for label in labels}
    small = [k for k in labels if own[k] and not is_pure(len(own[k]), len(own[k]))]
    together = lowest_pure([v for k in small for v in own[k]], is_pure)
    return [together if k in small else lowest_pure(own[k], is_pure) for k in labels]


def decide(case, verdicts, thresholds):
    automatic = [v for v in verdicts if thresholds[v[1]] is not None and v[0] >= thresholds[v[1]]]
    return [len(automatic), sum(v[2] for v in automatic), len(verdicts) - len(automatic)]


def add(a, b):
    return [x + y for x, y in zip(a, b)]


def figures(case, items, temperature):
    labels = len(case["logits"][0])
    winners = verdicts_of(case, items, temperature, True)
    judged = verdicts_of(case, items, temperature, not case["sigmoid"])
    nll, brier = losses(case, items, temperature)
    thresholds = thresholds_of(case, judged)
    one = lowest_pure(winners, lambda right, taken: right / taken >= case["purity"])
    return {
        "temperature": temperature, "ece": ece_of(by_width(judged), len(judged)),
        "ece_by_mass": ece_of(by_mass(judged), len(judged)),
        "nll": nll / len(items), "brier": brier / len(items),
        "bins": [[len(g), sum(v[0] for v in g) / max(1, len(g)), sum(v[2] for v in g) / max(1, len(g))]
                 for g in by_width(judged)],
        "by_score": decide(case, winners, [one] * labels),
        "by_class": decide(case, winners, thresholds), "thresholds": thresholds}


def crossed(case, items):
    ranked = sorted(items, key=lambda i: (case["classes"][i], hash32(case["seed"], i), i))
    folds = [ranked[fold::FOLDS] for fold in range(FOLDS)]
    labels = len(case["logits"][0])
    out = {"temperature": 1, "nll": 0, "brier": 0, "by_score": [0, 0, 0], "by_class": [0, 0, 0]}
    judged = []
    for fold in folds:
        others = [i for i in items if i not in fold]
        temperature = fitted_temperature(case, others)
        learnt = figures(case, others, temperature)
        one = lowest_pure(verdicts_of(case, others, temperature, True),
                          lambda right, taken: right / taken >= case["purity"])
        winners = verdicts_of(case, fold, temperature, True)
        judged += verdicts_of(case, fold, temperature, not case["sigmoid"])
        nll, brier = losses(case, fold, temperature)
        out["temperature"] *= temperature ** (1 / FOLDS)
        out["nll"] += nll / len(items)
        out["brier"] += brier / len(items)
        out["by_score"] = add(out["by_score"], decide(case, winners, [one] * labels))
        out["by_class"] = add(out["by_class"], decide(case, winners, learnt["thresholds"]))
    out["ece"] = ece_of(by_width(judged), len(judged))
    out["ece_by_mass"] = ece_of(by_mass(judged), len(judged))
    return out


def curve(case, items):
    """Risk over coverage; of equal scores the mean over all their orders."""
    winners = verdicts_of(case, items, case["temperature"], True)
    risks, points, threshold, coverage = 0, [], None, 0
    for taken in range(1, len(winners) + 1):
        ranked = sorted(winners, key=lambda v: -v[0])
        last = ranked[taken - 1][0]
        above = [v for v in ranked if v[0] > last]
        ties = [v for v in ranked if v[0] == last]
        wrong = sum(not v[2] for v in above)
        wrong_ties = sum(not v[2] for v in ties)
        risks += (wrong + wrong_ties * (taken - len(above)) / len(ties)) / taken
        if taken == len(above) + len(ties):
            points.append([taken / len(winners), (wrong + wrong_ties) / taken])
            if 1 - points[-1][1] >= case["purity"]:
                coverage, threshold = points[-1][0], last
    return {"aurc": risks / len(winners), "coverage": coverage, "threshold": threshold, "points": points}


# ---- classes ----

def macro_f1(pairs, labels):
    sums = [2 * sum(t == k == w for t, w in pairs) / n
            for k in range(labels) if (n := sum((t == k) + (w == k) for t, w in pairs)) > 0]
    return sum(sums) / len(sums)


def winners_with(case, items, shifts):
    out = []
    for i in items:
        row = [z + s for z, s in zip(case["logits"][i], shifts)]
        out.append((case["classes"][i], row.index(max(row))))
    return out


def fit_shifts(case, items):
    """Coordinate ascent (learn/eval/fit/logit_adjustment.h): every shift of one label that could change a winner
    is tried by counting all inputs again."""
    labels = len(case["logits"][0])
    shifts = [0.0] * labels
    value = macro_f1(winners_with(case, items, shifts), labels)
    for _ in range(8):
        before = value
        for c in range(labels):
            margins = sorted(max(z + s for k, (z, s) in enumerate(zip(case["logits"][i], shifts)) if k != c)
                             - case["logits"][i][c] for i in items)
            chosen = shifts[c]
            for at, margin in enumerate(margins):
                behind = margins[at + 1] if at + 1 < len(margins) else margin + 1
                middle = (margin + behind) / 2
                if behind == margin or abs(middle) > 8:
                    continue
                tried = shifts[:c] + [middle] + shifts[c + 1:]
                found = macro_f1(winners_with(case, items, tried), labels)
                if found > value + 1e-9:
                    value, chosen = found, middle
            shifts[c] = chosen
        if value <= before:
            break
    return shifts, value


def biases(case, items):
    labels = len(case["logits"][0])
    halves = [items[0::2], items[1::2]]
    pairs = []
    for own, other in (halves, halves[::-1]):
        pairs += winners_with(case, own, fit_shifts(case, other)[0])
    shifts, after = fit_shifts(case, items)
    mean = sum(shifts) / labels
    return {"before": macro_f1(winners_with(case, items, [0] * labels), labels), "after": after,
            "crossed": macro_f1(pairs, labels), "shifts": [s - mean for s in shifts]}


def percentiles(values):
    values = sorted(v for v in values if v is not None)
    if not values:
        return [0, 1]
    low = math.floor(0.025 * (len(values) - 1) + 0.5)
    return [values[low], values[len(values) - 1 - low]]


def bootstrap(case, items):
    """F1 of inputs drawn again: of each label, then of all."""
    labels = len(case["logits"][0])
    pairs = sorted(winners_with(case, items, [0] * labels))
    f1 = [[] for _ in range(labels + 1)]
    for draw in range(DRAWS):
        drawn = [pairs[i] for i in picks(case["seed"], 0x4631, draw, len(pairs), len(pairs))]
        for k in range(labels):
            n = sum((t == k) + (w == k) for t, w in drawn)
            f1[k].append(2 * sum(t == k == w for t, w in drawn) / n if n > 0 else None)
        f1[labels].append(macro_f1(drawn, labels))
    return [percentiles(values) for values in f1]


# ---- made-up inputs ----

def make_case(seed, count, labels, sigmoid, signal):
    draw = random.Random(seed)
    logits, classes = [], []
    for i in range(count):
        truth = draw.choices(range(labels), [12, 6, 2, 1, 1, 1][:labels])[0]
        row = [round(draw.gauss(signal if k == truth else 0, 1.6) * 256) / 256 for k in range(labels)]
        if i % 9 == 8:
            row = list(logits[i - 4])  # equal scores
        logits.append(row)
        classes.append(truth)
    return {"sigmoid": sigmoid, "purity": 0.8, "temperature": 1.5, "seed": 5, "logits": logits,
            "classes": classes, "failed": [3, 40]}


def main():
    cases = []
    for shape in ((1, 80, 4, False, 2.5), (2, 60, 3, True, 2.5), (3, 21, 3, False, 2.5),
                  (10, 60, 6, False, 4.5)):
        case = make_case(*shape)
        items = [i for i in range(shape[1]) if i not in case["failed"]]
        case["served"] = figures(case, items, case["temperature"])
        case["fitted"] = figures(case, items, fitted_temperature(case, items))
        case["crossed"] = crossed(case, items)
        case["curve"] = curve(case, items)
        case["biases"] = biases(case, items)
        case["f1"] = bootstrap(case, items)
        cases.append(case)
    with open("tests/data/eval/findings.json", "w", encoding="ascii") as file:
        json.dump(cases, file, separators=(",", ":"))
        file.write("\n")


main()
