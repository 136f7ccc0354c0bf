/* Vectors of texts against those of sentence-transformers: prompts, poolings, Dense, Normalize.
 * ATTND_GOLDEN names a directory with more checkpoints. */
#include "engine/base/doc.h"
#include "engine/engine.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES_MAX = 64, BATCH_TOKENS = 8192 };

struct fixture {
    struct engine_model *model;
    struct engine_session *session;
    const struct engine_info *info;
    struct json_t *cases;
    struct arena arena;
    struct err err;
};

static const char *golden_dir(void)
{
    const char *dir = getenv("ATTND_GOLDEN");
    return dir != NULL ? dir : "tests/data/embedding";
}

static void setup_as(struct fixture *f, const char *name, const struct engine_options *options)
{
    char path[512];
    *f = (struct fixture){0};
    arena_init(&f->arena);
    snprintf(path, sizeof path, "%s/%s", golden_dir(), name);
    engine_open(&f->model, path, options, &f->err);
    ck_assert_msg(f->err.code == ERR_OK, "%s", f->err.text);
    engine_session_open(&f->session, f->model, BATCH_TOKENS, 2, &f->err);
    f->info = engine_describe(f->model);
    snprintf(path, sizeof path, "%s/%s/cases.json", golden_dir(), name);
    ck_assert_msg(!doc_parse_file(&f->cases, path, 64 << 20, &f->err), "%s", f->err.text);
}

static void setup(struct fixture *f, const char *name)
{
    setup_as(f, name, &(struct engine_options){0});
}

static void drop(struct fixture *f)
{
    doc_free(f->cases);
    engine_session_close(f->session);
    engine_close(f->model);
    arena_deinit(&f->arena);
}

static const struct json_t *case_at(const struct fixture *f, size_t i)
{
    return doc_array_item(doc_member(f->cases, "cases"), i);
}

static void prepare(struct fixture *f, const struct json_t *one, struct engine_input *out)
{
    size_t len;
    const char *text = doc_text(doc_member(one, "text"), &len);
    const struct engine_source source = {.kind = ENGINE_TEXT,
                                         .bytes = text,
                                         .len = len,
                                         .prompt_name =
                                             doc_as_string(doc_member(one, "prompt_name"))};
    const struct json_t *ids = doc_member(one, "ids");
    ck_assert_msg(!engine_prepare(f->model, &source, NULL, &f->arena, out, &f->err), "%s: %s", text,
                  f->err.text);
    ck_assert_uint_eq(out->tokens, doc_array_count(ids));
    for (unsigned t = 0; t < out->tokens; t++) {
        double id;
        ck_assert(doc_as_number(doc_array_item(ids, t), &id));
        ck_assert_int_eq(out->ids[t], (int32_t)id);
    }
}

static void expect_vector(const struct fixture *f, const struct json_t *one, const float *vector)
{
    const struct json_t *numbers = doc_member(one, "embedding");
    double largest = 1e-3, number;
    ck_assert_uint_eq(doc_array_count(numbers), f->info->vector_size);
    for (unsigned i = 0; i < f->info->vector_size; i++)
        if (doc_as_number(doc_array_item(numbers, i), &number))
            largest = fmax(largest, fabs(number));
    for (unsigned i = 0; i < f->info->vector_size; i++) {
        ck_assert(doc_as_number(doc_array_item(numbers, i), &number));
        ck_assert_double_eq_tol((double)vector[i], number, 1e-5 * largest);
    }
}

/* Each alone, and all as one batch. */
static void expect_all(const char *name)
{
    static struct engine_input inputs[CASES_MAX];
    static struct engine_result results[CASES_MAX];
    const struct engine_input *rows[CASES_MAX];
    struct engine_result *answers[CASES_MAX];
    struct fixture f;
    setup(&f, name);
    const size_t count = doc_array_count(doc_member(f.cases, "cases"));
    ck_assert(count > 0 && count <= CASES_MAX && f.info->task == ENGINE_EMBED);
    for (size_t i = 0; i < count; i++) {
        prepare(&f, case_at(&f, i), &inputs[i]);
        ck_assert(!engine_result_init(&results[i], f.model, &f.arena, &f.err));
        rows[i] = &inputs[i];
        answers[i] = &results[i];
        engine_run(f.session, &rows[i], 1, &answers[i]);
        ck_assert(results[i].is_finite && results[i].task == ENGINE_EMBED);
        expect_vector(&f, case_at(&f, i), results[i].vector);
    }
    engine_run(f.session, rows, (unsigned)count, answers);
    for (size_t i = 0; i < count; i++)
        expect_vector(&f, case_at(&f, i), results[i].vector);
    drop(&f);
}

START_TEST(embeddings_are_those_of_sentence_transformers)
{
    static const char *const names[] = {"st-bert-0", "st-cls-0", "st-weighted-0", "st-max-0",
                                        "st-modernbert-0"};
    const int count = getenv("ATTND_GOLDEN") != NULL ? 5 : 3;
    for (int i = 0; i < count; i++)
        expect_all(names[i]);
}
END_TEST

/* Returns 1 - cosine of a vector and the reference's. */
static double distance(const struct fixture *f, const struct json_t *one, const float *vector)
{
    double both = 0, own = 0, other = 0, number;
    for (unsigned i = 0; i < f->info->vector_size; i++) {
        ck_assert(doc_as_number(doc_array_item(doc_member(one, "embedding"), i), &number));
        both += number * (double)vector[i];
        own += (double)vector[i] * (double)vector[i];
        other += number * number;
    }
    return 1 - both / sqrt(own * other);
}

/* Both norms, before and after the block, and a gated MLP. The plain loops compute the same on
 * every machine: 5.2e-5, 1.6e-4, 1.6e-4; in bytes alone 1.3e-4, 2.9e-4, 3.8e-4. */
START_TEST(vectors_in_int8_are_near_those_of_sentence_transformers)
{
    static const struct {
        const char *name;
        double most;
    } models[] = {{"st-bert-0", 9e-5}, {"st-cls-0", 2.2e-4}, {"st-modernbert-0", 2.5e-4}};
    const size_t count = getenv("ATTND_GOLDEN") != NULL ? 3 : 2;
    for (size_t m = 0; m < count; m++) {
        struct fixture f;
        double sum = 0;
        setup_as(&f, models[m].name,
                 &(struct engine_options){.dtype = "int8", .linear_backend = "reference"});
        const size_t cases = doc_array_count(doc_member(f.cases, "cases"));
        for (size_t i = 0; i < cases; i++) {
            struct engine_input input;
            struct engine_result result;
            const struct engine_input *row = &input;
            struct engine_result *answer = &result;
            prepare(&f, case_at(&f, i), &input);
            ck_assert(!engine_result_init(&result, f.model, &f.arena, &f.err));
            engine_run(f.session, &row, 1, &answer);
            sum += distance(&f, case_at(&f, i), result.vector);
        }
        printf("%s: 1 - cosine in int8 %.2g\n", models[m].name, sum / (double)cases);
        ck_assert_double_lt(sum / (double)cases, models[m].most);
        drop(&f);
    }
}
END_TEST

static void expect_refused(struct fixture *f, const struct engine_source *source, const char *text)
{
    struct engine_input input;
    f->err = (struct err){0};
    ck_assert_int_eq(engine_prepare(f->model, source, NULL, &f->arena, &input, &f->err),
                     ERR_UNUSABLE);
    ck_assert_str_eq(f->err.text, text);
}

START_TEST(an_embedding_model_refuses_what_it_cannot_obey)
{
    struct fixture f;
    struct engine_input input;
    setup(&f, "st-bert-0");
    expect_refused(
        &f, text_source_with("a", .prompt_name = "no"),
        "prompt_name: the model has no prompt 'no'. Available prompts: [query, document]");
    expect_refused(&f, text_source_with("a", .pair = "b", .pair_len = 1),
                   "the model reads one text, not a pair");
    expect_refused(&f, text_source_with("a", .reading.long_text = LONG_TEXT_WINDOWS),
                   "long_text: a text has one vector, without windows: send its parts");
    expect_refused(
        &f, text_source_with("\xFF"),
        "invalid UTF-8 at byte 0 of the text (iconv -f windows-1252 -t UTF-8 converts a file)");
    f.err = (struct err){0};
    ck_assert(!engine_prepare(f.model, text_source_with("a"), NULL, &f.arena, &input, &f.err));
    ck_assert_int_eq(
        engine_capture(f.model, &input, &(struct explain_options){0}, &f.arena, &f.err),
        ERR_UNUSABLE);
    drop(&f);
}
END_TEST

START_TEST(other_models_have_no_prompts)
{
    struct fixture f = {0};
    arena_init(&f.arena);
    ck_assert(
        !engine_open(&f.model, "tests/data/golden/bert-5", &(struct engine_options){0}, &f.err));
    ck_assert_int_eq(engine_describe(f.model)->task, ENGINE_CLASSIFY);
    expect_refused(&f, text_source_with("a", .prompt_name = "query"),
                   "prompt_name: the model has no prompts");
    engine_close(f.model);
    arena_deinit(&f.arena);
}
END_TEST

START_TEST(the_need_of_a_text_with_a_prompt_is_an_upper_bound)
{
    static const char *const texts[] = {"a", "  Die 7 / leakage 12.5 uA\n",
                                        "\xE6\x99\xB6\xE5\x9C\x86"};
    static const char *const prompts[] = {"query", "document", NULL};
    const char *names[] = {"st-bert-0", "st-weighted-0"};
    for (int n = 0; n < 2; n++) {
        struct fixture f;
        setup(&f, names[n]);
        for (size_t i = 0; i < 27; i++) {
            struct engine_input input;
            struct engine_result result = {0};
            struct arena arena;
            arena_init(&arena);
            const struct engine_source *source =
                text_source_with(texts[i / 3 % 3], .prompt_name = prompts[i % 3],
                                 .reading.vectors = (enum engine_vectors)(i / 9));
            const struct engine_need need = engine_need(f.model, source);
            ck_assert_msg(!engine_prepare(f.model, source, NULL, &arena, &input, &f.err), "%s",
                          f.err.text);
            ck_assert_uint_ge(need.kept + need.passing, arena.bytes);
            ck_assert_int_eq(input.part_count > 0, i / 9 != VECTORS_ONE);
            ck_assert_uint_ge(need.parts, input.part_count);
            ck_assert(!engine_result_rows(&result, f.model, &input, &arena, &f.err));
            ck_assert_uint_ge(need.kept + need.passing + need.answer, arena.bytes);
            arena_deinit(&arena);
        }
        drop(&f);
    }
}
END_TEST

SUITE("embedding", embeddings_are_those_of_sentence_transformers,
      vectors_in_int8_are_near_those_of_sentence_transformers,
      an_embedding_model_refuses_what_it_cannot_obey, other_models_have_no_prompts,
      the_need_of_a_text_with_a_prompt_is_an_upper_bound)
