"""The audited rule reads what it must in a log (models/kernel_labels.py); the logs are made up."""

import contextlib
import io
import pathlib
import sys
import tempfile
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "models"))
import kernel_labels  # noqa: E402
from kernel_labels import decide  # noqa: E402

BOOT = "[    0.000000] Linux version 6.1.0\n[    1.200000] usb 1-1: new device\n"
PANIC_ON_WARN = "[   9.000003] Kernel panic - not syncing: panic_on_warn set ...\n"

# Old label, log, audited label, line.
OPENINGS = (
    ("other", BOOT + "[    9.1][   T7] BUG: KASAN: use-after-free in f", "kasan_memory_error", 3),
    ("panic", "panic: ASan: Invalid access, 8-byte read at 0x10", "kasan_memory_error", 1),
    ("other", "[    9.1] BUG: KMSAN: uninit-value in foo+0x1/0x2", "sanitizer_other", 1),
    ("other", "[ INFO: suspicious RCU usage. ]", "locking", 1),
    ("hang_stall", "login: [    9.1] INFO: trying to register non-static key.", "locking", 1),
    ("panic", "[    9.1][    T7] BUG: MAX_CHAIN_ENTRIES too low!", "locking", 1),
    ("warning", "[    9.1] WARNING: possible circular locking dependency detected", "locking", 1),
    ("panic", "panic: Sentry detected 3 stuck task(s):", "hang_stall", 1),
    ("panic", "[    9.1] Kernel panic - not syncing: hung_task: blocked tasks", "hang_stall", 1),
    ("sanitizer_other", "[    9.1] divide error: 0000 [#1] SMP KASAN", "fault_null_deref", 1),
    ("panic", "panic(cpu 0): Kernel trap at 0x2, type 14=page fault, reg:", "fault_null_deref", 1),
    ("other", "[    9.1][    C0] Oops: int3: 0000 [#1] SMP", "fault_null_deref", 1),
    ("other", "panic: kernel diagnostic assertion \"a == b\" failed: file \"x\"", "assert_bug", 1),
    ("panic", "[    9.1] BUG: Dentry 0 still in use (1) [unmount of proc]", "assert_bug", 1),
    ("no_crash", "[    9.1] WARNING: CPU: 1 PID: 2 at fs/x.c:3 foo+0x1/0x2", "warning", 1),
    ("other", "vector 14\nrecursion in interrupt handler", "panic", 2),
    ("panic", "2024/01/01 00:00:00 SYZFATAL: executor 0 failed 11 times", "other", 1))


class Openings(unittest.TestCase):
    def test_each_kind_is_known_by_the_line_that_opens_it(self):
        for old, text, kind, number in OPENINGS:
            with self.subTest(text):
                self.assertEqual(decide(text, old)[:2], (kind, number))

    def test_the_first_report_decides_not_what_follows_from_it(self):
        warning = "[    9.000001] WARNING: CPU: 1 PID: 2 at fs/x.c:3 foo+0x1/0x2\n"
        fault = "[    9.000002] general protection fault: 0000 [#1] SMP\n"
        both = warning + fault + PANIC_ON_WARN
        self.assertEqual(decide(both, "warning")[:2], ("warning", 1))
        self.assertEqual(decide(fault + warning, "other")[:2], ("fault_null_deref", 1))

    def test_a_report_torn_by_dropped_messages_still_opens(self):
        line = "** 12 printk messages dropped ** [    9.1] BUG: KASAN: use-after-free in foo"
        self.assertEqual(decide(line, "other")[0], "kasan_memory_error")


class Weak(unittest.TestCase):
    def test_a_bare_panic_decides_over_other_alone(self):
        for text in ("panic: queue 3 is not empty", "Kernel panic - not syncing: Fatal exception"):
            for label in ("panic", "assert_bug", "no_crash"):
                self.assertEqual(decide(text, label)[0], label)
            self.assertEqual(decide(text, "other")[0], "panic")

    def test_a_panic_that_names_its_cause_later_keeps_the_title(self):
        text = "ZIRCON KERNEL PANIC\nUPTIME: 1ms\npanic (caller 0): DEBUG ASSERT FAILED at (x.c:1)"
        self.assertEqual(decide(text, "assert_bug")[:2], ("assert_bug", 1))

    def test_a_report_without_its_head_is_known_by_its_body(self):
        body = "Read of size 4 by task a/1\n [<f>] kasan_report+0x1/0x2\n"
        self.assertEqual(decide(body, "other")[:2], ("kasan_memory_error", 2))
        ended = decide(body + PANIC_ON_WARN, "panic")
        self.assertEqual(ended[:2], ("kasan_memory_error", 2))
        self.assertEqual(decide(PANIC_ON_WARN + body, "panic")[:2], ("panic", 1))
        self.assertEqual(decide(body, "hang_stall"), ("hang_stall", 0, ""))

    def test_a_log_without_a_report_keeps_its_label(self):
        for label in ("no_crash", "other", "warning"):
            self.assertEqual(decide(BOOT, label), (label, 0, ""))


class NotTheKernel(unittest.TestCase):
    def test_programs_and_drivers_that_complain_are_no_report(self):
        for text in ("login: Jan  1 00:00:00 host postfix/pickup[5]: panic: event_init: no table",
                     "[    9.1] traps: a[3] general protection fault ip:1 sp:2 error:0",
                     "[    9.1] a[3]: segfault at 4 ip 5 sp 6 error 15",
                     "[    9.1] WARNING: the mand mount option is being deprecated and",
                     "[    9.1] ALSA: seq fatal error: cannot create timer (-22)"):
            with self.subTest(text):
                self.assertEqual(decide(text, "no_crash"), ("no_crash", 0, ""))

    def test_what_stands_above_a_log_is_not_read(self):
        above = "# after \"Kernel panic - not syncing\"\nTITLE: kernel BUG at x\nPANICKED: Y\n\n"
        self.assertEqual(decide(above + BOOT, "no_crash"), ("no_crash", 0, ""))


class Audit(unittest.TestCase):
    def test_it_writes_every_list_with_only_labels_changed_and_tells_of_each(self):
        rows = [{"id": "a/1", "text": "panic: no queue é", "label": "other"},
                {"id": "a/2", "text": BOOT, "label": "no_crash"}]
        with tempfile.TemporaryDirectory() as directory:
            data, out = pathlib.Path(directory, "data"), pathlib.Path(directory, "out")
            data.mkdir()
            kernel_labels.write(data / "val.jsonl", rows)
            told = io.StringIO()
            with contextlib.redirect_stdout(told):
                kernel_labels.audit(types.SimpleNamespace(data=data, out=out))
            written = kernel_labels.read(out / "val.jsonl")
        self.assertEqual(written, [{**rows[0], "label": "panic"}, rows[1]])
        self.assertRegex(told.getvalue(), r"a/1 +other +-> panic +line 1: panic: no queue")
        self.assertIn("2 reports: 1 changed, 0 kept by a line, 1 kept for want of one", told.getvalue())

    def test_it_does_not_overwrite_what_it_reads(self):
        with tempfile.TemporaryDirectory() as directory:
            kernel_labels.write(pathlib.Path(directory, "val.jsonl"), [])
            with self.assertRaises(SystemExit):
                kernel_labels.audit(types.SimpleNamespace(data=directory, out=directory))


if __name__ == "__main__":
    unittest.main()
