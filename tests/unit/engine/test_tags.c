/* Logits of tokens and spans against those of transformers, alone, as one batch, in windows and in
 * steps. ATTND_GOLDEN names a directory with more checkpoints. */
#include "engine/base/doc.h"
#include "engine/base/utf8.h"
#include "engine/engine.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES_MAX = 64, BATCH_TOKENS = 2048 };

struct fixture {
    struct engine_model *model;
    struct engine_session *session;
    const struct engine_info *info;
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
    snprintf(path, sizeof path, "%s/%s", golden != NULL ? golden : "tests/data/tags", name);
    engine_open(&f->model, path, &(struct engine_options){0}, &f->err);
    ck_assert_msg(f->err.code == ERR_OK, "%s", f->err.text);
    engine_session_open(&f->session, f->model, BATCH_TOKENS, 2, &f->err);
    f->info = engine_describe(f->model);
    strncat(path, "/cases.json", sizeof path - strlen(path) - 1);
    ck_assert_msg(!doc_parse_file(&f->cases, path, 64 << 20, &f->err), "%s", f->err.text);
}

static void drop(struct fixture *f)
{
    doc_free(f->cases);
    engine_session_close(f->session);
    engine_close(f->model);
    arena_deinit(&f->arena);
}

static double number_of(const struct json_t *value)
{
    double number = NAN;
    doc_as_number(value, &number);
    return number;
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

static void run(struct fixture *f, const struct engine_input *input, struct engine_result *result)
{
    engine_run(f->session, (const struct engine_input *[]){input}, 1,
               (struct engine_result *[]){result});
    ck_assert(result->is_finite && result->is_done && result->task == ENGINE_TAG);
}

static void expect_rows(const struct fixture *f, const struct json_t *one,
                        const struct engine_input *input, const struct engine_result *result)
{
    const struct json_t *ids = doc_member(one, "ids"), *rows = doc_member(one, "logits");
    ck_assert_uint_eq(input->tokens, doc_array_count(ids));
    ck_assert_uint_eq(engine_rows(f->model, input), input->tokens);
    for (unsigned t = 0; t < input->tokens; t++) {
        ck_assert_int_eq(input->ids[t], (int)number_of(doc_array_item(ids, t)));
        for (unsigned i = 0; i < f->info->row_size; i++)
            ck_assert_double_eq_tol((double)result->rows[t * f->info->row_size + i],
                                    number_of(doc_array_item(doc_array_item(rows, t), i)), 1e-4);
    }
}

static void expect_spans(const struct json_t *spans, const struct engine_result *result)
{
    ck_assert_uint_eq(result->span_count, doc_array_count(spans));
    for (unsigned i = 0; i < result->span_count; i++) {
        const struct json_t *span = doc_array_item(spans, i), *label = doc_member(span, "entity");
        if (label == NULL)
            label = doc_member(span, "entity_group");
        ck_assert_str_eq(result->spans[i].name, doc_as_string(label));
        ck_assert_double_eq((double)result->spans[i].start, number_of(doc_member(span, "start")));
        ck_assert_double_eq((double)result->spans[i].end, number_of(doc_member(span, "end")));
        ck_assert_double_eq_tol((double)result->spans[i].score,
                                number_of(doc_member(span, "score")), 1e-5);
    }
}

static const char *const ways[] = {"none", "simple", "first", "max", "average"};
static const enum aggregation aggregations[] = {
    AGGREGATION_NONE, AGGREGATION_SIMPLE, AGGREGATION_FIRST, AGGREGATION_MAX, AGGREGATION_AVERAGE};

/* One way after the other, each text alone and all as one batch. */
static void expect_all(const char *name)
{
    static struct engine_input inputs[CASES_MAX];
    static struct engine_result results[CASES_MAX];
    const struct engine_input *rows[CASES_MAX];
    struct engine_result *answers[CASES_MAX];
    struct fixture f;
    setup(&f, name);
    const struct json_t *cases = doc_member(f.cases, "cases");
    for (int way = 0; way < 5; way++) {
        unsigned count = 0;
        const struct json_t *listed[CASES_MAX];
        for (size_t i = 0; i < doc_array_count(cases); i++) {
            const struct json_t *one = doc_array_item(cases, i);
            const char *text = doc_as_string(doc_member(one, "text"));
            if (doc_array_count(doc_member(one, "ids")) == 2) /* no token */
                continue;
            const struct engine_source *source =
                text_source_with(text, .reading.aggregation = aggregations[way]);
            inputs[count] = prepare(&f, source, &results[count]);
            rows[count] = &inputs[count];
            answers[count] = &results[count];
            run(&f, rows[count], answers[count]);
            expect_rows(&f, one, rows[count], answers[count]);
            expect_spans(doc_member(one, ways[way]), answers[count]);
            listed[count++] = one;
        }
        ck_assert_uint_gt(count, 8);
        engine_run(f.session, rows, count, answers);
        for (unsigned i = 0; i < count; i++) {
            expect_rows(&f, listed[i], rows[i], answers[i]);
            expect_spans(doc_member(listed[i], ways[way]), answers[i]);
        }
    }
    drop(&f);
}

START_TEST(tags_and_spans_are_those_of_transformers)
{
    expect_all("ner-bert-0");
    expect_all("ner-xlmr-0");
    if (getenv("ATTND_GOLDEN") != NULL)
        expect_all("ner-deberta-0");
}
END_TEST

/* A text of several windows: `count` times the golden's texts. */
static char *long_text(struct fixture *f, unsigned count)
{
    const struct json_t *cases = doc_member(f->cases, "cases");
    char *text = arena_alloc_array(&f->arena, 1 << 16, 1);
    for (unsigned i = 0; i < count; i++) {
        const char *one = doc_as_string(doc_member(doc_array_item(cases, i % 8), "text"));
        ck_assert_uint_lt(strlen(text) + strlen(one) + 2, 1 << 16);
        strcat(strcat(text, one), " ");
    }
    return text;
}

/* Each token has the row of the window where it has most around it, and a window's rows are those
 * of the window alone. */
START_TEST(tags_of_a_long_text_are_joined_where_windows_meet)
{
    struct fixture f;
    struct engine_result result, truncated, one;
    setup(&f, "ner-bert-0");
    ck_assert(f.info->reads_windows && f.info->window_stride < f.info->tokens_max - 2);
    const char *text = long_text(&f, 20);
    const struct engine_input input = prepare(&f, text_source(text), &result);
    ck_assert_uint_gt(input.windows, 3);
    ck_assert(!input.truncated);
    run(&f, &input, &result);
    ck_assert_uint_eq(result.windows, input.windows);
    const size_t size = f.info->row_size;
    for (unsigned w = 0; w < input.windows; w++) {
        const struct engine_input window = engine_input_window(&input, w);
        ck_assert(!engine_result_init(&one, f.model, &f.arena, &f.err));
        ck_assert(!engine_result_rows(&one, f.model, &window, &f.arena, &f.err));
        one.spans = NULL; /* its rows alone are wanted */
        engine_run(f.session, (const struct engine_input *[]){&window}, 1,
                   (struct engine_result *[]){&one});
        ck_assert_mem_eq(one.rows, result.rows + input.window_offset[w] * size,
                         window.tokens * size * sizeof(float));
    }
    for (unsigned i = 0; i < input.order_count; i++) {
        ck_assert_uint_gt(input.ends[input.order[i]], 0);
        ck_assert(i == 0 || input.starts[input.order[i]] >= input.starts[input.order[i - 1]]);
    }
    for (unsigned i = 1; i < result.span_count; i++) /* none is there twice */
        ck_assert_uint_ge(result.spans[i].start, result.spans[i - 1].end);
    const struct engine_input cut =
        prepare(&f, text_source_with(text, .reading.long_text = LONG_TEXT_TRUNCATE), &truncated);
    ck_assert(cut.truncated && cut.windows == 0 && cut.tokens == f.info->tokens_max);
    run(&f, &cut, &truncated);
    ck_assert(truncated.truncated && truncated.span_count < result.span_count);
    drop(&f);
}
END_TEST

START_TEST(tags_in_steps_are_those_of_one_run)
{
    struct fixture f;
    struct engine_result whole, stepped;
    setup(&f, "ner-bert-0");
    const char *text = long_text(&f, 20);
    const struct engine_input input = prepare(&f, text_source(text), &whole);
    prepare(&f, text_source(text), &stepped);
    run(&f, &input, &whole);
    for (stepped.step = 2; !stepped.is_done;)
        engine_step(f.session, (const struct engine_input *const[]){&input}, 1,
                    (struct engine_result *const[]){&stepped});
    ck_assert_mem_eq(stepped.rows, whole.rows, input.tokens * f.info->row_size * sizeof(float));
    ck_assert_uint_eq(stepped.span_count, whole.span_count);
    ck_assert_mem_eq(stepped.spans, whole.spans, whole.span_count * sizeof *whole.spans);
    drop(&f);
}
END_TEST

static void expect_claimed(struct fixture *f)
{
    for (unsigned count = 1; count < 40; count += 7) {
        const struct engine_source *source = text_source(long_text(f, count));
        const struct engine_need need = engine_need(f->model, source);
        struct engine_input input;
        struct engine_result result;
        struct arena arena;
        arena_init(&arena);
        ck_assert(!engine_prepare(f->model, source, NULL, &arena, &input, &f->err));
        ck_assert_uint_ge(need.kept + need.passing, arena.bytes);
        const size_t before = arena.bytes;
        ck_assert(!engine_result_init(&result, f->model, &arena, &f->err));
        ck_assert(!engine_result_rows(&result, f->model, &input, &arena, &f->err));
        ck_assert_uint_ge(need.answer, arena.bytes - before);
        ck_assert_uint_ge(need.spans, input.order_count);
        arena_deinit(&arena);
    }
}

START_TEST(what_tags_need_is_claimed_before_the_work)
{
    static const char *const names[] = {"ner-bert-0", "ner-xlmr-0"};
    for (int n = 0; n < 2; n++) {
        struct fixture f;
        setup(&f, names[n]);
        expect_claimed(&f);
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

START_TEST(a_model_of_tags_refuses_what_it_cannot_obey)
{
    struct fixture f;
    struct engine_input input;
    struct engine_result result;
    setup(&f, "ner-bert-0");
    expect_refused(&f, text_source_with("a", .pair = "b", .pair_len = 1),
                   "the model reads one text, not a pair");
    expect_refused(&f, text_source_with("a", .prompt_name = "query"),
                   "prompt_name: the model has no prompts");
    f.err = (struct err){0};
    input = prepare(&f, text_source("a"), &result);
    ck_assert_int_eq(
        engine_capture(f.model, &input, &(struct explain_options){0}, &f.arena, &f.err),
        ERR_UNUSABLE);
    ck_assert_str_eq(f.err.text,
                     "explain: the model answers parts of the text, which no method explains");
    drop(&f);
}
END_TEST

/* A copy of a golden's files with an attnd.json. */
static enum err_code open_with(struct checkpoint_writer *writer, const char *attnd,
                               struct engine_model **model, struct err *err)
{
    static const char *const files[] = {"config.json", "model.safetensors", "tokenizer.json",
                                        "tokenizer_config.json", "vocab.txt"};
    char command[1024];
    checkpoint_writer_open(writer);
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(command, sizeof command, "cp tests/data/tags/ner-bert-0/%s %s/", files[i],
                 writer->dir);
        ck_assert_int_eq(system(command), 0);
    }
    checkpoint_writer_file(writer, "attnd.json", attnd);
    *err = (struct err){0};
    return engine_open(model, writer->dir, &(struct engine_options){0}, err);
}

START_TEST(attnd_json_of_a_model_of_tags_has_thresholds_and_no_member_of_whole_texts)
{
    static const char *const members[] = {
        "\"ood\": {}",          "\"class_codes\": {}",        "\"window_pooling\": \"max\"",
        "\"head\": \"x\"",      "\"class_prior\": \"equal\"", "\"reference\": {}",
        "\"token_pruning\": {}"};
    struct checkpoint_writer writer;
    struct engine_model *model;
    struct err err;
    for (unsigned i = 0; i < sizeof members / sizeof *members; i++) {
        char attnd[64], want[128];
        snprintf(attnd, sizeof attnd, "{%s}", members[i]);
        ck_assert_int_eq(open_with(&writer, attnd, &model, &err), ERR_UNSUPPORTED);
        ck_assert_msg(strstr(err.text, "is for models that give a text one answer; "
                                       "BertForTokenClassification answers each token") != NULL,
                      "%s", err.text);
        snprintf(want, sizeof want, "$.%.*s", (int)(strchr(members[i] + 1, '"') - members[i] - 1),
                 members[i] + 1);
        ck_assert_ptr_nonnull(strstr(err.text, want));
        checkpoint_writer_close(&writer);
    }
    struct fixture f = {0};
    struct engine_result result;
    arena_init(&f.arena);
    open_with(
        &writer,
        "{\"thresholds\": {\"O\": 0, \"B-TEST\": 0, \"I-TEST\": 0, \"B-PIN\": 0, \"I-PIN\": 0, "
        "\"B-VALUE\": 0.9, \"I-VALUE\": null, \"B-UNIT\": 0, \"B-LIMIT\": 0, "
        "\"I-LIMIT\": 0}}",
        &f.model, &f.err);
    ck_assert_msg(f.err.code == ERR_OK, "%s", f.err.text);
    engine_session_open(&f.session, f.model, 256, 1, &f.err);
    const struct engine_input input = prepare(&f, text_source("0048 0x0"), &result);
    run(&f, &input, &result);
    ck_assert_uint_gt(result.span_count, 0);
    ck_assert_int_eq(result.judgement.decision, DECISION_REVIEW);
    ck_assert(!result.judgement.uncalibrated);
    engine_session_close(f.session);
    engine_close(f.model);
    arena_deinit(&f.arena);
    checkpoint_writer_close(&writer);
}
END_TEST

/* A request that names no aggregation gets attnd.json's. */
START_TEST(attnd_json_names_the_aggregation)
{
    struct checkpoint_writer writer;
    struct fixture f = {0};
    struct engine_result own, named;
    arena_init(&f.arena);
    open_with(&writer, "{\"aggregation\": \"path\"}", &f.model, &f.err);
    ck_assert_msg(f.err.code == ERR_OK, "%s", f.err.text);
    engine_session_open(&f.session, f.model, 256, 1, &f.err);
    const struct engine_input first = prepare(&f, text_source("0048 0x0"), &own);
    const struct engine_input second = prepare(
        &f, text_source_with("0048 0x0", .reading.aggregation = AGGREGATION_SIMPLE), &named);
    ck_assert_int_eq(first.aggregation, AGGREGATION_PATH);
    ck_assert_int_eq(second.aggregation, AGGREGATION_SIMPLE);
    run(&f, &first, &own);
    ck_assert_uint_gt(own.span_count, 0);
    for (unsigned i = 0; i < own.span_count; i++)
        ck_assert_msg(strncmp(engine_describe(f.model)->labels[own.spans[i].label], "I-", 2) != 0,
                      "span %u begins inside", i);
    engine_session_close(f.session);
    engine_close(f.model);
    checkpoint_writer_close(&writer);
    ck_assert_int_eq(open_with(&writer, "{\"aggregation\": \"best\"}", &f.model, &f.err),
                     ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(
        strstr(f.err.text, "$.aggregation must be none, simple, path, first, max or average"));
    arena_deinit(&f.arena);
    checkpoint_writer_close(&writer);
}
END_TEST

/* A path that weighs pairs of labels keeps the best label before each: its room is claimed, too. */
START_TEST(a_path_with_transitions_is_served_and_claimed)
{
    static const char *const names[] = {"O",       "B-TEST",  "I-TEST", "B-PIN",   "I-PIN",
                                        "B-VALUE", "I-VALUE", "B-UNIT", "B-LIMIT", "I-LIMIT"};
    struct checkpoint_writer writer;
    struct fixture f;
    struct engine_result result;
    char attnd[4096], *at = attnd;
    at += sprintf(at, "{\"aggregation\": \"path\", \"transitions\": {");
    for (unsigned gap = 0; gap < 2; gap++) {
        at += sprintf(at, "%s", gap == 0 ? "\"apart\": {" : "}, \"touching\": {");
        for (unsigned i = 0; i < 10; i++)
            at += sprintf(at, "%s\"%s\": [9,0,1,2,3,4,5,6,7,8]", i > 0 ? "," : "", names[i]);
    }
    sprintf(at, "}}}");
    setup(&f, "ner-bert-0"); /* whose texts are read by the model with transitions */
    engine_session_close(f.session);
    engine_close(f.model);
    open_with(&writer, attnd, &f.model, &f.err);
    ck_assert_msg(f.err.code == ERR_OK, "%s", f.err.text);
    f.info = engine_describe(f.model);
    expect_claimed(&f);
    engine_session_open(&f.session, f.model, 256, 1, &f.err);
    const struct engine_input input = prepare(&f, text_source(long_text(&f, 36)), &result);
    run(&f, &input, &result);
    ck_assert_uint_gt(result.span_count, 0);
    for (unsigned i = 0; i < result.span_count; i++)
        ck_assert(strncmp(f.info->labels[result.spans[i].label], "I-", 2) != 0);
    drop(&f);
    checkpoint_writer_close(&writer);
}
END_TEST

START_TEST(other_models_have_no_aggregation)
{
    struct fixture f = {0};
    arena_init(&f.arena);
    ck_assert(
        !engine_open(&f.model, "tests/data/golden/bert-5", &(struct engine_options){0}, &f.err));
    ck_assert_uint_eq(engine_describe(f.model)->row_size, 0);
    expect_refused(&f, text_source_with("a", .reading.aggregation = AGGREGATION_MAX),
                   "aggregation: the model does not answer spans (its task is another)");
    engine_close(f.model);
    arena_deinit(&f.arena);
}
END_TEST

SUITE("tags", tags_and_spans_are_those_of_transformers,
      tags_of_a_long_text_are_joined_where_windows_meet, tags_in_steps_are_those_of_one_run,
      what_tags_need_is_claimed_before_the_work, a_model_of_tags_refuses_what_it_cannot_obey,
      attnd_json_of_a_model_of_tags_has_thresholds_and_no_member_of_whole_texts,
      attnd_json_names_the_aggregation, a_path_with_transitions_is_served_and_claimed,
      other_models_have_no_aggregation)
