/* Words for masked tokens, and sparse vectors, against transformers' pipeline and
 * sentence-transformers' SparseEncoder. ATTND_GOLDEN names a directory with more checkpoints. */
#include "engine/base/doc.h"
#include "engine/engine.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCH_TOKENS = 4096, CASES_MAX = 32, FILE_MAX = 64 << 20 };

struct fixture {
    struct engine_model *model;
    struct engine_session *session;
    const struct engine_info *info;
    struct json_t *cases;
    size_t count;
    struct arena arena;
    struct err err;
};

static void setup(struct fixture *f, const char *name)
{
    const char *golden = getenv("ATTND_GOLDEN");
    char dir[480], path[512];
    *f = (struct fixture){0};
    arena_init(&f->arena);
    snprintf(dir, sizeof dir, "%s/%s", golden != NULL ? golden : "", name);
    if (golden == NULL || access(dir, R_OK) != 0)
        snprintf(dir, sizeof dir, "tests/data/vocabulary/%s", name);
    engine_open(&f->model, dir, &(struct engine_options){0}, &f->err);
    ck_assert_msg(f->err.code == ERR_OK, "%s", f->err.text);
    ck_assert(!engine_session_open(&f->session, f->model, BATCH_TOKENS, 2, &f->err));
    f->info = engine_describe(f->model);
    snprintf(path, sizeof path, "%s/cases.json", dir);
    ck_assert_msg(!doc_parse_file(&f->cases, path, FILE_MAX, &f->err), "%s", f->err.text);
    f->count = doc_array_count(doc_member(f->cases, "cases"));
    ck_assert(f->count > 0 && f->count <= CASES_MAX);
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

static double number_at(const struct json_t *array, size_t i)
{
    double number = NAN;
    ck_assert(doc_as_number(doc_array_item(array, i), &number));
    return number;
}

/* All cases as one batch. */
static void run(struct fixture *f, struct engine_result results[CASES_MAX])
{
    static struct engine_input inputs[CASES_MAX];
    const struct engine_input *rows[CASES_MAX];
    struct engine_result *answers[CASES_MAX];
    for (size_t i = 0; i < f->count; i++) {
        size_t len;
        const char *text = doc_text(doc_member(case_at(f, i), "text"), &len);
        const struct engine_source *source = text_source_len(text, len);
        const struct json_t *ids = doc_member(case_at(f, i), "ids");
        const struct engine_need need = engine_need(f->model, source);
        const size_t before = f->arena.bytes;
        ck_assert_msg(!engine_prepare(f->model, source, NULL, &f->arena, &inputs[i], &f->err),
                      "%s: %s", text, f->err.text);
        ck_assert_uint_eq(inputs[i].tokens, doc_array_count(ids));
        for (unsigned t = 0; t < inputs[i].tokens; t++)
            ck_assert_int_eq(inputs[i].ids[t], (int32_t)number_at(ids, t));
        ck_assert(!engine_result_init(&results[i], f->model, &f->arena, &f->err));
        ck_assert(!engine_result_rows(&results[i], f->model, &inputs[i], &f->arena, &f->err));
        ck_assert_uint_ge(need.kept + need.answer + 4096, f->arena.bytes - before);
        rows[i] = &inputs[i];
        answers[i] = &results[i];
    }
    engine_run(f->session, rows, (unsigned)f->count, answers);
}

static void expect_filled(struct fixture *f, const struct json_t *one,
                          const struct engine_result *result)
{
    const struct json_t *top = doc_member(one, "top"), *logits = doc_member(one, "logits");
    ck_assert(result->is_finite && result->task == ENGINE_FILL);
    ck_assert_uint_eq(result->row_count, doc_array_count(doc_member(one, "masks")));
    for (unsigned v = 0; v < f->info->vocab_size; v++)
        ck_assert_double_eq_tol((double)result->rows[v], number_at(doc_array_item(logits, 0), v),
                                1e-4);
    for (unsigned m = 0; m < result->row_count; m++) {
        const float *row = result->rows + (size_t)m * f->info->row_size;
        double sum = 0;
        for (unsigned v = 0; v < f->info->vocab_size; v++)
            sum += exp((double)row[v]);
        for (size_t k = 0; k < doc_array_count(doc_array_item(top, m)); k++) {
            const struct json_t *best = doc_array_item(doc_array_item(top, m), k);
            double token, score;
            ck_assert(doc_as_number(doc_member(best, "token"), &token));
            ck_assert(doc_as_number(doc_member(best, "score"), &score));
            ck_assert_double_eq_tol(exp((double)row[(unsigned)token]) / sum, score, 1e-5);
            ck_assert_str_eq(f->info->token_texts[(unsigned)token],
                             doc_as_string(doc_member(best, "token_str")));
        }
    }
}

START_TEST(masked_tokens_are_filled_as_transformers_does)
{
    static const char *const names[] = {"mlm-bert-0", "mlm-roberta-0", "mlm-xlmr-0"};
    static const char *const masks[] = {"[MASK]", "<mask>", "<mask>"};
    static struct engine_result results[CASES_MAX];
    for (int n = 0; n < 3; n++) {
        struct fixture f;
        setup(&f, names[n]);
        ck_assert_str_eq(f.info->mask_token, masks[n]);
        run(&f, results);
        for (size_t i = 0; i < f.count; i++)
            expect_filled(&f, case_at(&f, i), &results[i]);
        drop(&f);
    }
}
END_TEST

START_TEST(sparse_vectors_are_those_of_sentence_transformers)
{
    static struct engine_result results[CASES_MAX];
    struct fixture f;
    setup(&f, "splade-bert-0");
    run(&f, results);
    for (size_t i = 0; i < f.count; i++) {
        const struct json_t *indices = doc_member(case_at(&f, i), "indices");
        const struct json_t *values = doc_member(case_at(&f, i), "values");
        size_t found = 0;
        ck_assert(results[i].is_finite && results[i].task == ENGINE_SPARSE);
        for (unsigned v = 0; v < f.info->vocab_size; v++) {
            const double value = (double)results[i].rows[v];
            if (!(value > 0))
                continue;
            ck_assert_uint_eq(v, (unsigned)number_at(indices, found));
            ck_assert_double_eq_tol(value, number_at(values, found), 1e-5);
            found++;
        }
        ck_assert_uint_eq(found, doc_array_count(indices));
    }
    drop(&f);
}
END_TEST

static void expect_refused(struct fixture *f, const struct engine_source *source, const char *text)
{
    struct engine_input input;
    f->err = (struct err){0};
    ck_assert_int_eq(engine_prepare(f->model, source, NULL, &f->arena, &input, &f->err),
                     ERR_UNUSABLE);
    ck_assert_msg(strstr(f->err.text, text) != NULL, "%s", f->err.text);
}

START_TEST(what_cannot_be_filled_is_refused_by_name)
{
    char many[17 * 7 + 1] = "";
    struct fixture f;
    setup(&f, "mlm-bert-0");
    for (int i = 0; i < 17; i++)
        strcat(many, "[MASK] ");
    expect_refused(&f, text_source("no hole"), "the text has no masked token");
    expect_refused(&f, text_source(many), "the text has more than 16 masked tokens");
    expect_refused(&f, text_source_with("[MASK]", .pair = "b", .pair_len = 1), "not a pair");
    expect_refused(&f, text_source_with("[MASK]", .reading.long_text = LONG_TEXT_WINDOWS),
                   "long_text");
    expect_refused(&f, text_source_with("[MASK]", .prompt_name = "query"), "prompt_name");
    drop(&f);
}
END_TEST

START_TEST(vocabulary_explanations_are_refused_with_what_the_model_answers)
{
    static const char *const cases[][3] = {
        {"mlm-bert-0", "a [MASK]",
         "explain: the model answers words for masked tokens, which no method explains"},
        {"splade-bert-0", "a",
         "explain: the model answers a sparse vector, which no method explains"}};
    for (size_t i = 0; i < 2; i++) {
        struct fixture f;
        struct engine_input input;
        setup(&f, cases[i][0]);
        ck_assert_int_eq(
            engine_prepare(f.model, text_source(cases[i][1]), NULL, &f.arena, &input, &f.err),
            ERR_OK);
        ck_assert_int_eq(
            engine_capture(f.model, &input, &(struct explain_options){0}, &f.arena, &f.err),
            ERR_UNUSABLE);
        ck_assert_str_eq(f.err.text, cases[i][2]);
        drop(&f);
    }
}
END_TEST

SUITE("vocabulary", masked_tokens_are_filled_as_transformers_does,
      sparse_vectors_are_those_of_sentence_transformers, what_cannot_be_filled_is_refused_by_name,
      vocabulary_explanations_are_refused_with_what_the_model_answers)
