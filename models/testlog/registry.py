"""The table of families: label -> [(name, function, needs)] in the order of their definition.

The last two of a class are held out of training. `needs` is what the pattern cannot be told without: "sites"
(several dies measured at once), "parts" (several touch-downs) or nothing.
"""

import importlib

LABELS = ("contact", "leakage", "supply_current", "reference_trim", "timing", "scan", "memory_bist", "functional",
          "analog_pll", "tester_handler")
HELD_OUT = 2
FAMILIES = {label: [] for label in LABELS}


def family(label, needs=""):
    def add(function):
        FAMILIES[label].append((function.__name__, function, needs))
        return function
    return add


def trained(label):
    return FAMILIES[label][:-HELD_OUT]


def held_out(label):
    return FAMILIES[label][-HELD_OUT:]


def load():
    """Fills the table: every class has a module of its name."""
    for label in LABELS:
        importlib.import_module(label)
