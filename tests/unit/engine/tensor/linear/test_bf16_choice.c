/* How bf16 is measured and what follows, with a clock and a processor of the test's own: the
 * functions below stand in for clock_gettime and engine/base/cpu.c. */
#include "engine/base/cpu.h"
#include "engine/tensor/linear/bf16.h"
#include "engine/tensor/linear/onednn.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ROWS = 128, IN = 768, OUT = 256, RUNS = 9, NS_PER_MS = 1000000 };

/* ---- the clock ---- */

static bool is_fake;
static long long now_ns;
static unsigned looks; /* at the clock: two a run */
/* What the runs of a measurement take, in turn: base and other; of a second one after it. */
static double run_ms[2][2];

int clock_gettime(clockid_t which, struct timespec *out)
{
    if (!is_fake)
        return (int)syscall(SYS_clock_gettime, which, out);
    if (looks % 2 == 1) {
        unsigned run = looks / 2 % (2 * RUNS);
        double slower = run / 2 == RUNS / 2 ? 0 : 1 + run; /* the fifth pair is the fastest */
        now_ns += (long long)((run_ms[looks / 2 / (2 * RUNS) % 2][run % 2] + slower) * NS_PER_MS);
    }
    looks++;
    *out = (struct timespec){now_ns / 1000000000, now_ns % 1000000000};
    return 0;
}

static void set_clock(double base, double other, double second_base, double second_other)
{
    is_fake = true;
    looks = 0;
    run_ms[0][0] = base;
    run_ms[0][1] = other;
    run_ms[1][0] = second_base;
    run_ms[1][1] = second_other;
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
    unsigned allocs, fills, opens, closes, runs;
    bool fails;
} seen[2];
static unsigned order[64], order_count;

static unsigned index_of(const struct linear *linear)
{
    return linear->backend->name[0] == 'b' ? 0 : 1;
}

static enum err_code look_alloc(struct linear *linear, struct err *err)
{
    ck_assert_uint_eq(linear->in, IN);
    ck_assert_uint_eq(linear->out, OUT);
    linear->weights = &seen[index_of(linear)];
    seen[index_of(linear)].allocs++;
    return seen[index_of(linear)].fails ? err_set(err, ERR_UNSUPPORTED, "not this one") : ERR_OK;
}

static void look_fill(struct linear *linear, size_t first, size_t rows, const float *weight)
{
    double squares = 0;
    ck_assert_uint_eq(first, 0);
    ck_assert_uint_eq(rows, OUT);
    for (size_t i = 0; i < (size_t)OUT * IN; i++)
        squares += (double)weight[i] * (double)weight[i];
    ck_assert_double_gt(squares, 0.1 * OUT * IN); /* numbers, not zeros */
    seen[index_of(linear)].fills++;
}

static enum err_code look_open(struct linear *linear, struct err *err)
{
    (void)err;
    seen[index_of(linear)].opens++;
    return ERR_OK;
}

static void look_run(const struct linear *linear, const struct kernels *kernels,
                     const struct linear_io *io, const struct linear_block *block)
{
    (void)kernels;
    ck_assert_uint_eq(io->rows, ROWS);
    ck_assert_uint_eq(io->y_stride, OUT);
    ck_assert_uint_eq(block->first_row, 0);
    ck_assert_uint_eq(block->last_row, ROWS);
    ck_assert_uint_eq(block->first_column, 0);
    ck_assert_uint_eq(block->last_column, OUT);
    ck_assert_int_eq(io->x.precision, linear->backend->precision);
    size_t bytes = IN * precision_bytes(io->x.precision);
    for (size_t r = 0; r < ROWS; r++) { /* no row is forgotten */
        const unsigned char *row = (const unsigned char *)io->x.data + r * io->x.stride;
        size_t zeros = 0;
        for (size_t i = 0; i < bytes; i++)
            zeros += row[i] == 0;
        ck_assert_uint_lt(zeros, bytes * 3 / 4);
    }
    for (size_t i = 0; i < (size_t)ROWS * OUT; i++)
        io->y[i] = 1;
    seen[index_of(linear)].runs++;
    order[order_count++] = index_of(linear);
}

static void look_close(struct linear *linear)
{
    seen[index_of(linear)].closes++;
}

#define LOOKING(title, number)                                                                     \
    {                                                                                              \
        .name = title, .precision = number, .alloc = look_alloc, .fill = look_fill,                \
        .open = look_open, .run = look_run, .close = look_close                                    \
    }
static const struct linear_backend base = LOOKING("base", PRECISION_F32);
static const struct linear_backend other = LOOKING("other", PRECISION_BF16);

static void forget(void)
{
    memset(seen, 0, sizeof seen);
    order_count = 0;
}

START_TEST(the_gain_is_the_ratio_of_the_fastest_of_nine_alternating_runs)
{
    struct err err = {0};
    double gain = -1;
    forget();
    set_clock(6, 1.5, 0, 0);
    ck_assert_int_eq(bf16_gain(&gain, &base, &other, &err), ERR_OK);
    is_fake = false;
    ck_assert_double_eq_tol(gain, 4, 1e-9);
    ck_assert_uint_eq(order_count, 2 * RUNS);
    for (unsigned i = 0; i < 2 * RUNS; i++)
        ck_assert_uint_eq(order[i], i % 2);
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_eq(seen[i].allocs, 1);
        ck_assert_uint_eq(seen[i].fills, 1);
        ck_assert_uint_eq(seen[i].opens, 1);
        ck_assert_uint_eq(seen[i].runs, RUNS);
        ck_assert_uint_eq(seen[i].closes, 1);
    }
}
END_TEST

START_TEST(a_backend_that_does_not_open_leaves_the_gain_alone)
{
    for (int broken = 0; broken < 2; broken++) {
        struct err err = {0};
        double gain = -1;
        forget();
        seen[broken].fails = true;
        ck_assert_int_eq(bf16_gain(&gain, &base, &other, &err), ERR_UNSUPPORTED);
        ck_assert_str_eq(err.text, "not this one");
        ck_assert_double_eq(gain, -1);
        ck_assert_uint_eq(order_count, 0);
        for (int i = 0; i <= broken; i++)
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
        set_clock(cases[i].ms[0], cases[i].ms[1], 0, 0);
        bf16_choose(&found, cases[i].name, &err);
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

SUITE("bf16_choice", the_gain_is_the_ratio_of_the_fastest_of_nine_alternating_runs,
      a_backend_that_does_not_open_leaves_the_gain_alone, the_choice_follows_the_measurements)
