"""The parts of a Markdown page that a test can hold it to: fenced blocks, and words in back quotes."""

import dataclasses
import re

FENCE = re.compile(r"^( *)```(\w*)$")
NOTE = re.compile(r"^<!-- (.*) -->$")
SPAN = re.compile(r"`([^`\n]+(?:\n[^`\n]+)?)`")


@dataclasses.dataclass
class Block:
    language: str
    note: str  # of a comment <!-- ... --> on the line before; "" without
    line: int  # of its first line in the page, from 1
    text: str


@dataclasses.dataclass
class Step:
    """A command, and what the page shows as its output (None: nothing is shown)."""
    line: int
    command: str
    shown: str | None = None


def blocks_of(page):
    blocks, note, inside = [], "", None
    for number, line in enumerate(page.splitlines(), 1):
        fence = FENCE.match(line)
        if fence and inside is None:
            inside, indent = Block(fence[2], note, number + 1, ""), len(fence[1])
        elif fence:
            blocks.append(inside)
            inside = None
        elif inside is not None:
            inside.text += line[indent:] + "\n"
        said = NOTE.match(line)
        note = said[1] if said else note if line == "" else ""
    return blocks


def spans_of(page):
    """(line, words) of what stands in back quotes outside of blocks."""
    plain, inside = [], False
    for line in page.splitlines():
        fence = FENCE.match(line)
        plain.append("" if inside or fence else line)
        inside ^= fence is not None
    text = "\n".join(plain)
    for match in SPAN.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, " ".join(match[1].split())


def goes_on(command):
    return command.endswith(("\\\n", "|\n"))


def commands_of(text, line):
    """Commands of a shell block: lines, with what a backslash, a bar or a here-document joins to them."""
    steps, until = [], None
    for number, row in enumerate(text.splitlines(), line):
        if steps and (until is not None or goes_on(steps[-1].command)):
            steps[-1].command += row + "\n"
        elif row.strip() and not row.startswith("#"):
            steps.append(Step(number, row + "\n"))
        here = re.search(r"<<'(\w+)'", row)
        until = here[1] if here else None if row == until else until
    return steps


def session_of(text, line):
    """Commands of a console block, each behind "$ ", and the lines that follow it."""
    steps = []
    for number, row in enumerate(text.splitlines(), line):
        if row.startswith("$ "):
            steps.append(Step(number, row[2:] + "\n"))
        elif steps[-1].shown is None and goes_on(steps[-1].command):
            steps[-1].command += row + "\n"
        else:
            steps[-1].shown = (steps[-1].shown or "") + row + "\n"
    return steps
