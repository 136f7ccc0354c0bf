/* trainer.h by a clock of the test's own: how often progress is told, what is saved on the way, and
 * the seconds that an epoch took. Each look at the clock takes `tick`; nothing else takes time. */
#include "learn/train/trainer.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { TOLD_MAX = 256, BATCH = 8, STEPS = 14 };

static struct train_fixture f;
static double tick, now; /* in seconds; tick 0: the time of day is the machine's */

/* Instead of the C library's. */
int clock_gettime(clockid_t id, struct timespec *out);

int clock_gettime(clockid_t id, struct timespec *out)
{
    if (id != CLOCK_MONOTONIC || tick == 0)
        return (int)syscall(SYS_clock_gettime, id, out);
    now += tick;
    out->tv_sec = (time_t)now;
    out->tv_nsec = (long)((now - (double)out->tv_sec) * 1e9);
    return 0;
}

static atomic_bool stop;
static unsigned stop_after; /* calls while learning; 0: never */

static struct {
    struct trainer_progress calls[TOLD_MAX];
    double at[TOLD_MAX];
    bool is_saved[TOLD_MAX]; /* a state was there */
    unsigned count, learning;
    double plan_at, epoch_at;
} seen;

static void on_plan(void *context, const struct trainer_plan *plan)
{
    (void)context;
    (void)plan;
    seen.plan_at = now;
}

static void on_progress(void *context, const struct trainer_progress *progress)
{
    (void)context;
    ck_assert_uint_lt(seen.count, TOLD_MAX);
    seen.calls[seen.count] = *progress;
    seen.is_saved[seen.count] = train_fixture_has(&f.first, "training-state.safetensors");
    seen.at[seen.count++] = now;
    seen.learning += progress->phase == TRAINER_LEARNING;
    if (stop_after > 0 && seen.learning == stop_after)
        atomic_store(&stop, true);
}

static void on_epoch(void *context, const struct history_epoch *epoch, bool is_best, bool rises)
{
    (void)context;
    (void)epoch;
    (void)is_best;
    (void)rises;
    seen.epoch_at = now;
}

static bool estimates; /* which takes a look at the clock */
static struct trainer_estimate estimated;
static unsigned estimate_calls;

static void on_estimate(void *context, const struct trainer_estimate *estimate)
{
    (void)context;
    estimated = *estimate;
    estimate_calls++;
}

/* One epoch of 14 steps, or what is left of it; its seconds, 0 if it was stopped. */
static double go_on(double ticks)
{
    struct trainer_hooks hooks = {
        .plan = on_plan, .progress = on_progress, .epoch = on_epoch, .stop = &stop};
    struct trainer_result result;
    struct err err = {0};
    hooks.estimate = estimates ? on_estimate : NULL;
    memset(&seen, 0, sizeof seen);
    atomic_store(&stop, false);
    now = 1000;
    tick = ticks;
    trainer_run(&f.options, &hooks, &result, &err);
    tick = 0;
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    ck_assert_int_eq(result.interrupted, stop_after > 0);
    double seconds = result.history.count > 0 ? result.history.epochs[0].seconds : 0;
    trainer_result_free(&result);
    return seconds;
}

static double run(double ticks)
{
    train_fixture_texts(&f);
    f.options.epochs = 1;
    f.options.batch = BATCH;
    return go_on(ticks);
}

/* Calls of a phase, the first of which is *first. */
static unsigned told_of(enum trainer_phase phase, unsigned *first)
{
    unsigned count = 0;
    for (unsigned i = seen.count; i-- > 0;)
        if (seen.calls[i].phase == phase) {
            *first = i;
            count++;
        }
    return count;
}

/* Speed and time left are those of this process, which took the run up after `before` steps. */
static void expect_every_step(unsigned before)
{
    unsigned first = 0;
    ck_assert_uint_eq(told_of(TRAINER_LEARNING, &first), STEPS - before);
    for (unsigned i = 1; i <= STEPS - before; i++) {
        const struct trainer_progress *call = &seen.calls[first + i - 1];
        double seconds = seen.at[first + i - 1] - seen.plan_at - 0.25; /* a look after the plan */
        size_t done = before + i < STEPS ? (before + i) * BATCH : 108;
        ck_assert(call->done == done && call->total == 108 && call->epoch == 1);
        ck_assert_double_eq_tol(call->inputs_per_second, i * BATCH / seconds, 1e-6);
        ck_assert_double_eq_tol(call->seconds_left, seconds * (STEPS - before - i) / i, 1e-6);
        ck_assert(call->loss > 0.5 && call->loss < 0.9); /* the mean so far */
    }
}

/* Twelve of fourteen steps are left. A step reads the clock now and then. */
START_TEST(the_second_step_says_how_long_the_rest_takes)
{
    estimates = true;
    run(0.25);
    ck_assert_uint_eq(estimate_calls, 1);
    ck_assert(estimated.parameters > 5000 && !estimated.is_image);
    ck_assert_double_ge(estimated.seconds, 0.25 * (STEPS - 2) - 1e-6);
    ck_assert_double_le(estimated.seconds, 2 * (STEPS - 2));
    ck_assert_double_eq_tol(fmod(estimated.seconds, 0.25 * (STEPS - 2)), 0, 1e-6);
    train_fixture_close(&f);
}
END_TEST

START_TEST(walk_reports_every_slow_step)
{
    run(0.25);
    expect_every_step(0);
    train_fixture_close(&f);
}
END_TEST

/* The seconds of both processes are the epoch's. */
START_TEST(a_run_that_goes_on_counts_from_there)
{
    unsigned first = 0;
    stop_after = 5;
    ck_assert_double_eq(run(0.25), 0);
    ck_assert_uint_eq(told_of(TRAINER_LEARNING, &first), 5);
    double before = seen.at[first + 4] - seen.at[first];
    stop_after = 0;
    double seconds = go_on(0.25);
    expect_every_step(5);
    told_of(TRAINER_LEARNING, &first);
    double both = before + seen.at[first + STEPS - 6] - seen.at[first];
    ck_assert(seconds >= both && seconds <= both + 2 * 5 * 0.25);
    train_fixture_close(&f);
}
END_TEST

START_TEST(walk_reports_progress_at_most_five_times_a_second)
{
    unsigned first = 0;
    run(0.03);
    unsigned count = told_of(TRAINER_LEARNING, &first);
    ck_assert_uint_gt(count, 3);
    ck_assert_uint_lt(count, STEPS - 3);
    for (unsigned i = 1; i < seen.count; i++)
        if (seen.calls[i].done < seen.calls[i].total)
            ck_assert_double_ge(seen.at[i] - seen.at[i - 1], 0.2 - 1e-6);
    for (unsigned i = first; i + 1 < first + count; i++) /* nor much seldomer */
        ck_assert_double_lt(seen.at[i + 1] - seen.at[i], 0.2 + 4 * 0.03 + 1e-6);
    ck_assert_uint_eq(seen.calls[first + count - 1].done, 108);
    train_fixture_close(&f);
}
END_TEST

/* A step takes 120 seconds at 40 seconds a look. Five minutes are over in the third step; the time
 * until then is not lost and not counted twice. */
START_TEST(a_long_epoch_is_saved_every_five_minutes)
{
    unsigned first = 0;
    double seconds = run(40);
    ck_assert_uint_eq(told_of(TRAINER_LEARNING, &first), STEPS);
    ck_assert(!seen.is_saved[first] && !seen.is_saved[first + 1]);
    ck_assert(seen.is_saved[first + 3] && seen.is_saved[first + STEPS - 1]);
    double learning = seen.at[first + STEPS - 1] - seen.at[first];
    ck_assert_double_ge(seconds, learning);
    ck_assert_double_le(seconds, learning + 5 * 40);
    train_fixture_close(&f);
    seconds = run(5); /* 14 steps of 15 seconds: saved at the end alone */
    ck_assert_uint_eq(told_of(TRAINER_LEARNING, &first), STEPS);
    for (unsigned i = 0; i < STEPS; i++)
        ck_assert(!seen.is_saved[first + i]);
    learning = seen.at[first + STEPS - 1] - seen.at[first];
    ck_assert(seconds >= learning && seconds <= learning + 5 * 5);
    train_fixture_close(&f);
}
END_TEST

SUITE("walk_clock", the_second_step_says_how_long_the_rest_takes, walk_reports_every_slow_step,
      a_run_that_goes_on_counts_from_there, walk_reports_progress_at_most_five_times_a_second,
      a_long_epoch_is_saved_every_five_minutes)
