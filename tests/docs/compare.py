"""What a page shows against what came out.

"…" stands for anything within a line, and alone on the last line for all that follows. JSON, also when a page
breaks it into lines, is compared by members: times and identifiers that a server makes differ each time, and
numbers, also in the middle of a text, may differ in the digits that another processor rounds differently."""

import json
import re

TOLERANCE = 1e-3
LONG_NUMBER = re.compile(r"\d+\.\d{6,}")
MADE_ID = re.compile(r"[0-9a-f]{16}$")


def pattern_of(shown):
    """Numbers with many digits are groups of the pattern."""
    parts = [LONG_NUMBER.split(part) for part in shown.split("…")]
    return ".*".join(r"(\d+\.\d+)".join(map(re.escape, part)) for part in parts)


def same_text(shown, found):
    match = re.fullmatch(pattern_of(shown), found, re.S)
    return match is not None and all(same_number(float(a), float(b))
                                     for a, b in zip(LONG_NUMBER.findall(shown), match.groups()))


def same_number(shown, found):
    return abs(shown - found) <= TOLERANCE * max(abs(shown), abs(found))


def difference(shown, found, path="$"):
    """Where two JSON values differ, or None. "…": "…" in an object stands for further members."""
    if isinstance(shown, dict) and isinstance(found, dict):
        if "…" not in shown and shown.keys() != found.keys():
            return f"{path}: members {', '.join(found)}"
        pairs = [(f"{path}.{key}", value, found.get(key)) for key, value in shown.items() if key != "…"]
    elif isinstance(shown, list) and isinstance(found, list):
        kept = shown.index("…") if "…" in shown else None
        if kept is None and len(shown) != len(found):
            return f"{path}: {len(found)} elements"
        pairs = [(f"{path}[{i}]", value, found[i]) for i, value in enumerate(shown[:kept]) if i < len(found)]
    else:
        return None if same_leaf(shown, found, path) else f"{path}: {json.dumps(found, ensure_ascii=False)}"
    return next((at for at in (difference(a, b, where) for where, a, b in pairs) if at), None)


def same_leaf(shown, found, path):
    if ".timing_ms." in path or (path.endswith(("id", "instance")) and MADE_ID.search(str(shown))):
        return isinstance(found, type(shown))
    if isinstance(shown, str) and isinstance(found, str):
        return same_text(shown, found)
    if isinstance(shown, (int, float)) and isinstance(found, (int, float)):
        return same_number(shown, found)
    return shown == found


def loads(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def disagreement(shown, found):
    """None if what came out is what the page shows; else where they differ."""
    wanted = loads(shown)
    if isinstance(wanted, (dict, list)):
        actual = loads(found)
        return "no JSON came out" if actual is None else difference(wanted, actual)
    rows, actual = shown.rstrip("\n").split("\n"), found.rstrip("\n").split("\n")
    if rows[-1].strip() == "…":
        rows = rows[:-1]
        actual = actual[:len(rows)]
    for row, line in zip(rows, actual):
        if not same_text(row.rstrip(), line.rstrip()):
            return f"instead of {row!r}: {line!r}"
    return None if len(rows) == len(actual) else f"{len(actual)} lines instead of {len(rows)}"
