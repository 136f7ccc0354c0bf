"""The changes of a line that can be drawn.

A file is cut into tokens; comments, preprocessor lines, strings and the insides of asserts give none.
Left out on purpose, because a change there shows nothing about the tests:
  - comments, #include and the other preprocessor lines (macro bodies with them): a change of a macro
    is a change of many lines;
  - declarations without a value and prototypes: the compiler judges them, and a longer array is the
    same program;
  - asserts: they state what cannot happen;
  - __builtin_prefetch: a hint to the processor, which changes no result;
  - tables that a script generated: 3100 lines that test_generated_tables compares as a whole;
  - headers: their inline functions belong to no test's list of lines.
"""
import re
from collections import namedtuple

# text[start:end] is replaced by new; what is how the change is named in lists.
Change = namedtuple("Change", "line kind what start end new")
Token = namedtuple("Token", "kind text start end")

LEFT_OUT = {"engine/text/tables/unicode_tables.c", "engine/text/tables/form_tables.c"}

OPERATORS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+",
             "*": "/", "/": "*", "&&": "||", "||": "&&", "&": "|", "|": "&", "++": "--", "--": "++",
             "+=": "-=", "-=": "+="}
MAYBE_UNARY = {"+", "-", "*", "&"}
CONTROL = {"if", "for", "while", "do", "switch", "else", "case", "default", "sizeof"}
TYPES = {"static", "const", "struct", "enum", "union", "typedef", "extern", "volatile", "register",
         "_Atomic", "_Thread_local", "_Alignas", "unsigned", "signed", "char", "int", "float",
         "double", "bool", "long", "short", "void", "size_t", "ssize_t"}

TOKEN = re.compile(r"""
      (?P<comment>/\*.*?\*/|//[^\n]*)
    | (?P<directive>^[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*)
    | (?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
    | (?P<number>0[xX][0-9a-fA-F]+[uUlL]*|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fFuUlL]*)
    | (?P<name>[A-Za-z_]\w*)
    | (?P<sign>->|\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\.\.\.|[^\s\w])
    """, re.X | re.S | re.M)


def tokens_of(text):
    found = [Token(m.lastgroup, m.group(), m.start(), m.end()) for m in TOKEN.finditer(text)]
    return [token for token in found if token.kind not in ("comment", "directive")]


def partners(tokens):
    """The index of the closing bracket for that of the opening one, and the other way."""
    pairs, open_at = {}, []
    for i, token in enumerate(tokens):
        if token.kind == "sign" and token.text in "([{":
            open_at.append(i)
        elif token.kind == "sign" and token.text in ")]}" and open_at:
            j = open_at.pop()
            pairs[i], pairs[j] = j, i
    return pairs


def one_more(number):
    """The changed constants for a written one: 0 to 1, 1 to 2 or 0, n to n + 1."""
    digits, suffix = re.fullmatch(r"(0[xX][0-9a-fA-F]+|[0-9.]+(?:[eE][+-]?\d+)?)(\w*)", number).groups()
    if digits[:2] in ("0x", "0X"):
        return ["0x%X%s" % (int(digits, 16) + 1, suffix)]
    if re.search(r"[.eE]", digits):
        return ["%r%s" % (float(digits) + 1, suffix)]
    value = int(digits, 8 if digits.startswith("0") and digits.isdigit() and len(digits) > 1 else 10)
    return [str(new) + suffix for new in ([2, 0] if value == 1 else [value + 1])]


class File:
    """The changes that the text of one file allows."""

    def __init__(self, text):
        self.text = text
        self.tokens = tokens_of(text)
        self.pairs = partners(self.tokens)
        self.in_brackets = self.tokens_in_brackets()
        self.changes = []
        self.skipped = self.spans_without_changes()
        for i, token in enumerate(self.tokens):
            if not any(start <= i <= end for start, end in self.skipped):
                self.look_at(i, token)

    def tokens_in_brackets(self):
        inside = set()
        for i, j in self.pairs.items():
            if i < j and self.tokens[i].text in "([":
                inside.update(range(i + 1, j))
        return inside

    def line_of(self, position):
        return self.text.count("\n", 0, position) + 1

    def add(self, at, kind, what, start, end, new):
        self.changes.append(Change(self.line_of(at), kind, what, start, end, new))

    def spans_without_changes(self):
        spans = []
        for i, token in enumerate(self.tokens[:-1]):
            if token.text in ("assert", "static_assert", "_Static_assert", "__builtin_prefetch"):
                spans.append((i, self.pairs.get(i + 1, i)))
            elif self.begins_statement(i) and self.is_declaration(i):
                end = self.end_of_statement(i)
                words = [t.text for t in self.tokens[i:end]]
                if "=" not in words and "{" not in words:
                    spans.append((i, end))
        return spans + self.signatures()

    def signatures(self):
        """Heads of function definitions: from the line's start to the brace at column 0."""
        spans = []
        for i, token in enumerate(self.tokens):
            if token.text == "{" and i > 0 and self.tokens[i - 1].text == ")" \
                    and self.text[token.start - 1] == "\n":
                spans.append((self.pairs.get(i - 1, i), i))
        return spans

    def functions(self):
        """(first line, last line, name) of each function definition."""
        found = []
        for start, brace in self.signatures():
            name = self.tokens[start - 1].text
            last = self.tokens[self.pairs.get(brace, brace)].start
            found.append((self.line_of(self.tokens[start].start), self.line_of(last), name))
        return found

    def begins_statement(self, i):
        if i == 0 or i in self.in_brackets:
            return i == 0
        before = self.tokens[i - 1]
        if before.text == ")":
            head = self.pairs.get(i - 1, 0) - 1
            return head >= 0 and self.tokens[head].text in ("if", "for", "while", "switch")
        return before.text in (";", "{", "}", "else", "do", ":")

    def end_of_statement(self, i):
        """The index of the semicolon that ends the statement beginning at token i."""
        while i < len(self.tokens) and self.tokens[i].text not in (";", "}"):
            i = self.pairs[i] + 1 if self.tokens[i].text in ("(", "[", "{") and i in self.pairs else i + 1
        return min(i, len(self.tokens) - 1)

    def is_declaration(self, i):
        first, second = self.tokens[i], self.tokens[min(i + 1, len(self.tokens) - 1)]
        if first.kind != "name" or first.text in CONTROL | {"return", "goto", "break", "continue"}:
            return False
        if first.text in TYPES or second.kind == "name":
            return True
        return second.text == "*" and self.text[second.end] not in " \n"

    def look_at(self, i, token):
        if token.kind == "number":
            for new in one_more(token.text):
                self.add(token.start, "constant", "%s -> %s" % (token.text, new), token.start,
                         token.end, new)
        elif token.kind == "sign" and token.text in OPERATORS and self.is_binary(token):
            new = OPERATORS[token.text]
            self.add(token.start, "operator", "%s -> %s" % (token.text, new), token.start, token.end, new)
        elif token.text in ("if", "while") and i + 1 in self.pairs:
            start, end = self.tokens[i + 1].start, self.tokens[self.pairs[i + 1]].end
            if self.text[start:end] not in ("(true)", "(false)", "(0)", "(1)"):
                self.add(token.start, "negated", "negated", start, end, "(!%s)" % self.text[start:end])
        elif token.text == "return" and self.begins_statement(i):
            self.error_as_success(i, token)
        self.deletion(i, token)

    def is_binary(self, token):
        return token.text not in MAYBE_UNARY or self.text[token.end] in " \n"

    def error_as_success(self, i, token):
        end = self.end_of_statement(i)
        value = self.text[self.tokens[i + 1].start:self.tokens[end].start]
        new = {"err->code": "ERR_OK", "false": "true", "-1": "0"}.get(value)
        if value.startswith("err_set"):
            new = "(%s, ERR_OK)" % value
            self.add(token.start, "error", "error returned as success", self.tokens[i + 1].start,
                     self.tokens[end].start, new)
        elif new is not None:
            self.add(token.start, "error", "return %s -> return %s" % (value, new),
                     self.tokens[i + 1].start, self.tokens[end].start, new)

    def deletion(self, i, token):
        if not self.begins_statement(i) or token.kind not in ("name", "sign") or token.text in "{}();":
            return
        if token.text in CONTROL or self.is_declaration(i):
            return
        end = self.end_of_statement(i)
        if self.tokens[end].text == ";" and self.tokens[i + 1].text != ":":
            self.add(token.start, "deleted", "deleted", token.start, self.tokens[end].end, "(void)0;")


def numbered(changes):
    """Changes of one line that would be named alike, told apart: `+ -> -`, `+ -> - (2)`."""
    seen, named = {}, []
    for change in changes:
        seen[change.what] = seen.get(change.what, 0) + 1
        times = seen[change.what]
        named.append(change if times == 1 else change._replace(what="%s (%d)" % (change.what, times)))
    return named


class Place(namedtuple("Place", "file function text")):
    """A line as lists name it, whatever its number: `return err->code; #2` is the second line of its
    function that reads so. Outside of functions the function is `-`."""
    __slots__ = ()

    def __str__(self):
        return " | ".join(self)


def places(path, text, functions):
    """The line's number -> its place."""
    found, seen = {}, {}
    for number, line in enumerate(text.split("\n"), 1):
        function = next((name for first, last, name in functions if first <= number <= last), "-")
        key = (function, line.strip())
        seen[key] = seen.get(key, 0) + 1
        suffix = " #%d" % seen[key] if seen[key] > 1 else ""
        found[number] = Place(path, function, line.strip() + suffix)
    return found


def changes_of(path, text):
    """[(place, changes)] of a file's lines, in their order."""
    file, lines = File(text), {}
    for change in file.changes:
        lines.setdefault(change.line, []).append(change)
    at = places(path, text, file.functions())
    return [(at[line], numbered(changes)) for line, changes in sorted(lines.items())]


def apply(text, change):
    return text[:change.start] + change.new + text[change.end:]
