"""Names that no list has, and spellings of what a field is called: a model of spans then learns places, not words.

Identifiers are made of drawn letters, syllables, words of words.py and their abbreviations. The name of a field is
a phrase of FIELDS, of which each word may be shortened, joined to the next and cased in some way, or, seldom, drawn
letters. What the held-out style `flags` alone writes is never drawn (RESERVED).
"""
import re

import words

RESERVED = re.compile(r"(?<![a-z])(ge|le|hb|sb|sn|oper)(?![a-z])|^v$|(?<![a-z])v#\d|>>>|\*f\*|<pat>|\$[\da-f]{4}", re.I)

# English first, then what German, French, Spanish and Italian testers write; without accents, as logs have them.
FIELDS = {
    "number": ("test number", "test no", "number", "test id", "id", "step", "index", "item number", "nr", "test",
               "sequence number", "testnummer", "pruefschritt", "numero", "num essai", "paso", "passo"),
    "site": ("site", "site number", "test site", "socket", "slot", "position", "station", "dut site", "head", "platz",
             "messplatz", "poste", "sitio", "postazione", "instance"),
    "name": ("test name", "test", "name", "test text", "label", "description", "parameter", "item", "measurement",
             "title", "pruefung", "bezeichnung", "essai", "nom", "ensayo", "prueba", "misura", "subtest"),
    "pin": ("pin", "pin name", "signal", "net", "channel", "terminal", "pad", "ball", "node", "resource", "anschluss",
            "broche", "borne", "patilla", "piedino", "line", "pins"),
    "value": ("value", "result", "measured", "measured value", "reading", "actual", "data", "observed", "messwert",
              "istwert", "valeur", "mesure", "valor", "medida", "valore", "meas result", "mean"),
    "unit": ("unit", "units", "unit of measure", "dimension", "einheit", "unite", "unidad", "unita", "scale"),
    "low": ("low limit", "lower limit", "minimum", "min", "lower", "low spec limit", "lower bound", "at least",
            "low", "untergrenze", "mindestens", "limite inferieure", "limite inferior", "minimo", "lsl", "not below"),
    "high": ("high limit", "upper limit", "maximum", "max", "upper", "high spec limit", "upper bound", "at most",
             "high", "obergrenze", "hoechstens", "limite superieure", "limite superior", "massimo", "usl", "not above"),
    "limits": ("limits", "spec", "range", "window", "allowed", "expected", "tolerance", "grenzen", "bereich",
               "limites", "tolerancia", "limiti"),
    "verdict": ("result", "status", "verdict", "pass fail", "outcome", "state", "judgement", "ergebnis", "etat",
                "resultado", "esito", "flag"),
    "x": ("x", "x coordinate", "x position", "die x", "column", "col", "x index", "spalte", "colonne", "columna"),
    "y": ("y", "y coordinate", "y position", "die y", "row", "y index", "zeile", "ligne", "fila", "riga"),
    "hard_bin": ("hard bin", "hardware bin", "hard bin number", "physical bin", "hard", "bin hard", "hard category",
                 "hart bin", "bin materiel", "h", "hw bin", "h bin", "bin h", "handler bin", "sorter bin", "hard class",
                 "hardware category", "hard bin code", "physical category", "bin fisico", "hardware", "bin hw",
                 "hard result", "hard bin index", "hart klasse", "hart"),
    "soft_bin": ("soft bin", "software bin", "soft bin number", "logical bin", "soft", "bin soft", "soft category",
                 "weich bin", "bin logiciel", "s", "sw bin", "s bin", "bin s", "program bin", "fail bin", "soft class",
                 "software category", "soft bin code", "logical category", "bin logico", "software", "bin sw",
                 "soft result", "soft bin index", "weich klasse", "weich"),
    "bins": ("bin", "bins", "binning", "sort", "category", "class", "bin code", "klasse", "categorie", "classe"),
    "forced": ("forced", "force", "vdd", "vcc", "supply", "condition", "bias", "set", "stimulus", "load", "freq",
               "clock", "bei", "tension", "with"),
    "lot": ("lot", "lot id", "lot number", "batch", "lot name", "charge", "los", "lote", "lotto", "numero de lot"),
    "wafer": ("wafer", "wafer id", "wafer number", "slice", "scheibe", "plaquette", "oblea", "substrate"),
    "program": ("program", "test program", "program name", "job", "job name", "recipe", "flow", "test plan",
                "programm", "pruefprogramm", "programme", "programa", "procedure"),
    "product": ("product", "device", "part type", "device type", "material", "part name", "produkt", "bauteil",
                "produit", "composant", "producto", "dispositivo", "type"),
    "temp": ("temperature", "temp", "test temperature", "chuck temperature", "ambient", "temperatur", "temperatura"),
    "operator": ("operator", "user", "bediener", "operateur", "operador", "login", "employee"),
    "tester": ("tester", "node name", "tester id", "host", "system", "cell", "equipment", "anlage", "machine"),
    "date": ("date", "start time", "started", "setup time", "datum", "beginn", "debut", "fecha", "time stamp"),
    "part": ("part", "part id", "device", "die", "unit", "chip", "sample", "serial", "touchdown", "run", "bauteil",
             "piece", "pieza", "insertion"),
    "cycle": ("cycle", "vector", "first fail cycle", "line", "offset", "step", "takt", "ciclo", "label offset"),
    "count": ("fail count", "count", "errors", "fails", "total", "anzahl", "erreurs", "errores", "mismatches"),
    "detail": ("fail pins", "failing pins", "pins", "signals", "outputs", "channels", "on"),
    "address": ("address", "location", "cell", "index", "adresse", "row"),
    "want": ("expected", "want", "should be", "reference", "good", "soll", "attendu", "compare"),
    "got": ("actual", "got", "read", "is", "received", "ist", "lu", "captured"),
}
CASES = (str.lower, str.upper, str.capitalize, str.title, str)


def letters(rng, least, most):
    return "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(least, most)))


def syllables(rng):
    return "".join(rng.choice(("b", "br", "c", "ch", "d", "dr", "f", "fl", "g", "gr", "h", "j", "k", "l", "m", "n", "p",
                               "pl", "r", "s", "st", "t", "tr", "v", "w", "z")) + rng.choice("aeiouy") +
                   rng.choice(("", "", "l", "m", "n", "r", "s", "t", "x", "ck"))
                   for _ in range(rng.choice((1, 2, 2, 3))))


def shorten(rng, word):
    """The word, its first letters, or what is left without its vowels."""
    how = rng.random()
    if how < 0.5 or len(word) < 4:
        return word
    if how < 0.8:
        return word[:rng.randint(1, 4)]
    return word[0] + re.sub("[aeiou]", "", word[1:])


def word(rng):
    how = rng.random()
    if how < 0.25:
        return letters(rng, 1, 5)
    if how < 0.5:
        return syllables(rng)
    row = words.SYNONYMS[rng.choice(sorted(words.SYNONYMS))]
    return shorten(rng, rng.choice(rng.choice(row).split()))


def allowed(rng, make):
    """What `make` draws, until it is nothing that only the held-out style writes."""
    for _ in range(100):
        text = make(rng)
        if not RESERVED.search(text):
            return text
    raise ValueError(f"a hundred drawn words are the held-out style's, the last: {text}")


def key(rng, field, strange=0.1):
    """How a layout spells the name of a field."""
    def make(rng):
        if rng.random() < strange:
            return rng.choice(CASES)(letters(rng, 1, 4))
        words_of = rng.choice(FIELDS[field]).split()
        if len(words_of) > 1 and rng.random() < 0.2:
            return rng.choice(CASES)("".join(w[0] for w in words_of))       # initials
        parts = [shorten(rng, w) for w in words_of]
        return rng.choice(CASES)(rng.choice(("", "_", "-", " ", " ", ".")).join(parts))
    return allowed(rng, make)


class Names:
    """The names of one product and program: of tests and pins, each old one with a new one, and of what heads have."""

    def __init__(self, rng, spaced=True):
        self.rng = rng
        self.lexicon = [allowed(rng, word) for _ in range(rng.randint(8, 30))]
        self.parts = rng.choice(((1, 1), (1, 2), (1, 3), (2, 3), (2, 4), (3, 6)))
        self.join = rng.choice(("_", "_", " ", " ", " ", "-", ".", ":", "/", "", "__") if spaced else
                               ("_", "_", "-", ""))
        self.second = rng.choice("_ -.:/+@") if spaced and rng.random() < 0.25 else ""   # a joint of some names
        self.case = rng.choice(CASES)
        self.numbers = rng.choice((0, 0.1, 0.3, 0.8))       # names with a number in them
        self.signs = rng.choice((0, 0, 0, 0.2)) if spaced else 0            # and with other signs
        self.banks = [allowed(rng, self.bank) for _ in range(rng.randint(1, 5))]
        self.bare = rng.choice((0, 0.2, 0.7))               # pins without an index
        self.tests, self.pins = {}, {}

    def test(self, old):
        if old not in self.tests:
            self.tests[old] = allowed(self.rng, lambda rng: self.make_test(rng, old))
        return self.tests[old]

    def make_test(self, rng, old):
        if rng.random() < 0.1:
            return old
        parts = [rng.choice(self.lexicon) for _ in range(rng.randint(*self.parts))]
        if rng.random() < self.numbers:
            number = rng.choice((str(rng.randint(0, 9)), str(rng.randint(0, 400)), f"{rng.randint(0, 99):02d}",
                                 f"{rng.randint(0, 5)}p{rng.randint(0, 9)}", f"{rng.randint(1, 60)}v"))
            parts.insert(rng.randint(1, len(parts)), number)
        if rng.random() < self.signs:
            at = rng.randrange(len(parts))
            parts[at] = rng.choice(("({})", "{}+", "{}-", "{}*", "<{}>", "[{}]", "#{}", "{}%", "{}!", "@{}")).format(
                parts[at])
        name = self.join.join(parts)
        if self.second and len(parts) > 1 and rng.random() < 0.6:
            at = rng.randrange(1, len(parts))
            name = self.join.join(parts[:at]) + self.second + self.join.join(parts[at:])
        name = self.case(name).strip(" .:/+@")
        return name if re.search("[a-z]", name, re.I) else old

    def bank(self, rng):
        stem = self.case(rng.choice(self.lexicon) if rng.random() < 0.4 else letters(rng, 1, 4))
        if rng.random() < 0.3:
            stem += rng.choice("_-.") + self.case(rng.choice(self.lexicon))
        return stem + rng.choice(("{}", "{}", "{}", "_{}", "[{}]", "<{}>", ".{}", "-{}", "{:02d}", "({})", "{}_n"))

    def pin(self, old):
        if old not in self.pins:
            self.pins[old] = allowed(self.rng, self.make_pin)
        return self.pins[old]

    def make_pin(self, rng):
        name = rng.choice(self.banks).format(rng.randint(0, rng.choice((7, 31, 255))))
        if rng.random() < self.bare:
            name = self.case(rng.choice(self.lexicon) if rng.random() < 0.5 else letters(rng, 2, 6))
        if rng.random() < 0.1:
            name = str(rng.randint(1, 300)) + name
        return name

    def meta(self, field, old):
        """A lot, product or program of a form of its own; a wafer and a temperature stay numbers."""
        rng = self.rng
        if field == "wafer":
            return rng.choice((old, f"{int(old):02d}", old))
        if field == "temp" or rng.random() < 0.3:
            return old
        return allowed(rng, lambda rng: getattr(self, "make_" + field)(rng))

    def code(self, rng):
        """Letters and digits in turn."""
        return "".join(rng.choice((letters(rng, 1, 3).upper(), str(rng.randint(0, 99999)))) for _ in range(
            rng.randint(2, 4))) + str(rng.randint(0, 9))

    def make_lot(self, rng):
        return rng.choice((self.code(rng), str(rng.randint(1000, 9999999)),
                           f"{self.code(rng)}.{rng.randint(0, 99):02d}",
                           f"{letters(rng, 1, 3).upper()}-{rng.randint(100, 99999)}"))

    def make_product(self, rng):
        stem = rng.choice((self.code(rng), rng.choice(self.lexicon).upper() + str(rng.randint(1, 9999))))
        return stem + rng.choice(("", "", "-" + letters(rng, 1, 2).upper(), "_" + str(rng.randint(1, 9)), "/" + letters(
            rng, 1, 2).upper()))

    def make_program(self, rng):
        stem = rng.choice("_-.").join(rng.choice((rng.choice(self.lexicon), letters(rng, 2, 5))) for _ in range(
            rng.randint(1, 3)))
        return stem + rng.choice(("", "_v{}", "_rev{}", ".{}", "-{}", "_{}.pgm", "{}.tp", "_r{}.xml", ".job")).format(
            rng.randint(0, 40))
