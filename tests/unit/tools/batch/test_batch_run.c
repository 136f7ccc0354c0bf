#include "tests/support/suite.h"
#include "tools/batch/batch_run.h"

static void expect(struct batch_place first, struct batch_place at, double seconds,
                   const char *want)
{
    char text[BATCH_PROGRESS_BYTES];
    batch_run_progress(text, &first, &at, seconds);
    ck_assert_str_eq(text, want);
}

START_TEST(progress_shows_bar_rate_and_the_time_left)
{
    expect((struct batch_place){0, 0, 1000}, (struct batch_place){120, 250, 1000}, 60,
           "[######                  ]  25 %, 120 inputs, 2.0 a second, 3:00 left");
    expect((struct batch_place){0, 0, 1000}, (struct batch_place){500, 1000, 1000}, 100,
           "[########################] 100 %, 500 inputs, 5.0 a second, 0:00 left");
}
END_TEST

/* The work of an earlier run took no time of this one. */
START_TEST(progress_of_a_run_that_goes_on_counts_its_own_rate)
{
    expect((struct batch_place){100, 500, 1000}, (struct batch_place){110, 750, 1000}, 10,
           "[##################      ]  75 %, 110 inputs, 1.0 a second, 0:10 left");
}
END_TEST

START_TEST(progress_of_a_pipe_has_no_end)
{
    expect((struct batch_place){0, 0, 0}, (struct batch_place){30, 900, 0}, 2,
           "30 inputs, 15.0 a second");
}
END_TEST

/* A file that grows while it is read. */
START_TEST(progress_stays_within_its_bar)
{
    expect((struct batch_place){0, 0, 100}, (struct batch_place){10, 200, 100}, 5,
           "[########################] 100 %, 10 inputs, 2.0 a second");
}
END_TEST

SUITE("batch_run", progress_shows_bar_rate_and_the_time_left,
      progress_of_a_run_that_goes_on_counts_its_own_rate, progress_of_a_pipe_has_no_end,
      progress_stays_within_its_bar)
