"""Drawn wafer IDs are what their labels say (models/wafer-id)."""

import itertools
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "models" / "wafer-id"))
import semi_check  # noqa: E402
import shapes  # noqa: E402

try:
    import nothing  # noqa: E402, F401

    missing = None
except ImportError as why:
    missing = str(why)


class CheckCharacters(unittest.TestCase):
    def test_marks_of_real_wafers_hold(self):
        for mark in ("AM1664-24A2", "Q1P888-13-B4", "N25A67-01B6", "N25A67-13C7", "N2GW02-14D0", "N34U61-25F4"):
            self.assertEqual(semi_check.check_characters(mark[:-2]), mark[-2:])
            self.assertEqual(semi_check.weighted_sum(mark), 0)
            self.assertTrue(semi_check.holds(mark))

    def test_every_wrong_character_is_found(self):
        mark = "Q1P888-13-B4"
        for place, character in itertools.product(range(len(mark)), semi_check.CHARACTERS):
            other = mark[:place] + character + mark[place + 1:]
            self.assertEqual(semi_check.holds(other), other == mark, other)

    def test_what_is_no_mark_does_not_hold(self):
        for text in ("", "A0", "N25A67-16B8", "am1664-24A2", "AM1664_24A2"):
            self.assertFalse(semi_check.holds(text), text)


class Shapes(unittest.TestCase):
    def test_every_family_has_every_character_on_five_by_nine_dots(self):
        for family in shapes.FAMILIES.values():
            self.assertEqual(sorted(family), sorted(semi_check.CHARACTERS))
            for rows in family.values():
                self.assertRegex(rows, r"^([.#]{5} ){8}[.#]{5}$")

    def test_two_characters_differ_in_three_dots_in_all_families(self):
        drawn = {(character, rows) for family in shapes.FAMILIES.values() for character, rows in family.items()}
        for (a, rows_a), (b, rows_b) in itertools.combinations(sorted(drawn), 2):
            if a != b:
                self.assertGreaterEqual(sum(x != y for x, y in zip(rows_a, rows_b)), 3, (a, b))

    def test_every_matrix_has_every_character_and_fills_its_cell(self):
        for family, matrix in itertools.product(shapes.FAMILIES, ((5, 7), (5, 9), (10, 18), (15, 27), (0, 0))):
            seen = {tuple(sorted(shapes.points(family, c, *matrix))): c for c in semi_check.CHARACTERS}
            self.assertEqual(len(seen), len(semi_check.CHARACTERS), (family, matrix))
            places = [place for dots in seen for place in dots]
            self.assertEqual((min(min(p) for p in places), max(max(p) for p in places)), (0, 1))


class Checkpoint(unittest.TestCase):
    def test_a_target_is_its_characters_and_the_end(self):
        """So the model has learnt it. With <s> in front attnd-train would have to teach it anew."""
        path = pathlib.Path(__file__).parents[2] / "models" / "wafer-id" / "tokenizer.json"
        single = json.loads(path.read_text(encoding="utf-8"))["post_processor"]["single"]
        self.assertEqual([part.popitem()[1]["id"] for part in single], ["A", "</s>"])


@unittest.skipIf(missing, missing)
class Pictures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import draw
        import ids
        import make_wafer_ids
        cls.draw, cls.ids, cls.make = draw, ids, make_wafer_ids
        cls.drawn = {name: [make_wafer_ids.draw(3, name, i) for i in range(60)] for name in ids.SETS}

    def fields(self, *names):
        return [fields for name in names for _, fields in self.drawn[name]]

    def test_every_text_is_a_mark_of_its_own_set(self):
        for name in self.drawn:
            for fields in self.fields(name):
                text = fields["target"]
                self.assertEqual(text == "", fields["difficulty"] == "no-mark")
                if text:
                    self.assertTrue(semi_check.holds(text) and 7 <= len(text) <= 18, text)
                    self.assertEqual(self.ids.set_of(text), name)

    def test_training_never_has_what_is_kept_out(self):
        learnt = self.fields("train", "validation")
        self.assertEqual({f.get("style") for f in learnt} & set(self.draw.UNSEEN_STYLES), set())
        self.assertEqual({f.get("shapes") for f in learnt} & set(self.draw.UNSEEN_FAMILIES), set())
        self.assertNotIn("matrix-code", {f.get("kind") for f in learnt})
        self.assertEqual({f["style"] for f in self.fields("unseen")}, set(self.draw.UNSEEN_STYLES))
        self.assertEqual({f["shapes"] for f in self.fields("unseen-shapes")}, set(self.draw.UNSEEN_FAMILIES))
        self.assertIn("matrix-code", {f["kind"] for f in self.fields("no-mark")})

    def test_a_picture_depends_on_seed_set_and_number_alone(self):
        for name, drawn in self.drawn.items():
            again, fields = self.make.draw(3, name, 7)
            self.assertEqual((again.tobytes(), fields), (drawn[7][0].tobytes(), drawn[7][1]))
            self.assertNotEqual(self.make.draw(4, name, 7)[0].tobytes(), again.tobytes())
        self.assertEqual(len({picture.tobytes() for drawn in self.drawn.values() for picture, _ in drawn}),
                         60 * len(self.drawn))

    def test_pictures_have_the_size_and_some_contrast(self):
        for drawn in self.drawn.values():
            for picture, _ in drawn:
                self.assertEqual((picture.shape, picture.dtype.name), ((48, 320), "uint8"))
                self.assertGreater(picture.std(), 1)

    def test_a_mark_lies_in_the_picture_as_a_whole(self):
        import numpy as np
        for number, difficulty in itertools.product(range(60), self.draw.LEVELS):
            rng, level = np.random.default_rng(number), self.draw.LEVELS[difficulty]
            text = self.ids.draw_id(rng, "train")[1]
            flat, owner = self.draw.mark_points(rng, text, "round", (5, 9), level)
            self.assertEqual(owner[-1] + 1, len(text))
            places, pixels = self.draw.place(rng, self.draw.bend(rng, flat, level)[0], 0.1)
            self.assertGreater(pixels, 5)
            self.assertGreaterEqual(places.min(), 0)
            self.assertLessEqual(places[:, 0].max(), self.draw.WIDTH)
            self.assertLessEqual(places[:, 1].max(), self.draw.HEIGHT)

    def test_the_middles_of_characters_go_from_left_to_right_in_the_picture(self):
        for fields in self.fields("train", "clean"):
            middles = fields.get("middles", []) if fields["target"] else []
            self.assertEqual(len(middles), len(fields["target"]))
            self.assertEqual(middles, sorted(middles))
            self.assertTrue(all(0 < x < self.draw.WIDTH and 0 < y < self.draw.HEIGHT for x, y in middles))

    def test_a_checked_reading_holds_and_keeps_what_holds_already(self):
        import numpy as np
        from matcher import most_likely
        rng = np.random.default_rng(5)
        for _ in range(20):
            text = self.ids.draw_id(rng, "train")[1]
            scores = rng.uniform(0, 0.3, (len(text), 38))
            for row, character in zip(scores, text):
                row[semi_check.CHARACTERS.index(character)] = 1
            self.assertEqual(most_likely(scores), text)
            scores[2, semi_check.CHARACTERS.index(text[2])] = 0.2
            scores[2, semi_check.CHARACTERS.index("7" if text[2] != "7" else "9")] = 0.4
            self.assertEqual(most_likely(scores), text)  # the wrong character is a little likelier, and does not hold
            self.assertTrue(semi_check.holds(most_likely(rng.random((9, 38)))))


if __name__ == "__main__":
    unittest.main()
