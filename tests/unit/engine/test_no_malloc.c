/* A run takes no memory: every way to the allocator is counted while some 200 predictions are made.
 *
 * The functions below stand in front of the C library's for the whole program, libraries included,
 * and pass on to its __libc_ names; glibc has no such name for aligned_alloc and posix_memalign,
 * which go through __libc_memalign. Calls of all threads are counted, since a pool's threads could
 * allocate too. Sanitizers put their own functions there, so under them there is nothing to test.
 */
#include "engine/base/doc.h"
#include "engine/base/openblas.h"
#include "engine/engine.h"
#include "tests/support/pair_model.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"
#include "tests/support/writing_fixture.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
enum { CAN_COUNT = 0 };
#else
enum { CAN_COUNT = 1 };
#endif

enum { RUNS = 20, ROWS_MAX = 4, TOKENS_MAX = 400, CALLERS_MAX = 16 };

static atomic_bool armed;
static atomic_uint calls;
static void *callers[CALLERS_MAX]; /* of the first calls */

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__)

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

static void count(void *caller)
{
    if (!atomic_load_explicit(&armed, memory_order_relaxed))
        return;
    unsigned call = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    if (call < CALLERS_MAX)
        callers[call] = caller;
}

void *malloc(size_t size)
{
    count(__builtin_return_address(0));
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size)
{
    count(__builtin_return_address(0));
    return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size)
{
    count(__builtin_return_address(0));
    return __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size)
{
    count(__builtin_return_address(0));
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    count(__builtin_return_address(0));
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    count(__builtin_return_address(0));
    *out = __libc_memalign(alignment, size);
    return *out != NULL ? 0 : ENOMEM;
}

void free(void *memory)
{
    count(__builtin_return_address(0));
    __libc_free(memory);
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    count(__builtin_return_address(0));
    return (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}

int munmap(void *address, size_t size)
{
    count(__builtin_return_address(0));
    return (int)syscall(SYS_munmap, address, size);
}

#endif

static void start_counting(void)
{
    atomic_store(&calls, 0);
    atomic_store(&armed, true);
}

static unsigned stop_counting(void)
{
    atomic_store(&armed, false);
    return atomic_load(&calls);
}

START_TEST(the_counter_counts_each_way_to_memory)
{
    if (!CAN_COUNT)
        suite_skip("a sanitizer has the allocator");
    void *volatile kept;
    start_counting();
    kept = malloc(1);
    kept = realloc(kept, 2);
    free(kept);
    kept = calloc(1, 1);
    free(kept);
    kept = aligned_alloc(64, 64);
    free(kept);
    kept = mmap(NULL, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(kept, 1);
    ck_assert_uint_eq(stop_counting(), 9);
    kept = malloc(1);
    free(kept);
    ck_assert_uint_eq(stop_counting(), 9);
    FILE *file = tmpfile(); /* a library's own calls count too */
    start_counting();
    fclose(file);
    ck_assert_uint_gt(stop_counting(), 0);
}
END_TEST

struct subject {
    struct engine_model *model;
    struct engine_session *session;
    struct arena arena;
    struct engine_input inputs[ROWS_MAX];
    struct engine_result results[ROWS_MAX];
};

static void *file_bytes(const char *path, size_t *len)
{
    static unsigned char bytes[1 << 16];
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s", path);
    *len = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return bytes;
}

/* Inputs as unlike as the model takes: for texts a word, a line, and as much as it reads. */
static void prepare_inputs(struct subject *subject)
{
    static const size_t lengths[ROWS_MAX] = {4, 50, 200, 1500};
    struct err err = {0};
    size_t len;
    bool text = engine_describe(subject->model)->kind == ENGINE_TEXT;
    const char *bytes = file_bytes(
        text ? "tests/data/examples/kernel_report.txt" : "tests/data/examples/wafer_map.png", &len);
    for (unsigned i = 0; i < ROWS_MAX; i++) {
        struct engine_input *input = &subject->inputs[i];
        struct engine_source source =
            text ? *text_source_len(bytes, len < lengths[i] ? len : lengths[i])
                 : *picture_source(bytes, len, 1 << 20);
        if (engine_describe(subject->model)->task == ENGINE_ANSWER)
            source.question = (struct engine_question){.text = "why", .len = 3};
        struct engine_result *result = &subject->results[i];
        engine_prepare(subject->model, &source, NULL, &subject->arena, input, &err);
        ck_assert_msg(err.code == ERR_OK, "%s", err.text);
        ck_assert(!engine_result_init(result, subject->model, &subject->arena, &err));
        ck_assert(!engine_result_rows(result, subject->model, input, &subject->arena, &err));
    }
}

/* Does as the programs do, without starting anew. A core type that is chosen already is kept. */
static void limit_blas_to_our_threads(void)
{
    setenv("OPENBLAS_CORETYPE", "auto", 0);
    openblas_set_environment();
}

static void subject_open(struct subject *subject, const char *dir, const char *pruning,
                         unsigned threads)
{
    limit_blas_to_our_threads();
    struct err err = {0};
    struct engine_options options = {.linear_backend = getenv("ATTND_TEST_BACKEND"),
                                     .token_pruning = pruning};
    arena_init(&subject->arena);
    ck_assert_msg(engine_open(&subject->model, dir, &options, &err) == ERR_OK, "%s", err.text);
    ck_assert_int_eq(
        engine_session_open(&subject->session, subject->model, TOKENS_MAX, threads, &err), ERR_OK);
    prepare_inputs(subject);
}

static void subject_close(struct subject *subject)
{
    engine_session_close(subject->session);
    engine_close(subject->model);
    arena_deinit(&subject->arena);
}

/* Batches of the inputs in turn, each of as many as fit. */
static void run_batches(struct subject *subject, unsigned runs)
{
    for (unsigned run = 0; run < runs; run++) {
        const struct engine_input *batch[ROWS_MAX];
        struct engine_result *listed[ROWS_MAX];
        unsigned rows = 0, tokens = 0;
        for (unsigned i = 0; i < ROWS_MAX; i++) {
            const unsigned at = (run + i) % ROWS_MAX;
            const struct engine_input *input = &subject->inputs[at];
            if (rows > 0 && (i > run % ROWS_MAX || tokens + input->tokens > TOKENS_MAX))
                break;
            listed[rows] = &subject->results[at];
            batch[rows++] = input;
            tokens += input->tokens;
        }
        engine_run(subject->session, batch, rows, listed);
    }
}

/* OpenBLAS maps one buffer for each thread that it meets inside a product at the same time as
 * another, which may happen in any run. Whatever else it does counts. */
static unsigned without_blas_buffers(unsigned counted, unsigned threads)
{
    unsigned buffers = 0;
    for (unsigned i = 0; i < counted && i < CALLERS_MAX; i++) {
        Dl_info from;
        if (dladdr(callers[i], &from) != 0 && strstr(from.dli_fname, "openblas") != NULL)
            buffers++;
    }
    return counted - (buffers < threads ? buffers : threads);
}

/* The first run may be what makes a library take its buffers; the server's warm-up is that run. */
static unsigned count_calls(const char *dir, const char *pruning, unsigned threads)
{
    struct subject subject;
    subject_open(&subject, dir, pruning, threads);
    run_batches(&subject, 1);
    start_counting();
    run_batches(&subject, RUNS);
    unsigned counted = without_blas_buffers(stop_counting(), threads);
    subject_close(&subject);
    return counted;
}

START_TEST(texts_and_images_run_without_taking_memory)
{
    if (!CAN_COUNT)
        suite_skip("a sanitizer has the allocator");
    for (unsigned threads = 1; threads <= 2; threads++) {
        ck_assert_uint_eq(count_calls("models/kernel-bert", NULL, threads), 0);
        ck_assert_uint_eq(count_calls("models/wafer-vit", NULL, threads), 0);
        ck_assert_uint_eq(count_calls("models/kernel-bert", "2:0.3", threads), 0);
        ck_assert_uint_eq(count_calls("tests/data/tags/ner-bert-0", NULL, threads), 0);
        ck_assert_uint_eq(count_calls("tests/data/answers/qa-bert-0", NULL, threads), 0);
    }
}
END_TEST

/* The source of a request, then steps of two rows whose tokens stand in slots. */
static unsigned count_decoder(const char *dir, const char *dtype)
{
    enum { STEPS = 8 };
    static const int32_t ids[] = {5, 6, 7, 8, 9, 10, 11};
    static const uint32_t slots[2][STEPS] = {{0, 1, 2, 3, 4, 5, 6, 7},
                                             {8, 9, 10, 11, 12, 13, 14, 15}};
    struct pair_model model;
    limit_blas_to_our_threads();
    pair_model_open(&model, dir, "auto", dtype, 2);
    const struct engine_input input = pair_model_text(ids, 7);
    float *states = pair_model_encode(&model, &input);
    struct decoder_cache cache = pair_model_begin(&model, states, 7, 2 * STEPS);
    start_counting();
    decoder_begin(&model.target, &model.decoder, &model.step, &cache, states, model.source.hidden);
    for (unsigned step = 0; step < STEPS; step++) {
        struct decoder_row rows[2];
        for (unsigned r = 0; r < 2; r++)
            rows[r] = (struct decoder_row){
                .cache = &cache, .token = ids[r], .before = step, .slots = slots[r]};
        decoder_step(&model.target, &model.decoder, &model.step, rows, 2);
    }
    const unsigned counted = without_blas_buffers(stop_counting(), 2);
    free(cache.source);
    free(states);
    pair_model_close(&model);
    return counted;
}

START_TEST(steps_of_a_decoder_take_no_memory)
{
    static const char *const dirs[] = {"tests/data/golden/marian-0",
                                       "tests/data/golden/t5-gated-0"};
    static const char *const dtypes[] = {"f32", "bf16", "int8"};
    if (!CAN_COUNT)
        suite_skip("a sanitizer has the allocator");
    for (size_t d = 0; d < 2; d++)
        for (size_t t = 0; t < 3; t++)
            ck_assert_msg(count_decoder(dirs[d], dtypes[t]) == 0, "%s in %s", dirs[d], dtypes[t]);
}
END_TEST

/* A pattern, check characters and four beams. The first run is the warm-up. */
static unsigned count_writing(const char *name)
{
    static const char pattern[] = "[A-Za-z0-9 .-]{6,40}";
    struct engine_writing writing = {.asked = generation_request_empty,
                                     .pattern = pattern,
                                     .pattern_len = sizeof pattern - 1,
                                     .checksum = ENGINE_CHECKSUM_SEMI_M13};
    struct writing_fixture f;
    struct engine_input input;
    struct engine_need need;
    unsigned counted = 0;
    limit_blas_to_our_threads();
    writing_fixture_open(&f, name);
    writing.asked.num_beams = 4;
    writing.asked.max_new_tokens = 16;
    writing_fixture_prepare(&f, doc_array_item(f.cases, 0), &writing, &input, &need);
    for (int run = 0; run < 2; run++) {
        struct engine_result result = writing_fixture_room(&f, &input);
        start_counting();
        engine_run(f.session, (const struct engine_input *[]){&input}, 1,
                   (struct engine_result *[]){&result});
        counted = without_blas_buffers(stop_counting(), 2);
        ck_assert(result.is_done && result.is_finite);
    }
    writing_fixture_close(&f);
    return counted;
}

START_TEST(a_text_with_rules_is_written_without_taking_memory)
{
    if (!CAN_COUNT)
        suite_skip("a sanitizer has the allocator");
    for (size_t m = 0; m < WRITING_NAMES; m++)
        ck_assert_msg(count_writing(writing_names[m]) == 0, "%s", writing_names[m]);
}
END_TEST

SUITE("no_malloc", the_counter_counts_each_way_to_memory,
      texts_and_images_run_without_taking_memory, steps_of_a_decoder_take_no_memory,
      a_text_with_rules_is_written_without_taking_memory)
