"""The simulator against queues whose throughput is known by arithmetic: python3 tests/simulate/test_simulate.py"""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "loadtest"))
from simulate import BATCH_TOKENS, Machine, Simulation, Times, saturate  # noqa: E402

FLAT = {"tokens": 64, "beside_ms": 0.5, "batch_ms": {"64": [4.0, 4.0], "256": [4.0, 4.0]}}


def times(**changes):
    return Times({**FLAT, **changes})


class TimesOfBatches(unittest.TestCase):
    def test_two_threads_are_as_measured(self):
        measured = times(batch_ms={"64": [4.0, 2.5]})
        self.assertAlmostEqual(measured.of(64, 1), 4.0)
        self.assertAlmostEqual(measured.of(64, 2), 2.5)

    def test_a_serial_share_bounds_many_threads(self):
        self.assertAlmostEqual(times(batch_ms={"64": [4.0, 2.5]}).of(64, 1000), 1.0, places=1)

    def test_sizes_between_two_lie_on_the_line_larger_ones_in_proportion(self):
        measured = times(batch_ms={"64": [2.0, 1.0], "128": [4.0, 2.0]})
        self.assertAlmostEqual(measured.of(96, 1), 3.0)
        self.assertAlmostEqual(measured.of(256, 1), 8.0)
        self.assertAlmostEqual(measured.of(8, 1), 2.0)


class MachinesOfManyCores(unittest.TestCase):
    def test_pools_are_those_of_the_server(self):
        self.assertEqual(Machine.of(2), Machine(1, 2, False))
        self.assertEqual(Machine.of(64), Machine(8, 8, False, 4))
        self.assertEqual(Machine.of(66), Machine(8, 8, True, 4))


class Saturation(unittest.TestCase):
    def test_a_single_client_waits_for_all_of_it(self):
        rate, median = saturate(Machine(1, 1, True), times(), 1)
        self.assertAlmostEqual(median, 4.5, places=3)
        self.assertAlmostEqual(rate, 1000 / 4.5, delta=1)

    def test_a_full_batch_is_what_a_worker_takes(self):
        rate, _ = saturate(Machine(1, 1, True), times(beside_ms=0.001), 64)
        self.assertAlmostEqual(rate, 1000 / 4.0 * (BATCH_TOKENS // 64), delta=10)

    def test_workers_add_up(self):
        rate, _ = saturate(Machine(8, 1, True), times(beside_ms=0.001), 256)
        self.assertAlmostEqual(rate, 8 * 1000 / 4.0 * 4, delta=100)

    def test_connections_bound_what_workers_could_do(self):
        rate, _ = saturate(Machine(64, 1, True), times(beside_ms=1.0), 1000)
        self.assertAlmostEqual(rate, 2 * 1000, delta=20)

    def test_without_a_spare_core_pools_wait_for_connections(self):
        alone, _ = saturate(Machine(1, 2, True), times(), 64)
        shared, _ = saturate(Machine(1, 2, False), times(), 64)
        self.assertAlmostEqual(shared, alone * 4.0 / (4.0 + 4 * 0.5), delta=0.05 * shared)

    def test_a_seed_gives_the_same_run(self):
        runs = [Simulation(Machine(2, 2, False), times().of, 0.5, 64, 8, seed=3).run(200) for _ in range(2)]
        self.assertEqual(runs[0].latencies, runs[1].latencies)


if __name__ == "__main__":
    unittest.main()
