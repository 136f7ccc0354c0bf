#!/usr/bin/env python3
"""Writes engine/text/tables/unicode_tables.c: python3 engine/text/tables/make_unicode_tables.py

The tables must agree with the reference (Hugging Face tokenizers 0.22.2), which mixes three
versions of Unicode: general categories of 8.0 (crate unicode_categories 0.1.1), combining classes
and decompositions of 9.0 (crate unicode-normalization-alignments 0.1.12) and the lower-casing of
Rust's standard library (17.0). Python's unicodedata knows one version, so the differences are
listed here; they were found by probing every code point of the reference.
"""
import itertools
import os
import re
import textwrap
import unicodedata

EXPECTED_VERSION = "14.0.0"

# Punctuation, marks (Mn) and format characters newer than Unicode 8.0: the reference knows no
# category for them and keeps them as letters. Ranges may span characters of other categories.
NEWER_THAN_8 = """
61D 7FD 890-8E2 9FD-9FE A76 AFA-AFF B55 C04-C3C C77 C84 D00 D3B-D3C D81 EBA 180F-1886 1ABF-1ACE
1B7D-1B7E 1DF6-1DFB 2E43-2E5D A82C A8C5 A8FF A9BD 10D24-10F89 11070-11074 110C2-110CD 111CF 1123E
1133B 11438-1145E 11660-1166C 116B9 1182F-11FFF 12FF1-13438 16E97-16F4F 16FE2-16FE4 1CF00-1CF46
1E000-1E2EF 1E944-1E95F
"""

# Combining characters newer than Unicode 9.0: starters for the reference.
COMBINING_NEWER_THAN_9 = """
7FD 898-8D3 9FE C3C D3B-D3C EBA 1715 1ABF-1ACE 1DF6-1DFA A82C 10D24-10F85 11070 1133B 1145E
11839-11A99 11D42-11D97 16FF0-16FF1 1E130-1E2EF
"""

# Category changed since 8.0: U+166D and U+111C9 were punctuation, U+1734 a mark.
PUNCTUATION_IN_8 = {0x166D, 0x111C9}
MARK_IN_8 = {0x1734}

# U+11938 got a decomposition in 13.0.
DECOMPOSITION_NEWER_THAN_9 = {0x11938}

# Upper-case letters of 15.0 to 17.0: first, last, distance to the lower-case letter.
LOWER_CASE_NEWER = [
    (0x1C89, 0x1C89, 1), (0xA7CB, 0xA7CB, 0x264 - 0xA7CB), (0xA7CC, 0xA7CC, 1),
    (0xA7CE, 0xA7CE, 1), (0xA7D2, 0xA7D2, 1), (0xA7D4, 0xA7D4, 1), (0xA7DA, 0xA7DA, 1),
    (0xA7DC, 0xA7DC, 0x19B - 0xA7DC), (0x10D50, 0x10D65, 32), (0x16EA0, 0x16EB8, 27),
]

# The ranges that BERT calls Chinese (tokenization.py of google-research/bert, with the reference's
# U+2B920 where the original has U+2B820).
CJK = [(0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF),
       (0x2A700, 0x2B81F), (0x2B920, 0x2CEAF), (0x2F800, 0x2FA1F)]

CONTROL, SPACE, PUNCTUATION, MARK, CJK_FLAG, DECOMPOSES = 1, 2, 4, 8, 16, 32
I_WITH_DOT = 0x130  # lower-cases to two characters: unicode.c handles it
SHIFT = 7


def parse_ranges(text):
    result = set()
    for item in text.split():
        first, _, last = item.partition("-")
        result.update(range(int(first, 16), int(last or first, 16) + 1))
    return result


NEWER = parse_ranges(NEWER_THAN_8)
COMBINING_NEWER = parse_ranges(COMBINING_NEWER_THAN_9)
LOWER = {c: delta for first, last, delta in LOWER_CASE_NEWER for c in range(first, last + 1)}
CJK_SET = {c for first, last in CJK for c in range(first, last + 1)}


def is_surrogate(c):
    return 0xD800 <= c < 0xE000


def flags_of(c):
    category = unicodedata.category(chr(c)) if c not in NEWER else "Cn"
    flags = 0
    if (category in ("Cc", "Cf", "Co") and c not in (9, 10, 13)) or c == 0xFFFD:
        flags |= CONTROL
    if category == "Zs" or 9 <= c <= 13 or c in (0x85, 0x2028, 0x2029):
        flags |= SPACE
    ascii_symbol = 33 <= c < 127 and not chr(c).isalnum()
    if category[0] == "P" or ascii_symbol or c in PUNCTUATION_IN_8:
        flags |= PUNCTUATION
    if (category == "Mn" and c not in PUNCTUATION_IN_8) or c in MARK_IN_8:
        flags |= MARK
    if c in CJK_SET:
        flags |= CJK_FLAG
    if decomposition_of(c):
        flags |= DECOMPOSES
    return flags


def decomposition_of(c):
    """The full canonical decomposition, but for Hangul syllables, which are computed."""
    if is_surrogate(c) or 0xAC00 <= c <= 0xD7A3 or c in DECOMPOSITION_NEWER_THAN_9:
        return None
    result = unicodedata.normalize("NFD", chr(c))
    return None if result == chr(c) else [ord(d) for d in result]


def lower_delta_of(c):
    lower = chr(c).lower()
    if c in LOWER or c == I_WITH_DOT or is_surrogate(c):
        return LOWER.get(c, 0)
    assert len(lower) == 1, hex(c)
    return ord(lower) - c


def record_of(c):
    if is_surrogate(c):
        return (0, 0, 0)
    combining = 0 if c in COMBINING_NEWER else unicodedata.combining(chr(c))
    return (flags_of(c), combining, lower_delta_of(c))


def build_trie():
    records, numbers, blocks, index = [], {}, {}, []
    for start in range(0, 0x110000, 1 << SHIFT):
        block = []
        for c in range(start, start + (1 << SHIFT)):
            record = record_of(c)
            if record not in numbers:
                numbers[record] = len(records)
                records.append(record)
            block.append(numbers[record])
        index.append(blocks.setdefault(tuple(block), len(blocks)))
    return records, list(blocks), index


RUN_MIN = 8  # equal elements that are written once, as "[first ... last] = value"


def write_array(out, declaration, items):
    """Lines of 100 columns. Items are strings."""
    words, at = [], 0
    for item, run in itertools.groupby(items):
        count = len(list(run))
        words += [f"[{at} ... {at + count - 1}] = {item},"] if count >= RUN_MIN else [f"{item},"] * count
        at += count
    # no line ends within an element
    text = textwrap.fill(" ".join(word.replace(" ", "\0") for word in words), 100, initial_indent="    ",
                         subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    out.write(f"\n{declaration} = {{\n" + text.replace("\0", " ") + "\n};\n")


def sibling(name):
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), name)


def header_shift():
    with open(sibling("unicode_tables.h"), encoding="ascii") as header:
        return int(re.search(r"UNICODE_TABLES_SHIFT = (\d+)", header.read()).group(1))


def main():
    assert unicodedata.unidata_version == EXPECTED_VERSION, "the lists above are relative to it"
    records, blocks, index = build_trie()
    pool, entries = [], []
    for c in range(0x110000):
        decomposition = decomposition_of(c)
        if decomposition:
            entries.append(f"{{0x{c:X}, {len(pool)}, {len(decomposition)}}}")
            pool += [f"0x{d:X}" for d in decomposition]
    assert len(records) <= 256 and len(blocks) <= 65535 and len(pool) <= 65535
    assert SHIFT == header_shift()
    with open(sibling("unicode_tables.c"), "w", encoding="ascii") as out:
        out.write(f"""/* unicode_tables.c - generated by make_unicode_tables.py from unicodedata {EXPECTED_VERSION},
 * Python's, adjusted to the reference tokenizer: categories as in Unicode 8.0, combining classes
 * and decompositions as in 9.0, lower-casing as in 17.0. Do not edit. */
#include "engine/text/tables/unicode_tables.h"

/* clang-format off */
""")
        write_array(out, "const struct unicode_properties unicode_tables_records[]",
                    [f"{{{f}, {k}, {d}}}" for f, k, d in records])
        write_array(out, "const uint16_t unicode_tables_index[]", [str(i) for i in index])
        write_array(out, "const uint8_t unicode_tables_blocks[]",
                    [str(number) for block in blocks for number in block])
        write_array(out, "const struct unicode_decomposition unicode_tables_decompositions[]", entries)
        out.write(f"const size_t unicode_tables_decomposition_count = {len(entries)};\n")
        write_array(out, "const uint32_t unicode_tables_pool[]", pool)


if __name__ == "__main__":
    main()
