"""Texts that a classifier of logs should take for none of its own, to calibrate its thresholds with.

    python3 models/make_foreign_texts.py OUT.jsonl [--count 4000] [--seed 1]

One {"text", "label"} a line, the label being the kind: notes and greetings, prose, tables, markup, code, other languages and
scripts, noise. All is put together by chance from the words below: the same bytes for the same seed and count. Then

    build/attnd-eval --model DIR --data labelled.jsonl --calibrate --foreign OUT.jsonl

None of them is in tests/data/foreign_texts.jsonl, by which it is judged what passes. Needs Python 3 and nothing else.
"""
import argparse
import json
import pathlib
import random
import string

ENGLISH = """the a of to and in is was on that with for at by from this our your their we they it office letter garden river holiday
meeting paper plan window summer morning price market order door train ticket road budget lesson school team report visit music
paint story winter table coffee doctor phone friend house water child engine kitchen market hotel""".split()
VERBS = "opens closes sends reads moves likes sells buys finds needs changes brings shows starts ends writes".split()
GREETINGS = """howdy|hi|hey all|dear team|good evening|good night|thank you|many thanks|see you|bye|welcome back|are you there|yes|no
maybe|sure|done|please call back|how is it going|what time is lunch|best regards|sorry for the delay|happy birthday|to do""".replace(
    "\n", "|").split("|")
LANGUAGES = {
    "german": """der die das und ist nicht mit auf für ein eine wir haben bitte morgen heute Besprechung Rechnung Straße Küche Urlaub
                 Schlüssel geöffnet Anlage wieder über Termin Bericht""",
    "french": """le la les et est pas avec pour une nous avons demain matin réunion facture rue cuisine vacances clé ouvert déjà
                 rapport train fenêtre être après""",
    "spanish": """el la los y es no con para una tenemos mañana hoy reunión factura calle cocina vacaciones llave abierto otra vez
                  informe tren ventana después año""",
    "italian": "il lo gli e non con per una abbiamo domani oggi riunione fattura strada cucina vacanze chiave aperto rapporto treno",
    "polish": "nie jest w na do się że jutro dzisiaj spotkanie faktura ulica kuchnia wakacje klucz otwarty znowu raport pociąg okno",
}
SCRIPTS = {"cyrillic": (0x430, 0x44F), "greek": (0x3B1, 0x3C9), "kana": (0x3042, 0x3093), "han": (0x4E00, 0x62FF),
           "hangul": (0xAC00, 0xAFFF), "thai": (0xE01, 0xE2E), "arabic": (0x627, 0x64A)}
NAMES = """name city street price quantity colour size title author year country unit height width total page status owner version
date time speed width x y z id key value first last code""".split()


def sentence(rng, words, low=5, high=18):
    return " ".join(rng.choice(words) for _ in range(rng.randint(low, high)))


def greeting(rng):
    return rng.choice(GREETINGS) + rng.choice(["", "!", "?", ".", ", " + sentence(rng, ENGLISH, 1, 5)])


def prose(rng):
    return " ".join(f"{sentence(rng, ENGLISH, 3, 8).capitalize()} {rng.choice(VERBS)} {sentence(rng, ENGLISH, 2, 9)}."
                    for _ in range(rng.randint(1, 6)))


def cell(rng):
    return rng.choice([str(rng.randint(0, 9)), str(rng.randint(10, 99999)), f"{rng.uniform(0, 999):.{rng.randint(1, 3)}f}",
                       rng.choice(ENGLISH), rng.choice(string.ascii_uppercase) + str(rng.randint(1, 9999)),
                       f"{rng.randint(1990, 2030)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}", ""])


def table(rng):
    mark, columns = rng.choice([",", ";", "\t", "|", ", "]), rng.randint(2, 7)
    head = rng.choice([rng.sample(NAMES, columns), list(string.ascii_lowercase[:columns]), [cell(rng) for _ in range(columns)]])
    rows = [head] + [[cell(rng) for _ in range(columns)] for _ in range(rng.randint(1, 9))]
    return "\n".join(mark.join(row) for row in rows) + "\n"


def element(rng, depth):
    name = rng.choice(NAMES)
    fields = "".join(f' {rng.choice(NAMES)}="{cell(rng)}"' for _ in range(rng.randint(0, 3)))
    inside = "".join(element(rng, depth - 1) for _ in range(rng.randint(1, 3))) if depth else rng.choice([cell(rng), ""])
    return f"<{name}{fields}>{inside}</{name}>" if inside else f"<{name}{fields}/>"


def markup(rng):
    if rng.random() < 0.3:
        return json.dumps({rng.choice(NAMES): rng.choice([cell(rng), rng.randint(0, 999), [cell(rng)]]) for _ in range(4)})
    return rng.choice(["", '<?xml version="1.0"?>', "<!DOCTYPE html>"]) + element(rng, rng.randint(0, 3))


def code(rng):
    one, two, three = rng.sample(NAMES, 3)
    return "\n".join(rng.choice([
        f"{one} = {two} {rng.choice('+-*/')} {rng.randint(0, 99)}", f"if {one} < {two}:", f"    return {three}", f"import {one}",
        f"for (int i = 0; i < {one}; i++) {{ {two}[i] = {three}; }}", f"SELECT {one}, {two} FROM {three}s WHERE {one} > 0;",
        f"def {one}({two}, {three}):", f"let {one} = {two} => {three};", f"{one}.{two}({rng.randint(0, 9)});", "}", f"# {one}",
        f"cd {one} && ls {two}* | sort > {three}.txt", f"static void {one}(struct {two} *{three});", f"#define {one.upper()} 1",
    ]) for _ in range(rng.randint(1, 9))) + "\n"


def language(rng):
    words = rng.choice(list(LANGUAGES.values())).split()
    return " ".join(sentence(rng, words, 2, 14).capitalize() + rng.choice(".!?") for _ in range(rng.randint(1, 4)))


def script(rng):
    low, high = rng.choice(list(SCRIPTS.values()))
    word = lambda: "".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 9)))
    return rng.choice([" ", ""]).join(word() for _ in range(rng.randint(1, 12)))


def noise(rng):
    letters = rng.choice([string.ascii_lowercase, string.digits, string.punctuation, string.hexdigits, string.ascii_letters +
                          string.digits, rng.choice(string.printable[:94])])
    return " ".join("".join(rng.choice(letters) for _ in range(rng.randint(1, rng.choice([1, 4, 8, 30]))))
                    for _ in range(rng.randint(1, 20)))


KINDS = (greeting, prose, table, markup, code, language, script, noise)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    kinds = [KINDS[i % len(KINDS)] for i in range(options.count)]
    options.out.write_text("".join(json.dumps({"text": kind(rng), "label": kind.__name__}) + "\n" for kind in kinds))


if __name__ == "__main__":
    main()
