#include "tests/bench/machine.h"
#include "tests/support/suite.h"

START_TEST(machine_finds_the_level_where_a_working_set_lives)
{
    struct machine machine = {0};
    machine.level[MACHINE_L1].bytes = 32 << 10;
    machine.level[MACHINE_L2].bytes = 1 << 20;
    machine.level[MACHINE_L3].bytes = 32 << 20;
    ck_assert_int_eq(machine_level_of(&machine, 1), MACHINE_L1);
    ck_assert_int_eq(machine_level_of(&machine, 32 << 10), MACHINE_L1);
    ck_assert_int_eq(machine_level_of(&machine, (32 << 10) + 1), MACHINE_L2);
    ck_assert_int_eq(machine_level_of(&machine, 2 << 20), MACHINE_L3);
    ck_assert_int_eq(machine_level_of(&machine, (size_t)1 << 30), MACHINE_MEMORY);
}
END_TEST

START_TEST(peak_loops_of_every_type_run_where_they_say_that_they_can)
{
    ck_assert_ptr_nonnull(peak_best(PEAK_F32));
    for (unsigned type = 0; type < PEAK_LOOPS; type++) {
        const struct peak_loop *loop = peak_best(type);
        if (loop == NULL) {
            suite_skipped(__func__, "this processor has no loop of one of the types");
            continue;
        }
        ck_assert_int_eq(loop->type, (int)type);
        ck_assert_uint_gt(loop->operations, 0);
        loop->run(10);
    }
}
END_TEST

SUITE("machine", machine_finds_the_level_where_a_working_set_lives,
      peak_loops_of_every_type_run_where_they_say_that_they_can)
