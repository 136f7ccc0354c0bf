"""The spans of synthetic test logs are what their labels say (models/testlog/make_spans.py)."""

import pathlib
import re
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "models" / "testlog"))
import make_spans  # noqa: E402
import span_rules  # noqa: E402
import spelling  # noqa: E402
import wide  # noqa: E402

NUMBER = r"[-+]?[\d.]+(e[-+]?\d+)?"
LOOKS = {"test_number": r"\d+", "value": NUMBER, "low_limit": NUMBER, "high_limit": NUMBER, "site": r"\d+",
         "x": r"-?\d+", "y": r"-?\d+", "hard_bin": r"\d+", "soft_bin": r"\d+", "wafer": r"\d+",
         "unit": r"[GMkmunp]?(V/us|Ohm|R|LSB|dB|UI|Hz|V|A|sec|S|F|C|%|W|b/s|bps)?", "pin": r"\S+", "lot": r"\w\d+(\.1|A)?",
         "product": r"[A-Z]{2}\d+", "temperature": r"-?\d+", "program": r"\w+\.\d+", "test_name": r"\S(.*\S)?"}
DECIMAL = r"[-+]?[\d.,]+(e[-+]?\d+)?"
WIDE_LOOKS = {"value": DECIMAL, "low_limit": DECIMAL, "high_limit": DECIMAL, "unit": r"[a-z/%]+", "lot": r"[\w.-]+",
              "product": r"[\w./-]+", "program": r"[\w./-]+", "test_name": r"\S(.*\S)?"}


class Spans(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        make_spans.start()
        cls.logs = {split: [make_spans.json.loads(make_spans.line((split, 3, i))) for i in range(30)]
                    for split in ("fixed", "drawn", "style")}
        cls.wide = {split: [make_spans.json.loads(make_spans.line((split, 3, i))) for i in range(60)]
                    for split in ("wide", "apart")}

    def test_each_field_of_a_wide_layout_looks_as_its_label_says(self):
        looks = LOOKS | WIDE_LOOKS
        fields = [(s["label"], log["text"][s["start"]:s["end"]]) for logs in self.wide.values() for log in logs
                  for s in log["spans"] if 0 < s["start"] and s["end"] < len(log["text"])]
        self.assertEqual([f for f in fields if not re.fullmatch(looks[f[0]], f[1], re.I)], [])
        self.assertEqual({label for label, _ in fields}, set(make_spans.LABELS))

    def test_wide_layouts_write_nothing_that_only_the_held_out_style_writes(self):
        told = [found.group() for logs in self.wide.values() for log in logs
                if (found := spelling.RESERVED.search(log["text"]))]
        self.assertEqual(told, [])
        met = make_spans.json.loads(make_spans.line(("wide", 1, 145)))      # a verdict F between two asterisks
        self.assertIsNone(spelling.RESERVED.search(met["text"]))
        texts = [log["text"] for log in self.logs["style"]]
        self.assertTrue(all(spelling.RESERVED.search(text) for text in texts))

    def test_kinds_kept_apart_are_never_trained(self):
        apart = {kind.name for kind in wide.APART}
        self.assertEqual({log["style"] for log in self.wide["apart"]}, apart)
        trained = {make_spans.style_of(split, make_spans.random.Random(f"{split}{i}")).name
                   for split in ("train", "validation", "wide") for i in range(300)}
        self.assertFalse(trained & (apart | {"flags"}))
        self.assertLess({kind.name for kind in wide.TRAINED}, trained)

    def test_each_field_looks_as_its_label_says(self):
        odd = [(log["style"], s["label"], log["text"][s["start"]:s["end"]])
               for logs in self.logs.values() for log in logs for s in log["spans"]
               if s["end"] < len(log["text"]) and s["start"] > 0        # the cut may go through a field
               and not re.fullmatch(LOOKS[s["label"]], log["text"][s["start"]:s["end"]], re.I)]
        self.assertEqual(odd, [])

    def test_no_mark_is_left_and_spans_are_in_order(self):
        for logs in self.logs.values():
            for log in logs:
                self.assertFalse(any("\uE000" <= c <= "\uE0FF" for c in log["text"]))
                ends = [0] + [s["end"] for s in log["spans"]]
                self.assertTrue(all(s["start"] >= end for s, end in zip(log["spans"], ends)))
                self.assertGreater(len(log["spans"]), 5)

    def test_the_same_place_gives_the_same_log(self):
        again = make_spans.json.loads(make_spans.line(("style", 3, 7)))
        self.assertEqual(again, self.logs["style"][7])
        self.assertEqual({log["style"] for log in self.logs["style"]}, {"flags"})
        self.assertNotIn("flags", {log["style"] for log in self.logs["fixed"] + self.logs["drawn"]})

    def test_a_broken_field_is_what_is_left_of_it(self):
        mark = make_spans.mark("lot", "AB12")
        self.assertEqual(make_spans.take_marks("x " + mark[:-2]), ("x AB1", [{"label": "lot", "start": 2, "end": 5}]))
        self.assertEqual(make_spans.take_marks(mark[2:] + " " + mark),
                         (" AB12", [{"label": "lot", "start": 1, "end": 5}]))

    def test_rules_know_the_fixed_styles_and_not_the_held_out_one(self):
        fixed = span_rules.score(self.logs["fixed"], lambda log: span_rules.apply(log["style"], log["text"])[0])
        held_out = span_rules.score(self.logs["style"], lambda log: span_rules.guess(log["text"]))
        self.assertGreater(float(fixed.split()[2]), 0.98)
        self.assertLess(float(held_out.split()[2]), 0.1)

    def test_a_real_record_is_read_by_its_form(self):
        die = {"text": "1175 indice        <> REF_FLAG 12  [-1, 17] pass\n1190 Ref aft zap     <> REF 3.38 v [3.3, 3.4] FAIL"}
        log = make_spans.json.loads(make_spans.real_line(die))
        fields = [(s["label"], log["text"][s["start"]:s["end"]]) for s in log["spans"]]
        self.assertEqual(fields[-7:], [("test_number", "1190"), ("test_name", "Ref aft zap"), ("pin", "REF"),
                                       ("value", "3.38"), ("unit", "v"), ("low_limit", "3.3"), ("high_limit", "3.4")])
        self.assertEqual(len(fields), 13)

    def test_no_piece_of_the_encoder_has_a_digit_and_a_letter(self):
        source = pathlib.Path(__file__).parents[2] / "models" / "testlog-bert"
        with tempfile.TemporaryDirectory() as folder:
            make_spans.write_encoder(source, pathlib.Path(folder))
            pieces = (pathlib.Path(folder) / "vocab.txt").read_text(encoding="utf-8").splitlines()
        self.assertEqual(len(pieces), len((source / "vocab.txt").read_text(encoding="utf-8").splitlines()))
        mixed = [p for p in pieces if not p.startswith("[") and re.search(r"\d", p) and re.search("[a-z]", p)]
        self.assertEqual(mixed, [])


if __name__ == "__main__":
    unittest.main()
