/* oneDNN as it might also be: missing, older, with threads of its own, or out of order in the midst
 * of things. dlopen and dlsym below stand in front of the C library's for the whole program and
 * hand the engine other functions of the same names. Sanitizers look up their own functions with
 * them, so under them there is nothing to test. */
#include "engine/base/cpu.h"
#include "engine/tensor/linear/linear.h"
#include "engine/tensor/linear/onednn.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#if !ONEDNN_IS_BUILT

START_TEST(a_build_without_onednn_says_so)
{
    struct linear linear;
    for (int p = PRECISION_F32; p <= PRECISION_BF16; p++) {
        struct err err = {0};
        ck_assert_int_eq(linear_alloc(&linear, &linear_onednn[p], 8, 8, &err), ERR_UNSUPPORTED);
        ck_assert_str_eq(err.text,
                         "this build has no linear backend 'onednn', which needs the headers of "
                         "oneDNN 2.6 (Debian 12's libdnnl-dev) when it is built; choose another "
                         "backend");
        linear_close(&linear);
    }
}
END_TEST

SUITE("onednn", a_build_without_onednn_says_so)

#else

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *missing; /* the name of a function that the library has not */
static bool is_absent;      /* the library itself */
static int threads = 1;     /* of OpenMP */

/* ---- functions that fail at the n-th call and are counted ---- */

#define FAILING(X)                                                                                 \
    X(engine_create, (dnnl_engine_t * out, dnnl_engine_kind_t kind, size_t index),                 \
      (out, kind, index), 1)                                                                       \
    X(stream_create, (dnnl_stream_t * out, dnnl_engine_t engine, unsigned flags),                  \
      (out, engine, flags), 1)                                                                     \
    X(memory_desc_init_by_tag,                                                                     \
      (dnnl_memory_desc_t * out, int n, const dnnl_dims_t dims, dnnl_data_type_t type,             \
       dnnl_format_tag_t tag),                                                                     \
      (out, n, dims, type, tag), 0)                                                                \
    X(memory_create,                                                                               \
      (dnnl_memory_t * out, const dnnl_memory_desc_t *desc, dnnl_engine_t engine, void *bytes),    \
      (out, desc, engine, bytes), 1)                                                               \
    X(matmul_desc_init,                                                                            \
      (dnnl_matmul_desc_t * out, const dnnl_memory_desc_t *x, const dnnl_memory_desc_t *w,         \
       const dnnl_memory_desc_t *bias, const dnnl_memory_desc_t *y),                               \
      (out, x, w, bias, y), 0)                                                                     \
    X(primitive_attr_create, (dnnl_primitive_attr_t * out), (out), 1)                              \
    X(primitive_attr_set_scratchpad_mode,                                                          \
      (dnnl_primitive_attr_t attr, dnnl_scratchpad_mode_t mode), (attr, mode), 0)                  \
    X(primitive_desc_create,                                                                       \
      (dnnl_primitive_desc_t * out, const_dnnl_op_desc_t op, const_dnnl_primitive_attr_t attr,     \
       dnnl_engine_t engine, const_dnnl_primitive_desc_t hint),                                    \
      (out, op, attr, engine, hint), 1)                                                            \
    X(primitive_desc_query,                                                                        \
      (const_dnnl_primitive_desc_t desc, dnnl_query_t what, int index, void *out),                 \
      (desc, what, index, out), 0)                                                                 \
    X(reorder_primitive_desc_create,                                                               \
      (dnnl_primitive_desc_t * out, const dnnl_memory_desc_t *from, dnnl_engine_t from_engine,     \
       const dnnl_memory_desc_t *to, dnnl_engine_t to_engine, const_dnnl_primitive_attr_t attr),   \
      (out, from, from_engine, to, to_engine, attr), 1)                                            \
    X(primitive_create, (dnnl_primitive_t * out, const_dnnl_primitive_desc_t desc), (out, desc),   \
      1)                                                                                           \
    X(primitive_execute,                                                                           \
      (const_dnnl_primitive_t primitive, dnnl_stream_t stream, int count,                          \
       const dnnl_exec_arg_t *arguments),                                                          \
      (primitive, stream, count, arguments), 0)

#define DESTROYING(X)                                                                              \
    X(engine_destroy, dnnl_engine_t)                                                               \
    X(stream_destroy, dnnl_stream_t)                                                               \
    X(memory_destroy, dnnl_memory_t)                                                               \
    X(primitive_attr_destroy, dnnl_primitive_attr_t)                                               \
    X(primitive_desc_destroy, dnnl_primitive_desc_t)                                               \
    X(primitive_destroy, dnnl_primitive_t)

enum function {
#define X(name, parameters, arguments, created) FAIL_##name,
    FAILING(X)
#undef X
        FUNCTIONS
};

static struct onednn_library real;
static enum function failing = FUNCTIONS; /* whose ... */
static int calls_left;                    /* ... call after so many others fails, */
static bool fails_on;                     /* or all from then on do, */
static dnnl_status_t failure;             /* with this status */
static unsigned failed;                   /* how often it was so */
static int alive;                         /* objects of the library that nobody has destroyed */
static unsigned refused;                  /* calls that the library itself did not like */

static bool fails(enum function function)
{
    if (function != failing || calls_left-- > 0)
        return false;
    if (!fails_on)
        failing = FUNCTIONS;
    failed++;
    return true;
}

#define X(name, parameters, arguments, created)                                                    \
    static dnnl_status_t do_##name parameters                                                      \
    {                                                                                              \
        if (fails(FAIL_##name))                                                                    \
            return failure;                                                                        \
        dnnl_status_t status = real.name arguments;                                                \
        alive += status == dnnl_success && created;                                                \
        refused += status != dnnl_success;                                                         \
        return status;                                                                             \
    }
FAILING(X)
#undef X

#define X(name, type)                                                                              \
    static dnnl_status_t do_##name(type object)                                                    \
    {                                                                                              \
        ck_assert_ptr_nonnull(object);                                                             \
        alive--;                                                                                   \
        return real.name(object);                                                                  \
    }
DESTROYING(X)
#undef X

static dnnl_version_t version; /* that the library tells */

static const dnnl_version_t *tell_version(void)
{
    return &version;
}

static int omp_threads(void)
{
    return threads;
}

static const struct {
    const char *name;
    size_t room; /* where the real one is kept */
    void *function;
} replaced[] = {
#define X(name, parameters, arguments, created)                                                    \
    {"dnnl_" #name, offsetof(struct onednn_library, name), (void *)do_##name},
    FAILING(X)
#undef X
#define X(name, type) {"dnnl_" #name, offsetof(struct onednn_library, name), (void *)do_##name},
        DESTROYING(X)
#undef X
};

/* The function that the engine gets in place of `found` (NULL: it was not found). */
__attribute__((unused)) static void *instead_of(const char *name, void *found)
{
    if (missing != NULL && strcmp(name, missing) == 0)
        return NULL;
    if (strcmp(name, "omp_get_max_threads") == 0)
        return (void *)omp_threads;
    if (strcmp(name, "dnnl_version") == 0 && found != NULL)
        return (void *)tell_version;
    for (size_t i = 0; i < sizeof replaced / sizeof replaced[0] && found != NULL; i++)
        if (strcmp(name, replaced[i].name) == 0) {
            memcpy((char *)&real + replaced[i].room, &found, sizeof found);
            return replaced[i].function;
        }
    return found;
}

/* ---- in front of the C library's ---- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
enum { CAN_STAND_IN = 0 };
#else
enum { CAN_STAND_IN = 1 };

static void *real_function(const char *name)
{
    void *found = dlvsym(RTLD_NEXT, name, "GLIBC_2.34");
    return found != NULL ? found : dlvsym(RTLD_NEXT, name, "GLIBC_2.2.5");
}

void *dlopen(const char *name, int flags)
{
    void *(*open)(const char *, int) = (void *(*)(const char *, int))real_function("dlopen");
    return open(is_absent && name != NULL ? "libnothing.so.0" : name, flags);
}

void *dlsym(void *handle, const char *name)
{
    void *(*find)(void *, const char *) = (void *(*)(void *, const char *))real_function("dlsym");
    return instead_of(name, find(handle, name));
}
#endif

/* Everything as it is; false where the library cannot be made another one. */
static bool begin(void)
{
    missing = NULL;
    is_absent = false;
    threads = 1;
    version = (dnnl_version_t){.major = 2, .minor = 6, .patch = 3};
    failing = FUNCTIONS;
    refused = 0;
    return CAN_STAND_IN;
}

#define BEGIN()                                                                                    \
    if (!begin())                                                                                  \
    suite_skip("sanitizers look up functions too")

/* ---- the library ---- */

static enum err_code open_library(struct err *err)
{
    struct onednn_library library;
    *err = (struct err){0};
    enum err_code code = onednn_library_open(&library, err);
    onednn_library_close(&library);
    ck_assert_ptr_null(library.handle);
    ck_assert_ptr_null(library.memory_create);
    onednn_library_close(&library); /* of nothing */
    return code;
}

START_TEST(a_function_that_the_library_has_not_is_named)
{
    static const char *const names[] = {
#define X(name) "dnnl_" #name,
        ONEDNN_FUNCTIONS(X)
#undef X
    };
    BEGIN();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char text[128];
        struct err err;
        missing = names[i];
        snprintf(text, sizeof text, "libdnnl.so.2 has no %s", names[i]);
        ck_assert_int_eq(open_library(&err), ERR_UNSUPPORTED);
        ck_assert_str_eq(err.text, text);
    }
}
END_TEST

START_TEST(a_missing_library_is_said_with_the_loader_s_reason)
{
    static const char head[] = "the linear backend 'onednn' needs oneDNN: libnothing.so.0";
    struct err err;
    struct linear linear;
    BEGIN();
    is_absent = true;
    ck_assert_int_eq(open_library(&err), ERR_UNSUPPORTED);
    ck_assert_msg(strncmp(err.text, head, sizeof head - 1) == 0, "%s", err.text);
    err = (struct err){0};
    ck_assert_int_eq(linear_alloc(&linear, &linear_onednn[PRECISION_F32], 8, 8, &err),
                     ERR_UNSUPPORTED);
    ck_assert_msg(strncmp(err.text, head, sizeof head - 1) == 0, "%s", err.text);
    linear_close(&linear);
}
END_TEST

START_TEST(a_library_of_another_version_is_left_out_by_name_and_range)
{
    static const int taken[][3] = {{2, 6, 0}, {2, 6, 99}};
    static const int others[][3] = {{2, 5, 9}, {2, 7, 0}, {3, 6, 0}};
    struct err err;
    BEGIN();
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        version = (dnnl_version_t){
            .major = taken[i][0], .minor = taken[i][1], .patch = taken[i][2]};
        ck_assert_int_eq(open_library(&err), ERR_OK);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char text[128];
        version = (dnnl_version_t){
            .major = others[i][0], .minor = others[i][1], .patch = others[i][2]};
        snprintf(
            text, sizeof text,
            "oneDNN %d.%d.%d is not supported (supported: 2.6.x); install that of Debian 12 or 13",
            others[i][0], others[i][1], others[i][2]);
        ck_assert_int_eq(open_library(&err), ERR_UNSUPPORTED);
        ck_assert_str_eq(err.text, text);
    }
}
END_TEST

START_TEST(a_library_that_would_start_threads_is_refused)
{
    struct err err;
    BEGIN();
    threads = 2;
    ck_assert_int_eq(open_library(&err), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text,
                     "oneDNN would run 2 OpenMP threads for each of ours: something loaded OpenMP "
                     "before; set OMP_NUM_THREADS=1");
    threads = 1;
    ck_assert_int_eq(open_library(&err), ERR_OK);
    missing = "omp_get_max_threads"; /* built without OpenMP */
    threads = 2;
    ck_assert_int_eq(open_library(&err), ERR_OK);
}
END_TEST

START_TEST(one_thread_is_asked_for_before_the_library_is_loaded)
{
    static const char *const before[] = {NULL, "4", "", "1"};
    begin();
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
        struct err err;
        if (before[i] == NULL)
            unsetenv("OMP_NUM_THREADS");
        else
            setenv("OMP_NUM_THREADS", before[i], 1);
        ck_assert_int_eq(open_library(&err), ERR_OK);
        ck_assert_str_eq(getenv("OMP_NUM_THREADS"), "1");
    }
}
END_TEST

/* setenv is not for programs that have started threads: what is right stays where it is. */
START_TEST(the_environment_is_left_alone_if_it_asks_for_one_thread)
{
    static char own[] = "OMP_NUM_THREADS=1";
    struct err err;
    begin();
    ck_assert_int_eq(putenv(own), 0);
    ck_assert_int_eq(open_library(&err), ERR_OK);
    ck_assert_ptr_eq(getenv("OMP_NUM_THREADS"), strchr(own, '=') + 1);
}
END_TEST

/* ---- a linear whose library fails ---- */

enum { IN = 20, OUT = 130, ROWS = 301 }; /* 151 and 150: all of 128, 16, 4, 2, 1 */

static enum err_code open_linear(struct linear *linear, const struct linear_backend *backend,
                                 struct err *err)
{
    float *weight = numbers_new(IN * OUT, 1, 1);
    *err = (struct err){0};
    if (!linear_alloc(linear, backend, IN, OUT, err)) {
        linear_fill(linear, 0, OUT, weight);
        linear_open(linear, err);
    }
    free(weight);
    return err->code;
}

static void fail_at(enum function function, int call, bool on, dnnl_status_t status)
{
    failing = function;
    calls_left = call;
    fails_on = on;
    failure = status;
    failed = 0;
}

START_TEST(each_call_that_fails_ends_the_opening_and_leaves_nothing_behind)
{
    static const struct {
        dnnl_status_t status;
        enum err_code code;
        const char *name;
    } ways[] = {{dnnl_out_of_memory, ERR_NO_MEMORY, "out_of_memory"},
                {dnnl_unimplemented, ERR_UNSUPPORTED, "unimplemented"},
                {dnnl_runtime_error, ERR_INTERNAL, "runtime_error"}};
    unsigned tried = 0;
    BEGIN();
    for (int function = 0; function < FUNCTIONS; function++)
        for (int call = 0;; call++, tried++) {
            size_t way = (size_t)(function + call) % 3;
            struct linear linear;
            struct err err;
            char text[160];
            fail_at((enum function)function, call, false, ways[way].status);
            enum err_code code = open_linear(&linear, &linear_onednn[PRECISION_F32], &err);
            linear_close(&linear);
            ck_assert_msg(alive == 0, "function %d, call %d: %d left", function, call, alive);
            if (failed == 0) {
                ck_assert_int_eq(code, ERR_OK);
                ck_assert_msg(call > 0, "function %d is never called", function);
                break;
            }
            snprintf(text, sizeof text,
                     "oneDNN cannot multiply a 130 x 20 matrix in f32 on this CPU: %s",
                     ways[way].name);
            ck_assert_msg(code == ways[way].code, "function %d, call %d: %s", function, call,
                          err.text);
            ck_assert_str_eq(err.text, text);
        }
    ck_assert_uint_gt(tried, FUNCTIONS);
}
END_TEST

/* y = x W^T + b of rows `stride` floats apart (f32) or as an operand (bf16). */
static void multiply(const struct linear *linear, const float *x, size_t stride, float *y)
{
    struct arena arena;
    struct thread_pool *pool;
    struct err err = {0};
    struct linear_io io = {
        .x = operand_f32(x, stride), .rows = ROWS, .y = y, .y_stride = linear->out};
    arena_init(&arena);
    if (linear->backend->precision == PRECISION_BF16) {
        ck_assert(!operand_alloc(&io.x, &arena, PRECISION_BF16, ROWS, IN, &err));
        for (size_t r = 0; r < ROWS; r++)
            operand_store(&io.x, kernels_best(), r, x + r * stride, IN);
    }
    ck_assert(!thread_pool_open(&pool, 1, &err));
    linear_run(linear, kernels_best(), pool, &io);
    thread_pool_close(pool);
    arena_deinit(&arena);
}

static void check_products(const struct linear *linear, const char *what)
{
    static const size_t strides[] = {IN, IN + 7, 48}; /* the last is oneDNN's own */
    float *x = numbers_new((size_t)ROWS * 64, 1, 2), *weight = numbers_new(IN * OUT, 1, 1);
    float *y = numbers_new((size_t)ROWS * OUT, 0, 0), *expected = numbers_new(ROWS * OUT, 0, 0);
    bool rounds = linear->backend->precision == PRECISION_BF16;
    for (size_t s = 0; s < sizeof strides / sizeof strides[0]; s++) {
        for (size_t r = 0; r < ROWS; r++) {
            for (size_t k = IN; k < strides[s]; k++)
                x[r * strides[s] + k] = 0;
            for (size_t c = 0; c < OUT; c++) {
                double sum = linear->bias[c];
                for (size_t k = 0; k < IN; k++)
                    sum += (double)x[r * strides[s] + k] * (double)weight[c * IN + k];
                expected[r * OUT + c] = (float)sum;
            }
        }
        multiply(linear, x, strides[s], y);
        double difference = numbers_relative_difference(y, expected, ROWS * OUT);
        ck_assert_msg(difference < (rounds ? 0.015 : 1e-5), "%s, stride %zu: %g", what, strides[s],
                      difference);
    }
    free(x), free(weight), free(y), free(expected);
}

/* oneDNN 2.6 refuses some shapes on processors with tiles (AMX). This processor may have none, so
 * the refusal is made here. */
START_TEST(a_shape_that_onednn_does_not_multiply_by_tiles_is_refused)
{
    BEGIN();
    if (cpu_level() < CPU_AVX512)
        suite_skip("oneDNN multiplies no bf16 on this processor");
    for (int call = 0; call < 3; call++) { /* the first primitive, a later one, none */
        struct linear linear;
        struct err err;
        bool is_sound = call == 2;
        fail_at(is_sound ? FUNCTIONS : FAIL_primitive_desc_create, call, true, dnnl_unimplemented);
        ck_assert_int_eq(open_linear(&linear, &linear_onednn[PRECISION_BF16], &err),
                         is_sound ? ERR_OK : ERR_UNSUPPORTED);
        linear_close(&linear);
        ck_assert_int_eq(alive, 0);
    }
}
END_TEST

static void check_failing_runs(const struct linear_backend *backend)
{
    static const struct {
        const char *what;
        enum function function;
        int call;
        bool on;
    } ways[] = {{"sound", FUNCTIONS, 0, false},
                {"no execution", FAIL_primitive_execute, 0, true},
                {"one of four executions", FAIL_primitive_execute, 3, false},
                {"no memory object", FAIL_memory_create, 0, true},
                {"no second memory object", FAIL_memory_create, 1, false},
                {"no third memory object", FAIL_memory_create, 2, false}};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct linear linear;
        struct err err;
        fail_at(FUNCTIONS, 0, false, dnnl_success);
        ck_assert_msg(open_linear(&linear, backend, &err) == ERR_OK, "%s", err.text);
        numbers_fill(linear.bias, OUT, 1, 3);
        int before = alive;
        fail_at(ways[i].function, ways[i].call, ways[i].on, dnnl_out_of_memory);
        check_products(&linear, ways[i].what);
        ck_assert_int_eq(failed > 0, i > 0);
        ck_assert_uint_eq(refused, 0); /* there is a primitive for every number of rows */
        ck_assert_int_eq(alive, before);
        linear_close(&linear);
        ck_assert_int_eq(alive, 0);
    }
}

START_TEST(products_that_the_library_does_not_make_are_made_plainly)
{
    BEGIN();
    check_failing_runs(&linear_onednn[PRECISION_F32]);
    if (cpu_level() >= CPU_AVX512)
        check_failing_runs(&linear_onednn[PRECISION_BF16]);
    else
        suite_skipped(__func__, "oneDNN multiplies no bf16 on this processor");
}
END_TEST

START_TEST(rows_are_taken_up_to_128_kilobytes_with_their_padding)
{
    static const size_t longest[] = {[PRECISION_F32] = 2047 * 16, [PRECISION_BF16] = 2047 * 32};
    bool has_bf16 = cpu_level() >= CPU_AVX512;
    begin();
    for (int p = PRECISION_F32; p <= (has_bf16 ? PRECISION_BF16 : PRECISION_F32); p++) {
        struct linear linear;
        struct err err = {0};
        char text[160];
        enum err_code code = linear_alloc(&linear, &linear_onednn[p], longest[p], 1, &err);
        if (code == ERR_UNSUPPORTED && cpu_has_tiles() && p == PRECISION_BF16 &&
            strstr(err.text, "a 1 x 65504 matrix in bf16 on this CPU: unimplemented") != NULL) {
            suite_skipped(__func__, "oneDNN 2.6 does not multiply 1 x 65504 by tiles");
            linear_close(&linear);
            continue;
        }
        ck_assert_msg(code == ERR_OK, "%s", err.text);
        ck_assert_uint_eq(linear.bytes % 64, 0);
        ck_assert_uint_ge(linear.bytes, longest[p] * precision_bytes((enum precision)p));
        ck_assert_int_eq(strncmp(linear.kernel, "onednn ", 7), 0);
        ck_assert_uint_gt(strlen(linear.kernel), 7);
        linear_close(&linear);
        ck_assert_int_eq(linear_alloc(&linear, &linear_onednn[p], longest[p] + 1, 1, &err),
                         ERR_UNSUPPORTED);
        snprintf(text, sizeof text,
                 "a 1 x %zu matrix is larger than the linear backend 'onednn' takes (rows of "
                 "131072 bytes)",
                 longest[p] + 1);
        ck_assert_str_eq(err.text, text);
        linear_close(&linear);
    }
}
END_TEST

SUITE("onednn", a_function_that_the_library_has_not_is_named,
      a_missing_library_is_said_with_the_loader_s_reason,
      a_library_of_another_version_is_left_out_by_name_and_range,
      a_library_that_would_start_threads_is_refused,
      one_thread_is_asked_for_before_the_library_is_loaded,
      the_environment_is_left_alone_if_it_asks_for_one_thread,
      each_call_that_fails_ends_the_opening_and_leaves_nothing_behind,
      a_shape_that_onednn_does_not_multiply_by_tiles_is_refused,
      products_that_the_library_does_not_make_are_made_plainly,
      rows_are_taken_up_to_128_kilobytes_with_their_padding)

#endif
