/* Steps of a decoder, as a search relies on them: a row's numbers are its own, hypotheses share
 * slots, and the memory is as told. */
#include "tests/support/pair_model.h"
#include "tests/support/suite.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN "tests/data/golden/"

enum { ROWS = PAIR_ROWS, STEPS = 5 };

static const char *const names[] = {"marian-0", "bart-0", "t5-gated-0", "m2m100-0"};
enum { NAMES = sizeof names / sizeof *names };

/* A request: its source and its cache. */
struct request {
    int32_t ids[32];
    unsigned count;
    float *states;
    struct decoder_cache cache;
    uint32_t slots[PAIR_TOKENS];
};

/* Sources of different lengths, out of ids that every vocabulary has. */
static void open_request(struct pair_model *model, struct request *request, unsigned number)
{
    request->count = 3 + number * 3;
    for (unsigned t = 0; t < request->count; t++)
        request->ids[t] = (int32_t)(4 + (number * 37 + t * 11) % 200);
    const struct engine_input input = pair_model_text(request->ids, request->count);
    request->states = pair_model_encode(model, &input);
    request->cache = pair_model_begin(model, request->states, request->count, PAIR_TOKENS);
    for (unsigned t = 0; t < PAIR_TOKENS; t++)
        request->slots[t] = (t * 3 + number) % PAIR_TOKENS;
}

static void close_request(struct request *request)
{
    free(request->cache.source);
    free(request->states);
}

static int32_t token_of(unsigned request, unsigned step)
{
    return (int32_t)(5 + (request * 53 + step * 17) % 200);
}

/* Runs STEPS steps of the requests in one batch, those with odd numbers one step late, so that
 * rows of a step have read different numbers of tokens; out [ROWS][STEPS][V]. */
static void run(struct pair_model *model, struct request *requests, unsigned first, unsigned count,
                float *out, float *alignments)
{
    const size_t words = model->target.vocab_size;
    const size_t aligned = (size_t)model->target.layers * 32;
    for (unsigned step = 0; step < STEPS + 1; step++) {
        struct decoder_row rows[ROWS];
        unsigned numbers[ROWS], used = 0;
        for (unsigned r = first; r < first + count; r++) {
            const unsigned late = r % 2, before = step - late;
            if (step < late || before >= STEPS)
                continue;
            numbers[used] = r;
            rows[used++] = (struct decoder_row){
                .cache = &requests[r].cache,
                .token = token_of(r, before),
                .before = before,
                .slots = requests[r].slots,
                .alignment = alignments != NULL && r % 3 != 0 ? alignments + r * aligned : NULL};
        }
        if (used == 0)
            continue;
        decoder_step(&model->target, &model->decoder, &model->step, rows, used);
        for (unsigned i = 0; i < used; i++)
            memcpy(out + (numbers[i] * STEPS + rows[i].before) * words,
                   model->step.logits + i * model->step.logits_stride, words * sizeof *out);
    }
}

static void check_alone(const char *name, const char *backend, const char *dtype)
{
    char dir[256];
    struct pair_model model;
    struct request requests[ROWS];
    snprintf(dir, sizeof dir, GOLDEN "%s", name);
    pair_model_open(&model, dir, backend, dtype, 2);
    const size_t numbers = (size_t)ROWS * STEPS * model.target.vocab_size;
    float *together = calloc(numbers, sizeof *together), *alone = calloc(numbers, sizeof *alone);
    float *alignments = calloc((size_t)ROWS * model.target.layers * 32, sizeof *alignments);
    for (unsigned r = 0; r < ROWS; r++)
        open_request(&model, &requests[r], r);
    run(&model, requests, 0, ROWS, together, alignments);
    for (unsigned r = 0; r < ROWS; r++)
        run(&model, requests, r, 1, alone, NULL);
    for (size_t i = 0; i < numbers; i++)
        ck_assert_msg(memcmp(&alone[i], &together[i], sizeof *alone) == 0,
                      "%s, %s, %s: number %zu is %.9g alone and %.9g with others", name, backend,
                      dtype, i, (double)alone[i], (double)together[i]);
    for (unsigned r = 0; r < ROWS; r++)
        for (unsigned l = 0; l < model.target.layers && r % 3 != 0; l++) {
            double sum = 0;
            for (unsigned t = 0; t < requests[r].count; t++)
                sum += (double)alignments[(size_t)r * model.target.layers * 32 +
                                          (size_t)l * requests[r].count + t];
            ck_assert_double_eq_tol(sum, 1, 1e-5);
        }
    for (unsigned r = 0; r < ROWS; r++)
        close_request(&requests[r]);
    free(together), free(alone), free(alignments);
    pair_model_close(&model);
}

START_TEST(rows_of_a_decoder_do_not_depend_on_what_shares_the_batch)
{
    for (int n = 0; n < NAMES; n++) {
        check_alone(names[n], "auto", "f32");
        check_alone(names[n], "native", "f32");
        check_alone(names[n], "auto", "bf16");
        check_alone(names[n], "auto", "int8");
        check_alone(names[n], "native", "int8");
    }
}
END_TEST

/* The number of threads cuts a row's heads in another way. */
START_TEST(rows_of_a_decoder_do_not_depend_on_the_number_of_threads)
{
    static const unsigned threads[] = {1, 2, 3};
    float *logits[3];
    size_t numbers = 0;
    for (int i = 0; i < 3; i++) {
        struct pair_model model;
        struct request request;
        pair_model_open(&model, GOLDEN "t5-gated-0", "native", "f32", threads[i]);
        numbers = (size_t)STEPS * model.target.vocab_size;
        logits[i] = calloc(numbers, sizeof *logits[i]);
        open_request(&model, &request, 0);
        run(&model, &request, 0, 1, logits[i], NULL);
        close_request(&request);
        pair_model_close(&model);
    }
    ck_assert_mem_eq(logits[0], logits[1], numbers * sizeof *logits[0]);
    ck_assert_mem_eq(logits[0], logits[2], numbers * sizeof *logits[0]);
    free(logits[0]), free(logits[1]), free(logits[2]);
}
END_TEST

/* Reads tokens one after the other; the last token's logits. */
static void read_all(struct pair_model *model, struct decoder_cache *cache, const int32_t *tokens,
                     const uint32_t *slots, unsigned first, unsigned count, float *out)
{
    for (unsigned t = first; t < count; t++) {
        const struct decoder_row row = {
            .cache = cache, .token = tokens[t], .before = t, .slots = slots};
        decoder_step(&model->target, &model->decoder, &model->step, &row, 1);
    }
    memcpy(out, model->step.logits, model->target.vocab_size * sizeof *out);
}

/* Two hypotheses begin alike, part, change places, and one dies and leaves its slot to the other:
 * each gives the numbers of its tokens read alone. */
START_TEST(hypotheses_share_slots_and_a_free_slot_is_used_again)
{
    static const int32_t one[] = {5, 6, 7, 8, 9}, two[] = {5, 6, 17, 18, 19};
    static const uint32_t one_slots[] = {3, 1, 0, 4, 2}, two_slots[] = {3, 1, 5, 6, 0};
    static const uint32_t plain[] = {10, 11, 12, 13, 14};
    for (int n = 0; n < NAMES; n++) {
        char dir[256];
        struct pair_model model;
        struct request request;
        snprintf(dir, sizeof dir, GOLDEN "%s", names[n]);
        pair_model_open(&model, dir, "auto", "f32", 1);
        const size_t bytes = model.target.vocab_size * sizeof(float);
        float *expected[2] = {malloc(bytes), malloc(bytes)}, *out = malloc(bytes);
        open_request(&model, &request, 2);
        read_all(&model, &request.cache, one, plain, 0, 4, expected[0]);
        read_all(&model, &request.cache, two, plain, 0, 5, expected[1]);
        read_all(&model, &request.cache, one, one_slots, 0, 3, out);
        for (unsigned t = 2; t < 4; t++) { /* the second begins with the first's slots */
            const struct decoder_row rows[] = {
                {.cache = &request.cache, .token = two[t], .before = t, .slots = two_slots},
                {.cache = &request.cache, .token = one[3], .before = 3, .slots = one_slots}};
            decoder_step(&model.target, &model.decoder, &model.step, rows, t == 3 ? 2 : 1);
        }
        memcpy(out, model.step.logits + model.step.logits_stride, bytes);
        ck_assert_mem_eq(out, expected[0], bytes);
        /* slot 0 is now only of the first, which ends */
        read_all(&model, &request.cache, two, two_slots, 4, 5, out);
        ck_assert_mem_eq(out, expected[1], bytes);
        close_request(&request);
        free(expected[0]), free(expected[1]), free(out);
        pair_model_close(&model);
    }
}
END_TEST

START_TEST(the_bytes_of_a_cache_are_told)
{
    struct pair_model model;
    pair_model_open(&model, GOLDEN "t5-gated-0", "native", "f32", 1);
    const struct spec *spec = &model.target;
    /* two layers of keys and values of six heads of six numbers */
    ck_assert_uint_eq(decoder_cache_bytes(spec, 10, 7), 17 * 2 * 2 * 36 * sizeof(float));
    ck_assert_uint_eq(decoder_cache_bytes(spec, SIZE_MAX, 1), SIZE_MAX);
    ck_assert_uint_eq(decoder_cache_bytes(spec, SIZE_MAX / 64, 1), SIZE_MAX);
    struct spec large = *spec;
    large.layers = large.heads = 65536;
    large.head_width = 1;
    ck_assert_uint_eq(decoder_cache_bytes(&large, UINT32_MAX, UINT32_MAX), SIZE_MAX);
    pair_model_close(&model);
}
END_TEST

/* The bound holds, and exceeds what is taken by no more than a tenth and 200 KB. */
START_TEST(the_bound_of_a_decoder_workspace_is_near)
{
    static const char *const dtypes[] = {"f32", "bf16", "int8"};
    static const struct decoder_sizes sizes[] = {{1, 1, 1}, {8, 100, 20}, {32, 400, 500}};
    for (int n = 0; n < NAMES; n++)
        for (int d = 0; d < 3; d++)
            for (int auto_too = 0; auto_too < 2; auto_too++) {
                char dir[256];
                struct pair_model model;
                const char *backend = auto_too ? "auto" : "reference";
                snprintf(dir, sizeof dir, GOLDEN "%s", names[n]);
                pair_model_open(&model, dir, backend, dtypes[d], 2);
                for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                    struct decoder_workspace w;
                    struct err err = {0};
                    const struct linear_backend *fast = model.step.backend;
                    decoder_workspace_open(&w, &model.target, fast, &sizes[s], model.pool,
                                           kernels_best(), &err);
                    ck_assert_int_eq(err.code, ERR_OK);
                    const size_t taken = w.block.arena.bytes;
                    const size_t told = decoder_workspace_bytes(&model.target, fast, &sizes[s], 2);
                    ck_assert_msg(told >= taken && told <= taken + taken / 10 + 200 * 1024,
                                  "%s, %s, %s: %zu told, %zu taken", names[n], backend, dtypes[d],
                                  told, taken);
                    decoder_workspace_close(&w);
                }
                pair_model_close(&model);
            }
}
END_TEST

SUITE("decoder", rows_of_a_decoder_do_not_depend_on_what_shares_the_batch,
      rows_of_a_decoder_do_not_depend_on_the_number_of_threads,
      hypotheses_share_slots_and_a_free_slot_is_used_again, the_bytes_of_a_cache_are_told,
      the_bound_of_a_decoder_workspace_is_near)
