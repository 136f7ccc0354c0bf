"""Checks of a made data set: the same twice, parts disjoint, labels balanced, lengths kept, no token that tells."""
import collections
import re

import registry
import story

TELLS = 0.90            # a token this sure of one label...
TELLS_SHARE = 0.01      # ...in this share of the logs would give the label away
TOKEN = re.compile(r"[a-z]+|\d+|[^\sa-z\d]")


def tokens(text):
    return sorted(set(TOKEN.findall(text.lower())))


def counts(part):
    """{token: Counter of labels} by the number of logs that have the token."""
    table = collections.defaultdict(collections.Counter)
    for example in part:
        for token in tokens(example["text"]):
            table[token][example["label"]] += 1
    return table


def single_token(part):
    """(token, accuracy) of the best rule "this label when the token is there, that label when it is not"."""
    total = collections.Counter(e["label"] for e in part)
    best = ("", 0.0)
    for token, table in counts(part).items():
        right = max(table.values()) + max(total[label] - table[label] for label in total)
        best = max(best, (token, right / len(part)), key=lambda b: b[1])
    return best


def telling(part):
    """[(token, label, precision, logs)], surest first, among tokens in at least TELLS_SHARE of the logs."""
    found = []
    for token, table in counts(part).items():
        label, hits = table.most_common(1)[0]
        if sum(table.values()) >= TELLS_SHARE * len(part):
            found.append((token, label, hits / sum(table.values()), sum(table.values())))
    return sorted(found, key=lambda f: (-f[2], f[0]))


def report(parts, same):
    """Prints what was found; 0 when all of it is as it should be."""
    texts = {name: {e["text"] for e in part} for name, part in parts.items()}
    names = sorted(parts)
    shared = sum(len(texts[a] & texts[b]) for a in names for b in names if a < b)
    families = {name: {(e["label"], e["family"]) for e in part} for name, part in parts.items()}
    styles = {name: {e["style"] for e in part} for name, part in parts.items()}
    balance = [collections.Counter(e["label"] for e in part).values() for part in parts.values() if part]
    lengths = sorted(len(e["text"]) for part in parts.values() for e in part)
    surest = telling(parts["train"])
    results = (
        ("made twice alike", same),
        (f"{shared} texts in two parts", shared == 0),
        (f"{len(families['families'])} families held out, none trained", not families["families"] & families["train"]),
        (f"style {sorted(styles['style'])} held out, not trained", not styles["style"] & styles["train"]),
        ("labels balanced", all(max(b) - min(b) <= 1 for b in balance)),
        (f"length {lengths[0]} to {lengths[-1]}, median {lengths[len(lengths) // 2]}",
         story.LENGTH_MIN <= lengths[0] and lengths[-1] <= story.LENGTH_MAX),
        (f"surest token {surest[0]}", surest[0][2] < TELLS))
    for text, good in results:
        print(f"{'ok  ' if good else 'FAIL'} {text}")
    named = {word for label in registry.LABELS for word in label.split("_")}
    own = [f for f in surest if f[0] in named]
    print("     words of class names: " + ", ".join(f"{t!r} {label} {p:.2f} of {n}" for t, label, p, n in own))
    token, accuracy = single_token(parts["train"])
    print(f"best single token {token!r}: accuracy {accuracy:.3f} on train (chance 0.100)")
    for token, label, precision, logs in surest[:12]:
        print(f"     {token!r:14} {label:16} {precision:.2f} of {logs}")
    return 0 if all(good for _, good in results) else 1
