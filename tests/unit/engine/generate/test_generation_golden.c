/* The search beside generate() of transformers 4.57: hundreds of random options over a model whose
 * logits are a hash of the last tokens (tests/reference/generation.py made the answers). */
#include "engine/base/doc.h"
#include "engine/base/rng.h"
#include "engine/generate/generation.h"
#include "engine/generate/top_k.h"
#include "engine/tensor/kernels.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VOCABULARY_MAX = 1500, SLOTS_MAX = 8 * 20, ALLOWED_MAX = 20, FILE_BYTES = 1 << 20 };

static const double margin_least = 1e-6; /* with less two scores may change places by rounding */

/* Item i of a list of whole numbers. */
static long long item(const struct json_t *list, size_t i)
{
    double number = NAN;
    ck_assert(doc_as_number(doc_array_item(list, i), &number) && number == floor(number));
    return (long long)number;
}

/* ---- the model ---- */

struct table {
    long long seed, vocabulary, bits, sharpness;
    const struct json_t *ends;
    double bias;
    bool by_step;
};

static void read_table(struct table *table, const struct json_t *object)
{
    struct err err = {0};
    doc_get_integer(object, "$", "seed", 0, UINT32_MAX, &table->seed, &err);
    doc_get_integer(object, "$", "vocabulary", 1, VOCABULARY_MAX, &table->vocabulary, &err);
    doc_get_integer(object, "$", "bits", 1, 24, &table->bits, &err);
    doc_get_integer(object, "$", "sharpness", -4, 4, &table->sharpness, &err);
    doc_get_number(object, "$", "bias", &table->bias, &err);
    doc_get_bool(object, "$", "by_step", &table->by_step, &err);
    table->ends = doc_member(object, "ends");
    ck_assert_msg(!err.code, "%s", err.text);
}

/* Logits behind `count` tokens: Table.logits of generation.py, exact in fp32. */
static void fill(float *logits, const struct table *table, const uint32_t *ids, unsigned count)
{
    uint32_t key = rng_hash((uint32_t)table->seed, ids[count - 1]);
    key = rng_hash(key, count > 1 ? ids[count - 2] : 0);
    key = rng_hash(key, table->by_step ? count : 0);
    for (uint32_t v = 0; v < table->vocabulary; v++) {
        const float hashed = (float)(rng_hash(key, v) >> (32 - table->bits));
        logits[v] = ldexpf(ldexpf(hashed, 3 - (int)table->bits) - 4, (int)table->sharpness);
    }
    for (size_t i = 0; i < doc_array_count(table->ends); i++)
        logits[item(table->ends, i)] += (float)table->bias;
}

static uint32_t token_of[SLOTS_MAX]; /* what each slot holds */

/* Runs a search to its end; a row's ids come from the slots that it names. */
static void run(struct generation *generation, const struct table *table)
{
    static float logits[GENERATION_BEAMS_MAX][VOCABULARY_MAX];
    uint32_t ids[SLOTS_MAX], ids_before[GENERATION_BEAMS_MAX][SLOTS_MAX];
    struct generation_rows rows;
    struct err err = {0};
    for (unsigned step = 0; generation_rows(generation, &rows) > 0; step++) {
        ck_assert_uint_eq(rows.position, step);
        uint32_t ids_now[GENERATION_BEAMS_MAX][SLOTS_MAX];
        for (unsigned r = 0; r < rows.count; r++) {
            const struct generation_row *row = &rows.row[r];
            ck_assert_uint_lt(row->slots[step], SLOTS_MAX);
            token_of[row->slots[step]] = row->token;
            for (unsigned i = 0; i <= step; i++)
                ids[i] = token_of[row->slots[i]];
            if (step > 0) /* the slots are those of the parent, and one more */
                ck_assert_mem_eq(ids, ids_before[row->parent], step * sizeof *ids);
            memcpy(ids_now[r], ids, (step + 1) * sizeof *ids);
            fill(logits[r], table, ids, step + 1);
        }
        memcpy(ids_before, ids_now, sizeof ids_before);
        ck_assert_msg(!generation_take(generation, logits[0], VOCABULARY_MAX, &err), "%s",
                      err.text);
    }
}

/* ---- cases ---- */

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 2e-6 * (1 + fabs(b));
}

/* True if the hypothesis is the answer that transformers gave. */
static bool is_same(const struct generation_hypothesis *ours, const struct json_t *answer)
{
    const struct json_t *ids = doc_member(answer, "ids");
    double score = NAN;
    struct err err = {0};
    bool is_equal = doc_array_count(ids) == ours->count;
    for (unsigned i = 0; i < ours->count && is_equal; i++)
        is_equal = item(ids, i) == (long long)ours->ids[i];
    ck_assert(!doc_get_number(answer, "$", "score", &score, &err));
    return is_equal && is_near((double)ours->score, score);
}

/* Each token's slot holds the one before it. */
static void expect_slots(const struct generation_hypothesis *ours, uint32_t start)
{
    for (unsigned i = 0; i < ours->count; i++)
        ck_assert_uint_eq(token_of[ours->slots[i]], i == 0 ? start : ours->ids[i - 1]);
}

static bool has_logs(const struct generation_hypothesis *ours, const struct json_t *logs)
{
    bool is_equal = doc_array_count(logs) == ours->count;
    for (unsigned i = 0; i < ours->count && is_equal; i++) {
        double log = NAN;
        ck_assert(doc_as_number(doc_array_item(logs, i), &log));
        is_equal = is_near((double)ours->probabilities[i], log);
    }
    return is_equal;
}

/* A check that lets the listed texts through, each token with a text of its own of two bytes; NULL:
 * the case has no list. */
static const struct output_check *check_of(const struct json_t *lists, struct arena *arena)
{
    static char bytes[2 * VOCABULARY_MAX];
    static uint32_t offset[VOCABULARY_MAX + 1];
    static const struct token_texts texts = {bytes, offset};
    static struct automaton automaton;
    static struct automaton_text words[ALLOWED_MAX];
    static const struct output_check check = {
        .texts = &texts, .automata = {&automaton}, .automaton_count = 1};
    const size_t count = doc_array_count(lists);
    struct err err = {0};
    if (lists == NULL)
        return NULL;
    ck_assert_uint_le(count, ALLOWED_MAX);
    for (uint32_t t = 0; t < VOCABULARY_MAX; t++) {
        offset[t + 1] = 2 * (t + 1);
        bytes[2 * t] = (char)('@' + t / 64);
        bytes[2 * t + 1] = (char)('@' + t % 64);
    }
    for (size_t w = 0; w < count; w++) {
        const struct json_t *ids = doc_array_item(lists, w);
        char *word = arena_alloc(arena, 2 * doc_array_count(ids));
        for (size_t i = 0; i < doc_array_count(ids); i++)
            memcpy(word + 2 * i, bytes + 2 * item(ids, i), 2);
        words[w] = (struct automaton_text){word, 2 * doc_array_count(ids)};
    }
    ck_assert_msg(!automaton_words(&automaton, "allowed", words, count, arena, &err), "%s",
                  err.text);
    return &check;
}

/* True if all hypotheses are those of transformers. */
static bool agrees(const struct json_t *object, const struct kernels *kernels)
{
    struct table table = {0};
    struct generation_config config;
    struct generation *generation;
    struct generation_hypothesis hypothesis;
    struct arena arena;
    struct err err = {0};
    read_table(&table, doc_member(object, "table"));
    const struct generation_model model = {.vocabulary = (unsigned)table.vocabulary};
    arena_init(&arena);
    if (generation_config_parse(&config, doc_member(object, "config"), &model, &arena, &err)) {
        arena_deinit(&arena); /* no text can be written, and transformers has none either */
        ck_assert_msg(strstr(err.text, ": no text") != NULL ||
                          strstr(err.text, "no text can end before") != NULL,
                      "%s", err.text);
        return doc_array_count(doc_member(object, "answers")) == 0;
    }
    const struct output_check *check = check_of(doc_member(object, "allowed"), &arena);
    const size_t before = arena.bytes;
    const struct generation_options options = {
        .config = &config, .check = check, .kernels = kernels, .vocabulary = model.vocabulary};
    ck_assert(!generation_begin(&generation, &options, &arena, &err));
    ck_assert_uint_eq(arena.bytes - before, generation_bytes(&config, model.vocabulary));
    ck_assert_uint_le(generation_slots(&config), SLOTS_MAX);
    run(generation, &table);
    const struct json_t *answers = doc_member(object, "answers");
    ck_assert(check != NULL || doc_array_count(answers) > 0); /* else it had been refused */
    bool is_equal = true;
    for (unsigned i = 0; generation_result(generation, i, &hypothesis); i++)
        expect_slots(&hypothesis, config.start);
    for (unsigned i = 0; i < doc_array_count(answers) && is_equal; i++)
        is_equal = generation_result(generation, i, &hypothesis) &&
                   is_same(&hypothesis, doc_array_item(answers, i)) &&
                   (i > 0 || has_logs(&hypothesis, doc_member(object, "logs")));
    is_equal =
        is_equal && !generation_result(generation, (unsigned)doc_array_count(answers), &hypothesis);
    arena_deinit(&arena);
    return is_equal;
}

static struct json_t *open_cases(void)
{
    struct json_t *file;
    struct err err = {0};
    ck_assert_msg(!doc_parse_file(&file, "tests/data/generate/cases.json", FILE_BYTES, &err), "%s",
                  err.text);
    return file;
}

/* Cases in which two scores are closer than margin_least are counted apart: PyTorch's sum of
 * exponentials is rounded otherwise than ours, and each instruction set's in its own way. */
static void expect_agreement(const struct json_t *cases, const struct kernels *kernels)
{
    unsigned sure = 0, close = 0, close_equal = 0, wrong = 0;
    for (size_t i = 0; i < doc_array_count(cases); i++) {
        const struct json_t *object = doc_array_item(cases, i);
        double margin = 0;
        struct err err = {0};
        ck_assert(!doc_get_number(object, "$", "margin", &margin, &err));
        const bool is_equal = agrees(object, kernels), is_close = margin < margin_least;
        sure += !is_close;
        close += is_close;
        close_equal += is_close && is_equal;
        wrong += !is_close && !is_equal;
        if (!is_close && !is_equal)
            fprintf(stderr, "%s: case %zu differs, margin %g\n", kernels->name, i, margin);
    }
    ck_assert_msg(wrong == 0, "%s: %u cases differ", kernels->name, wrong);
    ck_assert_uint_ge(sure, 400);
    ck_assert_msg(close_equal * 10 >= close * 9, "%s: %u of %u close cases are equal",
                  kernels->name, close_equal, close);
}

START_TEST(generation_answers_as_transformers)
{
    static const struct kernels *const variants[] = {&kernels_avx512, &kernels_avx2,
                                                     &kernels_generic, &kernels_reference};
    struct json_t *file = open_cases();
    for (int v = 0; v < 4; v++)
        if (kernels_runnable(variants[v]))
            expect_agreement(doc_member(file, "cases"), variants[v]);
    doc_free(file);
}
END_TEST

/* ---- ties ---- */

/* The numbers of a case: its own or, of many, a hash of their places. */
static float number(const struct json_t *object, long long seed, long long levels, unsigned i)
{
    double listed = 0;
    const struct json_t *numbers = doc_member(object, "numbers");
    if (numbers == NULL)
        return (float)(rng_hash((uint32_t)seed, i) % (uint32_t)levels);
    ck_assert(doc_as_number(doc_array_item(numbers, i), &listed));
    return (float)listed;
}

START_TEST(top_k_gives_equal_numbers_in_the_order_of_torch)
{
    static struct top_k_item items[8192];
    struct json_t *file = open_cases();
    const struct json_t *cases = doc_member(file, "top_k");
    ck_assert_uint_ge(doc_array_count(cases), 40);
    for (size_t c = 0; c < doc_array_count(cases); c++) {
        const struct json_t *object = doc_array_item(cases, c);
        long long n = 0, k = 0, seed = 0, levels = 0;
        struct err err = {0};
        struct top_k top;
        doc_get_integer(object, "$", "n", 1, 8192, &n, &err);
        doc_get_integer(object, "$", "k", 1, n, &k, &err);
        doc_get_integer(object, "$", "seed", 0, UINT32_MAX, &seed, &err);
        ck_assert(!doc_get_integer(object, "$", "levels", 1, 8192, &levels, &err));
        ck_assert_uint_le(top_k_room((size_t)k, (size_t)n), 8192);
        top_k_begin(&top, items, (size_t)k, (size_t)n);
        for (unsigned i = 0; i < n; i++) {
            const float value = number(object, seed, levels, i);
            if (top_k_takes_all(&top) || value > top_k_bound(&top))
                top_k_add(&top, value, i);
        }
        top_k_end(&top);
        for (unsigned i = 0; i < k; i++) {
            const long long expected = item(doc_member(object, "top"), i);
            ck_assert_msg(items[i].index == expected, "%lld of %lld: place %u is %u", k, n, i,
                          items[i].index);
        }
    }
    doc_free(file);
}
END_TEST

SUITE("generation_golden", generation_answers_as_transformers,
      top_k_gives_equal_numbers_in_the_order_of_torch)
