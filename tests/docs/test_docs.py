"""The test of the documents' commands sees what it must see."""

import pathlib
import unittest

from blocks import blocks_of, commands_of, session_of, spans_of
from compare import disagreement
from words import Words

PAGE = """Text with `code`, and
<!-- file: a.json -->
```json
{"a": 1}
```

```console
$ printf 'a\\n' | \\
  cat
a
$ true
```
  and `more
code`.
"""


class Pages(unittest.TestCase):
    def test_blocks_have_their_language_note_and_line(self):
        first, second = blocks_of(PAGE)
        self.assertEqual((first.language, first.note, first.line, first.text), ("json", "file: a.json", 4, '{"a": 1}\n'))
        self.assertEqual((second.language, second.note, second.line), ("console", "", 8))

    def test_a_session_is_commands_with_what_they_show(self):
        first, second = session_of(blocks_of(PAGE)[1].text, 8)
        self.assertEqual((first.command, first.shown), ("printf 'a\\n' | \\\n  cat\n", "a\n"))
        self.assertEqual((second.command, second.shown, second.line), ("true\n", None, 11))

    def test_commands_take_their_continuations_and_here_documents(self):
        text = "# nothing\ncat > x <<'END'\none\n\ntwo\nEND\nmake \\\n  all\nls |\n  cat\n"
        self.assertEqual([step.command for step in commands_of(text, 1)],
                         ["cat > x <<'END'\none\n\ntwo\nEND\n", "make \\\n  all\n", "ls |\n  cat\n"])

    def test_words_in_back_quotes_are_found_with_their_line_outside_of_blocks(self):
        self.assertEqual(list(spans_of(PAGE)), [(1, "code"), (13, "more code")])


class Comparison(unittest.TestCase):
    def test_the_same_output_agrees(self):
        self.assertIsNone(disagreement("a…c\nd\n", "abc\nd\n"))
        self.assertIsNone(disagreement("a\n…\n", "a\nb\nc\n"))

    def test_another_missing_or_further_line_does_not(self):
        for found in ("abd\nd\n", "abc\n", "abc\nd\ne\n"):
            self.assertIsNotNone(disagreement("a…c\nd\n", found))

    def test_json_agrees_but_for_times_made_identifiers_and_last_digits(self):
        shown = '{"id":"0123456789abcdef","score":0.5,\n "timing_ms":{"total":1.5},"list":[1,"…"]}'
        found = '{"id":"fedcba9876543210","score":0.50001,"timing_ms":{"total":9.0},"list":[1,2,3]}'
        self.assertIsNone(disagreement(shown, found))

    def test_last_digits_in_the_middle_of_a_text_may_differ_and_no_others(self):
        shown = '{"reason": "score 0.409029365 of 12 is above…"}'
        for said, agrees in (("score 0.409029394 of 12 is above it", True), ("score 0.419029365 of 12 is above it", False),
                             ("score 0.409029365 of 13 is above it", False), ("score x of 12 is above it", False)):
            self.assertEqual(disagreement(shown, '{"reason": "%s"}' % said) is None, agrees, said)

    def test_json_that_differs_is_told_where(self):
        for shown, found, where in (('{"a":1}', '{"a":1,"b":2}', "members a, b"), ('{"a":{"b":1}}', '{"a":{"b":2}}', "$.a.b"),
                                    ('{"a":[1]}', '{"a":[1,2]}', "2 elements"), ('{"a":0.5}', '{"a":0.51}', "$.a"),
                                    ('{"id":"mine"}', '{"id":"other"}', "$.id"), ('{"a":1}', "none", "no JSON"),
                                    ('{"a":1,"…":"…"}', '{"b":1}', "$.a"), ('{"a":"x…"}', '{"a":"y"}', "$.a")):
            self.assertIn(where, disagreement(shown, found))


class Figures(unittest.TestCase):
    """docs/sizing.md computes with figures that stand elsewhere, too. If one of these lines has changed there, go
    through docs/sizing.md with the new one, and then change it here."""

    SOURCES = {
        "docs/operating.md": (
            "| wafer maps / crash reports, 32 connections | 670 / 70 answers a second |",
            "| BERT-base over HTTP, 32 connections, mixed, tokens/s | 2 700 | 5 090 | 9 170 | |",
            "| ViT-B/16, one image, ms | 78 | 40 | 24 |",
            "| resident memory | 86 MB |",
            "| resident, MB | 474 | 307 | 220 | |"),
        "deploy/OPERATIONS.md": (
            "where 2 429 were: 3 and 9 % too few, in a second run 14 %",
            "| 2 | 1 x 2 | 1,608,300, 447, 35.8 | 204,508,800, 2,367, 6.8 |",
            "| 8 | 1 x 8 | 3,590,100, 997, 16.0 | 454,485,600, 5,260, 3.0 |",
            "| 16 | 2 x 8 | 7,180,200, 1,994, 16.0 | 928,800,000, 10,750, 3.0 |",
            "| 32 | 4 x 8 | 14,360,400, 3,989, 16.0 | 1,857,664,800, 21,501, 3.0 |",
            "| 64 | 8 x 8 | 28,718,100, 7,977, 15.9 | 3,719,692,800, 43,052, 3.0 |",
            "| 128 | 16 x 8 | 57,438,000, 15,955, 15.9 | 7,439,515,200, 86,106, 2.9 |"),
        "loadtest/RESULTS.md": (
            "| BERT 1 x 128 | f32 | 52.10 (49.02) |", "| BERT 1 x 128 | bf16 | 25.93 (25.44) |",
            "| BERT 1 x 128 | int8 | 13.86 (13.77) |",
            "| BERT-base 1 x 128 | 104, 117, 0.89 | 56.8, 66.6, 0.85 | 29.5, 34.0, 0.87 |",
            "| 27.4 (27.1) | 18.0 (17.9) |", "| 27.7 (26.8) | 11.6 (11.4) |", "| 90.7 (88.7) | 75.5 (75.1) |",
            "| 103, 115, 0.90 (another run: 86.7, 93.9, 0.92) | 32.5, 39.6, 0.82 (24.4, 32.6, 0.75) |"),
        "docs/batch.md": ("| 1 210 | 982 | 25.9 MB |", "| 2 876 | 3 047 | 21.2 MB |"),
        "docs/stream.md": ("| 2 604 to 2 708 |", "0.955 to 0.971 of `attnd-batch`"),
        "docs/training.md": ("146 images/s", "22.8 texts/s"),
        "docs/learning.md": ("24 seconds for 10 000 maps",),
    }

    def test_sources_of_the_figures_in_sizing_are_as_they_were(self):
        for page, lines in self.SOURCES.items():
            text = " ".join(pathlib.Path(page).read_text().split())
            for line in lines:
                self.assertIn(line, text, f"{page}: docs/sizing.md computes with this")


class Names(unittest.TestCase):
    def setUp(self):
        self.words = Words(pathlib.Path.cwd(), pathlib.Path.cwd() / "build")

    def faults(self, words):
        return [fault for _, fault in self.words.faults(f"`{words}`\n")]

    def test_what_exists_is_no_fault(self):
        for words in ("--queue-limit", "attnd-train --model X --epochs 2", "make test", "make all tests", "docs/api.md",
                      "models/*.py", "cat --number"):
            self.assertEqual(self.faults(words), [])

    def test_what_does_not_exist_is_told(self):
        for words, fault in (("--queue-limt", "no program has --queue-limt"), ("attnd-eval --epochs 2", "no program has --epochs"),
                             ("make tset", "make has no target tset"), ("docs/nothing.md", "there is no docs/nothing.md")):
            self.assertEqual(self.faults(words), [fault])


if __name__ == "__main__":
    unittest.main()
