"""The two check characters of a wafer's mark (SEMI M13, also of M12), as engine/fab/semi_check.h has them in C.

A mark is read as digits of a number to the base 8: x = (8 x + code - 32) mod 59 over its characters. The check
characters, a letter A to H and a digit 0 to 7, make this sum 0.
"""
CHARACTERS = "-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MODULUS = 59


def weighted_sum(text):
    total = 0
    for character in text:
        total = (8 * total + ord(character) - 32) % MODULUS
    return total


def check_characters(text):
    """The two characters that belong behind `text`: "A2" for "AM1664-24"."""
    missing = -weighted_sum(text + "A0") % MODULUS
    return "ABCDEFGH"[missing // 8] + str(missing % 8)


def holds(mark):
    """Whether the last two characters of `mark` are the ones that check_characters gives."""
    return len(mark) > 2 and all(c in CHARACTERS for c in mark) and check_characters(mark[:-2]) == mark[-2:]
