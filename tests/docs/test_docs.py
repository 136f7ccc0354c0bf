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
