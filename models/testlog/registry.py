"""The table of families: label -> [(name, function, needs)] in the order of their definition.

`needs` is what the pattern cannot be told without: "sites" (several dies measured at once), "parts" (several
touch-downs) or nothing.
"""

import importlib

LABELS = ("contact", "leakage", "supply_current", "reference_trim", "timing", "scan", "memory_bist", "functional",
          "analog_pll", "tester_handler")
# Two of each class are never trained. They were drawn by chance when 163 families stood, so that nobody has
# shaped those after what a model makes of these; the 97 that came later keep away from them.
HELD_OUT = {
    "contact": ("resistive_pin", "supply_pin_open"),
    "leakage": ("power_switch", "open_drains"),
    "supply_current": ("static_high", "inrush"),
    "reference_trim": ("just_outside", "noisy_reference"),
    "timing": ("too_slow", "low_supply_path"),
    "scan": ("compressed_block", "unknown_source"),
    "memory_bist": ("ecc_overflow", "weak_cells"),
    "functional": ("bus_contention", "protocol"),
    "analog_pll": ("distortion", "low_output_power"),
    "tester_handler": ("gain_of_meter", "sites_swapped"),
}
FAMILIES = {label: [] for label in LABELS}


def family(label, needs=""):
    def add(function):
        FAMILIES[label].append((function.__name__, function, needs))
        return function
    return add


def trained(label):
    return [f for f in FAMILIES[label] if f[0] not in HELD_OUT[label]]


def held_out(label):
    return [f for f in FAMILIES[label] if f[0] in HELD_OUT[label]]


def load():
    """Fills the table: every class has a module of its name."""
    for label in LABELS:
        importlib.import_module(label)
