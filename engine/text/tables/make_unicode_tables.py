#!/usr/bin/env python3
"""Writes engine/text/tables/unicode_tables.c:

    pip install tokenizers==0.22.2 && python3 engine/text/tables/make_unicode_tables.py

The tables must agree with the reference (Hugging Face tokenizers 0.22.2), which mixes versions of
Unicode: general categories of 8.0 (crate unicode_categories 0.1.1), combining classes, forms and
marks of 9.0 (crate unicode-normalization-alignments 0.1.12), the lower-casing of Rust's standard
library (17.0) and the classes of grapheme clusters of 16.0 (crate unicode-segmentation 1.12.0;
grapheme_classes.txt). Python's unicodedata knows one version, so the differences are listed here;
they were found by probing every code point of the reference. Classes of characters that patterns
name are the reference's own answers (reference_classes.py).
"""
import re
import unicodedata

import reference_classes
from make_form_tables import (EXPECTED_VERSION, compatibility_of, compositions, decomposition_of,
                              is_surrogate, parse_ranges, sibling, write_array)

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

# Marks in one of the versions 9.0 and 14.0 and not in the other.
MARK_DIFFERS = parse_ranges("""
7FD 898-89F 8CA-8D3 9FE AFA-AFF B55 C04 C3C D00 D3B-D3C D81 EBA 1715 180F 1ABF-1ACE 1CF2-1CF3 1CF7
1DF6-1DFA A82C A8FF 10D24-10D27 10EAB-10EAC 10F46-10F50 10F82-10F85 11070 11073-11074 110C2
11145-11146 111C9 111CE-111CF 1133B 1145E 1182C-1183A 11930-11935 11937-11938 1193B-1193E 11940
11942-11943 119D1-119D7 119DA-119E0 119E4 11A01-11A0A 11A33-11A39 11A3B-11A3E 11A47 11A51-11A5B
11A8A-11A99 11D31-11D36 11D3A 11D3C-11D3D 11D3F-11D45 11D47 11D8A-11D8E 11D90-11D91 11D93-11D97
11EF3-11EF6 16F4F 16F7F-16F87 16FE4 16FF0-16FF1 1CF00-1CF2D 1CF30-1CF46 1E130-1E136 1E2AE
1E2EC-1E2EF
""")

# As enum grapheme_class of unicode_properties.h.
CLASSES = ["Any", "CR", "LF", "Control", "Extend", "Linker", "NonJoiner", "ZWJ", "SpacingMark",
           "Prepend", "L", "V", "T", "LV", "LVT", "Consonant", "Pictographic", "RegionalIndicator"]
SPECIAL = {0x0D: "CR", 0x0A: "LF", 0x200D: "ZWJ", 0x200C: "NonJoiner", 0x94D: "Linker",
           0x9CD: "Linker", 0xACD: "Linker", 0xB4D: "Linker", 0xC4D: "Linker", 0xD4D: "Linker"}

# As enum unicode_flag of unicode_properties.h.
CONTROL, SPACE, PUNCTUATION, MARK, CJK_FLAG, DECOMPOSES = 1, 2, 4, 8, 16, 32
DECOMPOSES_IN_KD, ANY_MARK, COMPOSES = 64, 128, 256
LETTER, NUMBER, WORD, DIGIT = 512, 1024, 2048, 4096

I_WITH_DOT = 0x130  # lower-cases to two characters: unicode.c handles it
SHIFT = 7

NEWER = parse_ranges(NEWER_THAN_8)
COMBINING_NEWER = parse_ranges(COMBINING_NEWER_THAN_9)
LOWER = {c: delta for first, last, delta in LOWER_CASE_NEWER for c in range(first, last + 1)}
CJK_SET = {c for first, last in CJK for c in range(first, last + 1)}


def read_classes():
    result, name = {}, None
    with open(sibling("grapheme_classes.txt"), encoding="ascii") as lines:
        for line in lines:
            if line.rstrip().endswith(":") and not line.startswith("#"):
                name = line.strip()[:-1]
            elif not line.startswith("#"):
                result.update(dict.fromkeys(parse_ranges(line), name))
    for c in range(0xAC00, 0xD7A4):
        result[c] = "LV" if (c - 0xAC00) % 28 == 0 else "LVT"
    return {**result, **SPECIAL}


def sets_of_reference():
    """What one pass over all characters says: [(flag, the set of those that have it)]."""
    return [(LETTER, set(reference_classes.matched(r"\p{L}"))),
            (NUMBER, set(reference_classes.matched(r"\p{N}"))),
            (WORD, set(reference_classes.words())),
            (DIGIT, set(reference_classes.digits())),
            (COMPOSES, {second for second, _, _ in compositions()})]


def flags_of(c, sets):
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
    if compatibility_of(c):
        flags |= DECOMPOSES_IN_KD
    if unicodedata.category(chr(c)).startswith("M") != (c in MARK_DIFFERS):
        flags |= ANY_MARK
    return flags | sum(flag for flag, characters in sets if c in characters)


def lower_delta_of(c):
    lower = chr(c).lower()
    if c in LOWER or c == I_WITH_DOT or is_surrogate(c):
        return LOWER.get(c, 0)
    assert len(lower) == 1, hex(c)
    return ord(lower) - c


def record_of(c, sets, classes):
    if is_surrogate(c):
        return (0, 0, 0, 0)
    combining = 0 if c in COMBINING_NEWER else unicodedata.combining(chr(c))
    return (flags_of(c, sets), combining, CLASSES.index(classes.get(c, "Any")), lower_delta_of(c))


def build_trie():
    sets, classes = sets_of_reference(), read_classes()
    records, numbers, blocks, index = [], {}, {}, []
    for start in range(0, 0x110000, 1 << SHIFT):
        block = []
        for c in range(start, start + (1 << SHIFT)):
            record = record_of(c, sets, classes)
            if record not in numbers:
                numbers[record] = len(records)
                records.append(record)
            block.append(numbers[record])
        index.append(blocks.setdefault(tuple(block), len(blocks)))
    return records, list(blocks), index


def header_shift():
    with open(sibling("../unicode_properties.h"), encoding="ascii") as header:
        return int(re.search(r"UNICODE_TABLES_SHIFT = (\d+)", header.read()).group(1))


def main():
    assert unicodedata.unidata_version == EXPECTED_VERSION, "the lists above are relative to it"
    records, blocks, index = build_trie()
    assert len(records) <= 256 and len(blocks) <= 65535
    assert SHIFT == header_shift()
    with open(sibling("unicode_tables.c"), "w", encoding="ascii") as out:
        out.write(f"""/* unicode_tables.c - generated by make_unicode_tables.py from unicodedata {EXPECTED_VERSION},
 * Python's, adjusted to the reference tokenizer: categories as in Unicode 8.0, combining classes
 * and marks as in 9.0, lower-casing as in 17.0; from grapheme_classes.txt (16.0); and from the
 * answers of Hugging Face tokenizers {reference_classes.EXPECTED_VERSION}. Do not edit. */
#include "engine/text/unicode_properties.h"

/* clang-format off */
""")
        write_array(out, "const struct unicode_properties unicode_tables_records[]",
                    ["{" + ", ".join(map(str, record)) + "}" for record in records])
        write_array(out, "const uint16_t unicode_tables_index[]", [str(i) for i in index])
        write_array(out, "const uint8_t unicode_tables_blocks[]",
                    [str(number) for block in blocks for number in block])


if __name__ == "__main__":
    main()
