#!/usr/bin/env python3
"""The audited labels of the crash reports: what the first report in a log says it is.

    python3 models/kernel_labels.py audit DATA OUT       # OUT/*.jsonl, audited, and what changed
    python3 models/kernel_labels.py explain DATA/LIST N  # the line that decides report N, from 1

DATA holds lists of {"id", "text", "label"}: train.jsonl and val.jsonl, or the folds that
kernel_folds.py cut from them, which stay the same folds. models/kernel-bert/LABELS.md has the
rule in words, the reason of each clause and each report that it changes.

The rule. A report opens with a line that a kernel (or a tester's own program) prints for nothing
else; KINDS names those lines. The first of them in a log decides: an oops, a second report or
"panic_on_warn set" that follows is a consequence. Three things are weaker than that:

  - a bare panic announces a cause that comes after it, or does not come at all: it decides over
    `other` alone;
  - a report without its first line is known by its body (BODIES);
  - a log with neither keeps the label it had, which was made from the maintainers' title.
"""
import argparse
import collections
import json
import pathlib
import re
import sys

# What testers' files say above a log is not the machine's.
ANNOTATION = re.compile(r"#|(TITLE|ALT|TYPE|CORRUPTED|PANICKED|SUPPRESSED|START|END|FRAME|REPORT):")
# Time stamps, tasks and the prompt that the console wrote before the kernel's own words.
PREFIX = re.compile(r"(\[[ \d.]+\]|\[ *[CT]\d+\]|\*\* .* \*\*|\w* ?login:|\d+\.\d+>|\s)*")

# Kind and the lines that open a report of it, the more telling first: a panic that names its cause
# is the cause's, and what the lock validator prints as a warning is locking.
KINDS = (
    ("kasan_memory_error", r"BUG: (KASAN|KFENCE):|panic: ASan:|Caught invalid memory access"),
    ("sanitizer_other", r"BUG: (KMSAN|KCSAN):|UBS[Aa][Nn]: |WARNING: DATA RACE|BUG: memory leak"),
    ("locking",
     r"possible (circular|recursive) locking|inconsistent lock state|bad unlock balance"
     r"|held lock freed|lock held when returning|still has locks held|-unsafe lock order"
     r"|Invalid wait context|Nested lock was not taken|suspicious RCU usage"
     r"|trying to register non-static key|lock order reversal|following locks held"
     r"|kernel/locking/lockdep\.c"
     r"|BUG: (sleeping function called|scheduling while atomic|using \S+ in preemptible"
     r"|spinlock |rwlock |workqueue leaked lock|MAX_\w+ too low)"),
    ("hang_stall",
     r"detected( expedited)? stalls on|self-detected stall|soft lockup|workqueue lockup"
     r"|task .* (blocked for more than|can't die for)|hung_task|stuck task"
     r"|unregister_netdevice: waiting for"),
    ("fault_null_deref",
     r"nable to handle (kernel|page fault)|kernel NULL pointer dereference|nil pointer dereference"
     r"|general protection fault\b(?! ip:)|stack segment: |divide.error: |PANIC: double fault"
     r"|Unhandled fault: |Internal error: (?!Oops - BUG)|Oops: (?!invalid opcode)"
     r"|stack guard page was hit|page fault trap|protection fault trap|uvm_fault\(|Fatal trap "
     r"|fatal page fault in supervisor|type 14=page fault|Unexpected kernel trap"),
    ("assert_bug",
     r"kernel BUG at|BUG: (Bad |Dentry )|ASSERT FAILED|diagnostic assertion|: assertion failed: "
     r"|skb_(over|under)_panic"),
    ("warning", r"WARNING: (CPU: \d|\S+:\d+ at |\[|kernel stack )"),
    ("panic",
     r"Kernel panic - not syncing|KERNEL PANIC|^panic(:|\(cpu)|^trusty: panic |panicked at "
     r"|^fatal error: |recursion in interrupt handler"),
    ("other", r"^(\S+ \S+ )?SYZ(FAIL|FATAL): "),
)
KINDS = tuple((kind, re.compile(pattern)) for kind, pattern in KINDS)
BODIES = (
    ("kasan_memory_error",
     re.compile(r"kasan_report|kasan: bad access detected|Memory state around the buggy address")),
)
WITHOUT_A_CAUSE = ("other", "no_crash", "panic")


def first(lines, table):
    """(kind, number from 1, line) of the first line that an entry of the table knows, or None."""
    for number, line in enumerate(lines, 1):
        if ANNOTATION.match(line):
            continue
        said = line[PREFIX.match(line).end():]
        for kind, pattern in table:
            if pattern.search(said):
                return kind, number, line
    return None


def decide(text, label):
    """(audited label, number from 1, line): 0 and "" where no line decides."""
    lines = text.split("\n")
    opening = first(lines, KINDS)
    bare = opening is None or opening[0] in ("panic", "other")
    body = first(lines, BODIES) if bare and label in WITHOUT_A_CAUSE else None
    if body and (opening is None or body[1] < opening[1]):
        return body
    if opening is None:
        return label, 0, ""
    if opening[0] == "panic" and label != "other":
        return label, opening[1], opening[2]
    return opening


def read(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def lists_of(directory):
    found = sorted(pathlib.Path(directory).glob("*.jsonl"))
    if not found:
        sys.exit(f"{directory}: no list (*.jsonl)")
    return found


def write(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def audit(args):
    out = pathlib.Path(args.out)
    lists = lists_of(args.data)
    out.mkdir(parents=True, exist_ok=True)
    if out.resolve() == pathlib.Path(args.data).resolve():
        sys.exit(f"{out}: is the data's own folder")
    changed, kept, seen = {}, set(), set()
    for path in lists:
        rows = read(path)
        for row in rows:
            label, number, line = decide(row["text"], row["label"])
            seen.add(row["id"])
            if label != row["label"]:
                changed[row["id"]] = (row["label"], label, number, line)
            elif number:
                kept.add(row["id"])
            row["label"] = label
        write(out / path.name, rows)
    tell(changed, len(seen), len(kept))


def tell(changed, total, kept):
    for name, (old, new, number, line) in sorted(changed.items()):
        print(f"{name:12} {old:18} -> {new:18} line {number}: {line.strip()[:80]}")
    for (old, new), count in sorted(collections.Counter(c[:2] for c in changed.values()).items()):
        print(f"{count:4} {old} -> {new}")
    print(f"{total} reports: {len(changed)} changed, {kept} kept by a line, "
          f"{total - kept - len(changed)} kept for want of one")


def explain(args):
    rows = read(args.list)
    if not 1 <= args.number <= len(rows):
        sys.exit(f"{args.list} has reports 1 to {len(rows)}")
    row = rows[args.number - 1]
    label, number, line = decide(row["text"], row["label"])
    print(f"{row['id']}: {row['label']} -> {label}")
    print(f"line {number}: {line.strip()}" if number else "no line decides: the label stays")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    command = parser.add_subparsers(required=True)
    one = command.add_parser("audit")
    one.add_argument("data")
    one.add_argument("out")
    one.set_defaults(run=audit)
    one = command.add_parser("explain")
    one.add_argument("list")
    one.add_argument("number", type=int)
    one.set_defaults(run=explain)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
