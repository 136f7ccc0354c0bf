#!/usr/bin/env python3
"""Writes engine/text/tables/form_tables.c: python3 engine/text/tables/make_form_tables.py

Decompositions and compositions as in Unicode 9.0 (crate unicode-normalization-alignments 0.1.12 of
the reference, Hugging Face tokenizers 0.22.2). Python's unicodedata is 14.0; the differences to 9.0
below were found by probing every code point of the reference.
"""
import itertools
import os
import textwrap
import unicodedata

EXPECTED_VERSION = "14.0.0"


def parse_ranges(text):
    result = set()
    for item in text.split():
        first, _, last = item.partition("-")
        result.update(range(int(first, 16), int(last or first, 16) + 1))
    return result


# Compatibility decompositions newer than 9.0.
COMPATIBILITY_NEWER_THAN_9 = parse_ranges("""
32FF A7F2-A7F4 AB69 10781-107BA 1F16C 1FBF0-1FBF9
""")

# U+11938 got a decomposition in 13.0.
DECOMPOSITION_NEWER_THAN_9 = {0x11938}

# The only composite newer than 9.0.
COMPOSITION_NEWER_THAN_9 = {0x11938}


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


def is_surrogate(c):
    return 0xD800 <= c < 0xE000


def decomposition_of(c):
    """The full canonical decomposition, but for Hangul syllables, which are computed."""
    if is_surrogate(c) or 0xAC00 <= c <= 0xD7A3 or c in DECOMPOSITION_NEWER_THAN_9:
        return None
    result = unicodedata.normalize("NFD", chr(c))
    return None if result == chr(c) else [ord(d) for d in result]


def compatibility_of(c):
    """The full decomposition where it is another than the canonical one."""
    if is_surrogate(c) or c in COMPATIBILITY_NEWER_THAN_9:
        return None
    result = unicodedata.normalize("NFKD", chr(c))
    return None if result == unicodedata.normalize("NFD", chr(c)) else [ord(d) for d in result]


def compositions():
    """By second character, then first: [(second, first, composed)]."""
    result = []
    for c in range(0x110000):
        parts = unicodedata.decomposition(chr(c)).split()
        if len(parts) != 2 or parts[0].startswith("<") or c in COMPOSITION_NEWER_THAN_9:
            continue
        if unicodedata.normalize("NFC", chr(c)) == chr(c):
            result.append((int(parts[1], 16), int(parts[0], 16), c))
    return sorted(result)


def runs_of(decompose):
    """Neighbouring characters whose decompositions are of one length: [first, last, decompositions]."""
    out = []
    for c in range(0x110000):
        decomposition = decompose(c)
        if decomposition is None:
            continue
        if out and out[-1][1] == c - 1 and len(out[-1][2]) == len(decomposition) * (c - out[-1][0]):
            out[-1][1] = c
            out[-1][2].extend(decomposition)
        else:
            out.append([c, c, list(decomposition)])
    return out


def pool_of(runs):
    """What all runs decompose into. A run that stands in a longer one's is not written again."""
    pool = ""
    for _, _, characters in sorted(runs, key=lambda run: (-len(run[2]), run[0])):
        text = "".join(map(chr, characters))
        if text not in pool:
            pool += text
    return pool


def write_text(out, declaration, text):
    """A string of 32-bit characters in lines of 100 columns."""
    lines = [""]
    for c in text:
        if c in '"?\\':  # ? begins a trigraph
            word = "\\" + c
        elif " " <= c <= "~":
            word = c
        else:
            word = f"\\u{ord(c):04X}" if ord(c) <= 0xFFFF else f"\\U{ord(c):08X}"
        if len(lines[-1]) + len(word) > 92:
            lines.append("")
        lines[-1] += word
    out.write(f"\n{declaration} =\n" + "\n".join(f'    U"{line}"' for line in lines) + ";\n")


def write_runs(out, form, runs, pool):
    items = [f"{{0x{first:X}, 0x{last:X}, {pool.index(''.join(map(chr, characters)))}, "
             f"{len(characters) // (last - first + 1)}}}" for first, last, characters in runs]
    write_array(out, f"const struct form_run form_tables_{form}[]", items)
    out.write(f"const size_t form_tables_{form}_count = {len(items)};\n")


def main():
    assert unicodedata.unidata_version == EXPECTED_VERSION, "the lists above are relative to it"
    canonical, compatible = runs_of(decomposition_of), runs_of(compatibility_of)
    pool, composed = pool_of(canonical + compatible), compositions()
    seconds = [(second, len(list(items)))
               for second, items in itertools.groupby(composed, lambda item: item[0])]
    starts = itertools.accumulate([0] + [count for _, count in seconds])
    assert len(pool) <= 65535
    with open(sibling("form_tables.c"), "w", encoding="ascii") as out:
        out.write(f"""/* form_tables.c - generated by make_form_tables.py from unicodedata {EXPECTED_VERSION},
 * Python's, adjusted to the reference tokenizer (forms of Unicode 9.0). Do not edit. */
#include "engine/text/tables/form_tables.h"

/* clang-format off */
""")
        write_runs(out, "canonical", canonical, pool)
        write_runs(out, "compatible", compatible, pool)
        write_text(out, "const uint32_t form_tables_pool[]", pool)
        write_array(out, "const struct form_second form_tables_seconds[]",
                    [f"{{0x{second:X}, {start}, {count}}}"
                     for (second, count), start in zip(seconds, starts)])
        out.write(f"const size_t form_tables_second_count = {len(seconds)};\n")
        write_array(out, "const struct form_composition form_tables_compositions[]",
                    [f"{{0x{first:X}, 0x{whole:X}}}" for _, first, whole in composed])


if __name__ == "__main__":
    main()
