"""The classes of characters that patterns name, by asking the reference for every character.

The reference takes letters and numbers of patterns from Oniguruma, words from Rust's crate regex,
and digits from Rust's standard library; each has a version of Unicode of its own.
"""
import tokenizers
from tokenizers import Regex
from tokenizers.pre_tokenizers import Digits, Split, Whitespace

EXPECTED_VERSION = "0.22.2"
assert tokenizers.__version__ == EXPECTED_VERSION
CHARACTERS = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def matched(pattern):
    split = Split(Regex(pattern), "removed", invert=True)
    return [ord(c) for c in CHARACTERS if split.pre_tokenize_str(c)]


def words():
    """An 'a' before the character is of the same piece."""
    return [ord(c) for c in CHARACTERS if Whitespace().pre_tokenize_str("a" + c) == [("a" + c, (0, 2))]]


def digits():
    return [ord(c) for c in CHARACTERS if len(Digits(True).pre_tokenize_str("a" + c)) == 2]
