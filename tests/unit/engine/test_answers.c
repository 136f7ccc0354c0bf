/* Answers to questions against those of transformers: ids, windows, logits, answers; alone, in one
 * batch and in steps. ATTND_GOLDEN names a directory with more checkpoints. */
#include "engine/base/doc.h"
#include "engine/decide/extraction.h"
#include "engine/engine.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES_MAX = 32, BATCH_TOKENS = 4096 };

struct fixture {
    struct engine_model *model;
    struct engine_session *session;
    struct json_t *cases;
    struct arena arena;
    struct err err;
};

static void setup(struct fixture *f, const char *name)
{
    const char *golden = getenv("ATTND_GOLDEN");
    char path[512];
    *f = (struct fixture){0};
    arena_init(&f->arena);
    snprintf(path, sizeof path, "%s/%s", golden != NULL ? golden : "tests/data/answers", name);
    engine_open(&f->model, path, &(struct engine_options){0}, &f->err);
    ck_assert_msg(f->err.code == ERR_OK, "%s", f->err.text);
    engine_session_open(&f->session, f->model, BATCH_TOKENS, 2, &f->err);
    strncat(path, "/cases.json", sizeof path - strlen(path) - 1);
    ck_assert_msg(!doc_parse_file(&f->cases, path, 64 << 20, &f->err), "%s", f->err.text);
    ck_assert_int_eq(engine_describe(f->model)->task, ENGINE_ANSWER);
    ck_assert_uint_eq(engine_describe(f->model)->row_size, 2);
}

static void drop(struct fixture *f)
{
    doc_free(f->cases);
    engine_session_close(f->session);
    engine_close(f->model);
    arena_deinit(&f->arena);
}

static double number_in(const struct json_t *object, const char *key)
{
    double number = NAN;
    doc_as_number(doc_member(object, key), &number);
    return number;
}

static double number_at(const struct json_t *array, size_t i)
{
    double number = NAN;
    doc_as_number(doc_array_item(array, i), &number);
    return number;
}

static bool flag_in(const struct json_t *object, const char *key)
{
    struct err err = {0};
    bool value = false;
    doc_get_bool(object, "$", key, &value, &err);
    return value;
}

static struct engine_source source_of(const struct json_t *one)
{
    const struct json_t *how = doc_member(one, "parameters");
    const char *text = doc_as_string(doc_member(one, "context"));
    const char *question = doc_as_string(doc_member(one, "question"));
    return *text_source_with(text,
                             .question = {.text = question,
                                          .len = strlen(question),
                                          .top = (unsigned)number_in(how, "top_k"),
                                          .length_max = (unsigned)number_in(how, "max_answer_len"),
                                          .tokens_max = (unsigned)number_in(how, "max_seq_len"),
                                          .overlap = 1 + (unsigned)number_in(how, "doc_stride"),
                                          .may_be_empty = flag_in(how, "handle_impossible_answer"),
                                          .keeps_tokens = !flag_in(how, "align_to_words")});
}

static struct engine_input prepare(struct fixture *f, const struct engine_source *source,
                                   struct engine_result *result)
{
    struct engine_input input;
    ck_assert_msg(!engine_prepare(f->model, source, NULL, &f->arena, &input, &f->err), "%s",
                  f->err.text);
    ck_assert(!engine_result_init(result, f->model, &f->arena, &f->err));
    ck_assert(!engine_result_rows(result, f->model, &input, &f->arena, &f->err));
    return input;
}

static void expect_window(const struct json_t *window, const struct engine_input *input,
                          const float *rows, unsigned at)
{
    const struct json_t *ids = doc_member(window, "ids"), *offsets = doc_member(window, "offsets");
    for (unsigned t = 0; t < doc_array_count(ids); t++) {
        const struct json_t *offset = doc_array_item(offsets, t);
        ck_assert_int_eq(input->ids[at + t], (int)number_at(ids, t));
        ck_assert_double_eq((double)input->starts[at + t], number_at(offset, 0));
        ck_assert_double_eq((double)input->ends[at + t], number_at(offset, 1));
        ck_assert_double_eq_tol((double)rows[2 * (at + t)],
                                number_at(doc_member(window, "start_logits"), t), 1e-4);
        ck_assert_double_eq_tol((double)rows[2 * (at + t) + 1],
                                number_at(doc_member(window, "end_logits"), t), 1e-4);
    }
}

/* An answer of no probability is any of many. */
static void expect_case(const struct json_t *one, const struct engine_input *input,
                        const struct engine_result *result)
{
    const struct json_t *windows = doc_member(one, "windows"),
                        *answers = doc_member(one, "answers");
    ck_assert(result->is_done && result->is_finite && result->task == ENGINE_ANSWER);
    ck_assert_uint_eq(engine_input_windows(input), doc_array_count(windows));
    for (unsigned w = 0; w < doc_array_count(windows); w++)
        expect_window(doc_array_item(windows, w), input, result->rows,
                      input->windows > 0 ? input->window_offset[w] : 0);
    ck_assert_uint_ge(result->answer_count, doc_array_count(answers));
    for (unsigned i = 0; i < doc_array_count(answers); i++) {
        const struct json_t *answer = doc_array_item(answers, i);
        const struct extract *found = &result->extraction->found[i];
        ck_assert_double_eq_tol((double)found->score, number_in(answer, "score"), 1e-5);
        if (found->score == 0)
            continue;
        ck_assert_double_eq((double)found->start, number_in(answer, "start"));
        ck_assert_double_eq((double)found->end, number_in(answer, "end"));
    }
}

static void expect_all(const char *name)
{
    static struct engine_input inputs[CASES_MAX];
    static struct engine_result results[CASES_MAX];
    const struct engine_input *rows[CASES_MAX];
    struct engine_result *answers[CASES_MAX];
    struct fixture f;
    setup(&f, name);
    const struct json_t *cases = doc_member(f.cases, "cases");
    const unsigned count = (unsigned)doc_array_count(cases);
    ck_assert(count > 4 && count <= CASES_MAX);
    for (unsigned i = 0; i < count; i++) {
        const struct engine_source source = source_of(doc_array_item(cases, i));
        struct engine_result alone;
        rows[i] = &inputs[i];
        answers[i] = &results[i];
        inputs[i] = prepare(&f, &source, &alone);
        engine_run(f.session, &rows[i], 1, &(struct engine_result *){&alone});
        expect_case(doc_array_item(cases, i), rows[i], &alone);
        engine_run(f.session, &rows[i], 1, &(struct engine_result *){&alone}); /* and once more */
        expect_case(doc_array_item(cases, i), rows[i], &alone);
        struct engine_result stepped;
        prepare(&f, &source, &stepped);
        for (stepped.step = 2; !stepped.is_done;)
            engine_step(f.session, &rows[i], 1, &(struct engine_result *){&stepped});
        expect_case(doc_array_item(cases, i), rows[i], &stepped);
        prepare(&f, &source, &results[i]);
    }
    engine_run(f.session, rows, count, answers);
    for (unsigned i = 0; i < count; i++)
        expect_case(doc_array_item(cases, i), rows[i], answers[i]);
    drop(&f);
}

START_TEST(answers_are_those_of_transformers)
{
    expect_all("qa-bert-0");
    if (getenv("ATTND_GOLDEN") != NULL)
        expect_all("qa-roberta-0");
}
END_TEST

START_TEST(what_questions_need_is_claimed_before_the_work)
{
    struct fixture f;
    setup(&f, "qa-bert-0");
    const struct json_t *cases = doc_member(f.cases, "cases");
    for (unsigned i = 0; i < 3 * doc_array_count(cases); i++) {
        struct engine_source source = source_of(doc_array_item(cases, i / 3));
        struct engine_input input;
        struct engine_result result;
        struct arena arena;
        if (i % 3 > 0) /* the defaults */
            source.question = (struct engine_question){
                .text = source.question.text, .len = source.question.len, .top = i % 3 * 50};
        const struct engine_need need = engine_need(f.model, &source);
        arena_init(&arena);
        ck_assert_msg(!engine_prepare(f.model, &source, NULL, &arena, &input, &f.err), "%s",
                      f.err.text);
        ck_assert_uint_ge(need.kept, arena.bytes);
        const size_t before = arena.bytes;
        ck_assert(!engine_result_init(&result, f.model, &arena, &f.err));
        ck_assert(!engine_result_rows(&result, f.model, &input, &arena, &f.err));
        ck_assert_uint_ge(need.answer, arena.bytes - before);
        ck_assert(need.windows > 0 || input.windows == 0);
        engine_run(f.session, (const struct engine_input *[]){&input}, 1,
                   (struct engine_result *[]){&result});
        ck_assert_uint_le(result.answer_count, need.spans);
        arena_deinit(&arena);
    }
    drop(&f);
}
END_TEST

#define QUESTION(words, ...) .question = {.text = (words), .len = strlen(words), __VA_ARGS__}

static void expect_refused(struct fixture *f, const struct engine_source *source, const char *text)
{
    struct engine_input input;
    f->err = (struct err){0};
    ck_assert_int_eq(engine_prepare(f->model, source, NULL, &f->arena, &input, &f->err),
                     ERR_UNUSABLE);
    ck_assert_str_eq(f->err.text, text);
}

START_TEST(a_model_of_answers_refuses_what_it_cannot_obey)
{
    char words[400] = "";
    struct fixture f;
    setup(&f, "qa-bert-0");
    for (int i = 0; i < 60; i++)
        strcat(words, "scan ");
    expect_refused(&f, text_source("a"),
                   "question: it is missing: the model answers a question from a text");
    expect_refused(
        &f, text_source_with("a", QUESTION(" \n", .top = 1)),
        "the question has no token: it is empty, blank or holds only control characters");
    expect_refused(&f, text_source_with(" ", QUESTION("a", .top = 1)),
                   "the text has no token: it is empty, blank or holds only control characters");
    expect_refused(
        &f, text_source_with("a", QUESTION(words, .top = 1)),
        "the question has 60 tokens; in windows of 96 tokens it may have at most half of "
        "them");
    expect_refused(&f, text_source_with("a", QUESTION("a", .tokens_max = 97)),
                   "max_seq_len is 97; the model reads at most 96 tokens");
    expect_refused(&f, text_source_with(words, QUESTION("a", .tokens_max = 24, .overlap = 18)),
                   "doc_stride is 17; beside this question windows have room for 20 tokens of the "
                   "text and may share at most 15");
    expect_refused(&f, text_source_with("a", QUESTION("a", .top = 101)),
                   "top_k: for answers it must be from 1 to 100");
    expect_refused(&f, text_source_with("a", QUESTION("a", .top = 1), .pair = "b", .pair_len = 1),
                   "the model reads one text, not a pair");
    expect_refused(
        &f, text_source_with("a", QUESTION("a", .top = 1), .reading.long_text = LONG_TEXT_TRUNCATE),
        "long_text: a question is always asked of all the text");
    expect_refused(
        &f, text_source_with("a", QUESTION("\xFF", .top = 1)),
        "invalid UTF-8 at byte 0 of the question (iconv -f windows-1252 -t UTF-8 converts a file)");
    drop(&f);
}
END_TEST

START_TEST(other_models_answer_no_questions)
{
    struct fixture f = {0};
    arena_init(&f.arena);
    ck_assert(
        !engine_open(&f.model, "tests/data/golden/bert-5", &(struct engine_options){0}, &f.err));
    expect_refused(&f, text_source_with("a", QUESTION("b", .top = 1)),
                   "question and its options: the model does not answer questions (its task is "
                   "another)");
    expect_refused(&f, text_source_with("a", .question.overlap = 1),
                   "question and its options: the model does not answer questions (its task is "
                   "another)");
    engine_close(f.model);
    arena_deinit(&f.arena);
}
END_TEST

SUITE("answers", answers_are_those_of_transformers, what_questions_need_is_claimed_before_the_work,
      a_model_of_answers_refuses_what_it_cannot_obey, other_models_answer_no_questions)
