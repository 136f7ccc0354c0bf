/* The measuring of precisions and the choice of bf16, with a clock and a processor of the test's
 * own: the functions below stand in for clock_gettime and engine/base/cpu.c. */
#include "engine/base/cpu.h"
#include "engine/tensor/linear/precision_speed.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ROWS = 128, IN = 768, OUT = 256, TRIAL_ROWS = 16, ROUNDS = 9, NS_PER_MS = 1000000 };

static const struct product_shape slice = {.rows = ROWS, .in = IN, .out = OUT};

/* ---- the clock ---- */

static bool is_fake;
static long long now_ns;
static unsigned looks;        /* at the clock: two a run */
static unsigned runner_count; /* that run in turn */
static double run_ms[2][3];   /* of a shape, a runner: its fastest run */
static double trial_ms;       /* of each, by fewer rows */
static double slower_ms;      /* the others take longer by so much, but for the fifth */
static unsigned rounds;       /* of a shape, before which there is a trial */

static bool thread_stands_still; /* its clock ticks too seldom: the wall's is looked at */

int clock_gettime(clockid_t which, struct timespec *out)
{
    if (!is_fake)
        return (int)syscall(SYS_clock_gettime, which, out);
    const bool is_of_thread = which == CLOCK_THREAD_CPUTIME_ID;
    if (is_of_thread != thread_stands_still && looks++ % 2 == 1) {
        const unsigned run = looks / 2 - 1, shape = run / ((rounds + 1) * runner_count);
        const unsigned round = run / runner_count % (rounds + 1);
        const double slower = round == 5 ? 0 : slower_ms * (1 + round);
        const double ms = round == 0 ? trial_ms : run_ms[shape % 2][run % runner_count] + slower;
        now_ns += (long long)(ms * NS_PER_MS);
    }
    const long long ns = is_of_thread && thread_stands_still ? 0 : now_ns;
    *out = (struct timespec){ns / 1000000000, ns % 1000000000};
    return 0;
}

/* Two runners and one shape, of which all rounds are run. */
static void set_clock(double base, double other)
{
    is_fake = true;
    looks = 0;
    thread_stands_still = false;
    runner_count = 2;
    rounds = ROUNDS;
    trial_ms = 0.1;
    slower_ms = 1;
    run_ms[0][0] = base;
    run_ms[0][1] = other;
}

/* ---- the processor: whatever is said of bf16. The product's tiles ask the same functions, so
 * theirs are those of AVX-512 only if the processor has bf16 in truth; else plain loops. ---- */

static bool has_bf16;

enum cpu_level cpu_level(void)
{
    bool is_true = __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512f") &&
                   __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512vl");
    return is_true ? CPU_AVX512 : CPU_SSE2;
}

bool cpu_has_bf16(void)
{
    return has_bf16;
}

bool cpu_has_tiles(void)
{
    return false;
}

bool cpu_has_avx_vnni(void)
{
    return false;
}

/* ---- backends that only look ---- */

static struct {
    unsigned allocs, fills, closes, runs;
    size_t rows; /* of the last run */
    bool fails;
} seen[3];
static unsigned order[96], order_count;

/* Base, other, third. */
static unsigned index_of(const struct linear *linear)
{
    return linear->backend->name[0] == 'b' ? 0 : linear->backend->name[0] == 'o' ? 1 : 2;
}

static enum err_code look_alloc(struct linear *linear, struct err *err)
{
    linear->weights = &seen[index_of(linear)];
    seen[index_of(linear)].allocs++;
    return seen[index_of(linear)].fails ? err_set(err, ERR_UNSUPPORTED, "not this one") : ERR_OK;
}

static void look_fill(struct linear *linear, size_t first, size_t rows, const float *weight)
{
    double squares = 0;
    ck_assert_uint_eq(first, 0);
    ck_assert_uint_eq(rows, linear->out);
    for (size_t i = 0; i < linear->out * linear->in; i++)
        squares += (double)weight[i] * (double)weight[i];
    ck_assert_double_gt(squares, 0.1 * (double)(linear->out * linear->in)); /* no zeros */
    seen[index_of(linear)].fills++;
}

static void look_run(const struct linear *linear, const struct kernels *kernels,
                     const struct linear_io *io, const struct linear_block *block)
{
    (void)kernels;
    ck_assert_uint_eq(io->y_stride, linear->out);
    ck_assert_uint_eq(block->first_row, 0);
    ck_assert_uint_eq(block->last_row, io->rows);
    ck_assert_uint_eq(block->first_column, 0);
    ck_assert_uint_eq(block->last_column, linear->out);
    ck_assert_int_eq(io->x.precision, linear->backend->precision);
    size_t bytes = linear->in * precision_bytes(io->x.precision);
    for (size_t r = 0; r < io->rows; r++) { /* no row is forgotten */
        const unsigned char *row = (const unsigned char *)io->x.data + r * io->x.stride;
        size_t zeros = 0;
        for (size_t i = 0; i < bytes; i++)
            zeros += row[i] == 0;
        ck_assert_uint_lt(zeros, bytes * 3 / 4);
    }
    memset(io->x.data, 0, io->rows * io->x.stride); /* it is stored again each time */
    for (size_t i = 0; i < io->rows * linear->out; i++)
        io->y[i] = 1;
    seen[index_of(linear)].runs++;
    seen[index_of(linear)].rows = io->rows;
    order[order_count++] = index_of(linear);
}

static void look_close(struct linear *linear)
{
    seen[index_of(linear)].closes++;
}

#define LOOKING(title, number)                                                                     \
    {                                                                                              \
        .name = title, .precision = number, .alloc = look_alloc, .fill = look_fill,                \
        .run = look_run, .close = look_close                                                       \
    }
static const struct linear_backend base = LOOKING("base", PRECISION_F32);
static const struct linear_backend other = LOOKING("other", PRECISION_BF16);
static const struct linear_backend third = LOOKING("third", PRECISION_INT8);
static const struct linear_backend *const all[] = {&base, &other, &third};

static void forget(void)
{
    memset(seen, 0, sizeof seen);
    order_count = 0;
}

static void measure(double *gains, unsigned count, const struct product_shape *shapes,
                    unsigned shape_count)
{
    struct err err = {0};
    forget();
    ck_assert_int_eq(precision_speed_gains(gains, all, count, shapes, shape_count, &err), ERR_OK);
    is_fake = false;
}

START_TEST(the_gain_is_the_ratio_of_the_fastest_of_nine_alternating_runs)
{
    double gains[2];
    set_clock(6, 1.5);
    measure(gains, 2, &slice, 1);
    ck_assert_double_eq(gains[0], 1);
    ck_assert_double_eq_tol(gains[1], 4, 1e-9);
    ck_assert_uint_eq(order_count, 2 * (1 + ROUNDS));
    for (unsigned i = 0; i < order_count; i++)
        ck_assert_uint_eq(order[i], i % 2);
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_eq(seen[i].allocs, 1);
        ck_assert_uint_eq(seen[i].fills, 1);
        ck_assert_uint_eq(seen[i].rows, ROWS);
        ck_assert_uint_eq(seen[i].closes, 1);
    }
}
END_TEST

START_TEST(the_wall_clock_counts_where_that_of_the_thread_stands_still)
{
    double gains[2];
    set_clock(6, 1.5);
    thread_stands_still = true;
    measure(gains, 2, &slice, 1);
    ck_assert_double_eq_tol(gains[1], 4, 1e-9);
    ck_assert_uint_eq(order_count, 2 * (1 + ROUNDS));
}
END_TEST

START_TEST(the_gain_is_of_all_shapes_together)
{
    static const struct product_shape shapes[] = {{ROWS, IN, OUT}, {7, 64, 96}};
    double gains[3];
    set_clock(6, 3);
    runner_count = 3;
    slower_ms = 0.1;
    run_ms[0][2] = 1;
    run_ms[1][0] = 2;
    run_ms[1][1] = 1;
    run_ms[1][2] = 3;
    measure(gains, 3, shapes, 2);
    ck_assert_double_eq_tol(gains[1], 2, 1e-9);
    ck_assert_double_eq_tol(gains[2], 2, 1e-9);
    ck_assert_uint_eq(order_count, 3 * 2 * (1 + ROUNDS));
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(seen[i].closes, 2);
        ck_assert_uint_eq(seen[i].rows, 7);
    }
}
END_TEST

/* Both take 25 ms for 16 rows: 0.3 s have three times 64 rows, and the rounds, which take 210, 270
 * and 330 ms, end with that. The times are those of fewer rows. */
START_TEST(products_that_are_slow_are_of_fewer_rows_and_fewer_rounds)
{
    double gains[2];
    set_clock(60, 30);
    trial_ms = 12.5;
    slower_ms = 30;
    rounds = 3;
    measure(gains, 2, &slice, 1);
    ck_assert_double_eq_tol(gains[1], 120. / 90, 1e-9);
    ck_assert_uint_eq(order_count, 2 * (1 + 3));
    ck_assert_uint_eq(seen[0].rows, 64);
    ck_assert_uint_eq(seen[1].rows, 64);
}
END_TEST

START_TEST(the_slowest_products_are_of_sixteen_rows_three_times)
{
    double gains[2];
    set_clock(1000, 500);
    trial_ms = 1000;
    slower_ms = 0;
    rounds = 3;
    measure(gains, 2, &slice, 1);
    ck_assert_double_eq_tol(gains[1], 2, 1e-9);
    ck_assert_uint_eq(order_count, 2 * (1 + 3));
    ck_assert_uint_eq(seen[1].rows, TRIAL_ROWS);
}
END_TEST

/* Half of the time each: rounds of 30 ms fit five times into 150. */
START_TEST(shapes_share_the_time)
{
    static const struct product_shape shapes[] = {{ROWS, IN, OUT}, {ROWS, IN, OUT}};
    double gains[2];
    set_clock(20, 10);
    run_ms[1][0] = 20;
    run_ms[1][1] = 10;
    slower_ms = 0;
    rounds = 5;
    measure(gains, 2, shapes, 2);
    ck_assert_double_eq_tol(gains[1], 2, 1e-9);
    ck_assert_uint_eq(order_count, 2 * 2 * (1 + 5));
}
END_TEST

START_TEST(a_backend_that_does_not_open_leaves_the_gains_alone)
{
    for (unsigned broken = 0; broken < 2; broken++) {
        struct err err = {0};
        double gains[2] = {-1, -1};
        forget();
        seen[broken].fails = true;
        ck_assert_int_eq(precision_speed_gains(gains, all, 2, &slice, 1, &err), ERR_UNSUPPORTED);
        ck_assert_str_eq(err.text, "not this one");
        ck_assert_double_eq(gains[0], -1);
        ck_assert_double_eq(gains[1], -1);
        ck_assert_uint_eq(order_count, 0);
        for (unsigned i = 0; i <= broken; i++)
            ck_assert_uint_eq(seen[i].closes, 1);
        ck_assert_uint_eq(seen[1].allocs, broken);
    }
}
END_TEST

START_TEST(the_choice_follows_the_measurements)
{
    const struct linear_backend *native = &linear_native[PRECISION_BF16];
    static const char refusal[] = "bf16 measured 1.05 x the speed of f32 on this CPU, less than "
                                  "1.1 x; use f32 or int8";
    const struct {
        const char *name;
        double ms[2];
        const struct linear_backend *backend; /* NULL: refused */
    } cases[] = {{"auto", {3, 2}, native}, {"native", {3, 2}, native}, {NULL, {2.1, 2}, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err = {0};
        const struct linear_backend *found = NULL;
        has_bf16 = true;
        set_clock(cases[i].ms[0], cases[i].ms[1]);
        precision_speed_choose_bf16(&found, cases[i].name, &err);
        is_fake = false;
        if (cases[i].backend == NULL) {
            ck_assert_int_eq(err.code, ERR_UNSUPPORTED);
            ck_assert_str_eq(err.text, refusal);
        } else {
            ck_assert_msg(err.code == ERR_OK, "case %zu: %s", i, err.text);
            ck_assert_msg(found == cases[i].backend, "case %zu: %s", i, found->name);
        }
    }
}
END_TEST

SUITE("precision_speed_rounds", the_gain_is_the_ratio_of_the_fastest_of_nine_alternating_runs,
      the_gain_is_of_all_shapes_together,
      the_wall_clock_counts_where_that_of_the_thread_stands_still,
      products_that_are_slow_are_of_fewer_rows_and_fewer_rounds,
      the_slowest_products_are_of_sixteen_rows_three_times, shapes_share_the_time,
      a_backend_that_does_not_open_leaves_the_gains_alone, the_choice_follows_the_measurements)
