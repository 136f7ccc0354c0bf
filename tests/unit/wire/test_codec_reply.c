#include "engine/base/doc.h"
#include "engine/decide/class_codes.h"
#include "engine/decide/extraction.h"
#include "tests/support/call_fixture.h"
#include "tests/support/results.h"
#include "tests/support/suite.h"
#include "wire/codec_reply.h"

#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const labels[] = {"Center", "Scratch"};
static const struct engine_info info = {.kind = ENGINE_IMAGE,
                                        .family = "vit",
                                        .version = "1",
                                        .dtype = "f32",
                                        .linear_backend = "openblas",
                                        .kernels = "avx2",
                                        .scores = "softmax",
                                        .labels = labels,
                                        .label_count = 2};
static float scores[] = {0.25f, 0.75f};
static const struct codec_timing timing = {
    .queue_ms = 0.1, .prepare_ms = 0.80049, .inference_ms = 12.4, .total_ms = 13.5006};

#define MODEL "\"model\":{\"name\":\"wafer-vit\",\"version\":\"1\",\"digest\":\"sha256:00\"}"
#define BEST "\"label\":\"Scratch\",\"score\":0.75,\"decision\":\"auto\""
#define ROW "\"predictions\":[{\"label\":\"Scratch\",\"score\":0.75}]"
#define TIMING "\"timing_ms\":{\"queue\":0.1,\"prepare\":0.8,\"inference\":12.4,\"total\":13.501}"

struct row {
    struct answer answer;
    struct err err;
};

static struct codec_row row_of(const void *context, unsigned index)
{
    const struct row *row = &((const struct row *)context)[index];
    return (struct codec_row){.info = row->answer.info,
                              .answer = &row->answer,
                              .err = &row->err,
                              .spans = row->answer.result.span_count,
                              .chunks =
                                  row->answer.input != NULL ? row->answer.input->part_count : 0};
}

static struct row good_row(void)
{
    return (struct row){.answer = {.model_name = "wafer-vit",
                                   .model_version = "1",
                                   .model_digest = "sha256:00",
                                   .info = &info,
                                   .result = result_of(scores, 2)}};
}

/* Encodes at once. */
static const char *encode(struct call_fixture *fixture, const char *id, const struct row *rows,
                          const struct codec_timing *times, size_t *len)
{
    struct codec_reply *reply = codec_reply_begin(
        &fixture->call, id, &(struct codec_rows){rows, row_of}, 0, &fixture->arena);
    return reply != NULL ? codec_reply_end(reply, times, len) : NULL;
}

/* The reply to a body, in the fixture's arena. */
static const char *reply_to(struct call_fixture *fixture, const char *body, const char *id,
                            const struct row *rows)
{
    size_t len = 0;
    call_fixture_setup(fixture, body);
    ck_assert_msg(fixture->err.code == ERR_OK, "%s", fixture->err.text);
    const char *reply = encode(fixture, id, rows, &timing, &len);
    if (reply != NULL)
        ck_assert_uint_eq(strlen(reply), len);
    return reply;
}

START_TEST(reply_has_the_members_of_the_contract_in_its_order)
{
    struct call_fixture fixture;
    struct row row = good_row();
    const char *reply = reply_to(&fixture, "{\"text\": \"a\"}", "x-1", &row);
    ck_assert_str_eq(reply, "{\"id\":\"x-1\"," MODEL "," BEST "," ROW "," TIMING "}");
    call_fixture_drop(&fixture);
    row.answer.result.truncated = true;
    reply = reply_to(&fixture, "{\"text\": \"a\", \"context\": {\"lot\": \"A1\"}}", "x-1", &row);
    ck_assert_str_eq(reply, "{\"id\":\"x-1\"," MODEL "," BEST "," ROW ",\"truncated\":true," TIMING
                            ",\"context\":{\"lot\":\"A1\"}}");
    call_fixture_drop(&fixture);
}
END_TEST

START_TEST(reply_has_a_null_digest_until_it_is_known)
{
    struct call_fixture fixture;
    struct row row = good_row();
    row.answer.model_digest = NULL;
    const char *reply = reply_to(&fixture, "{\"text\": \"a\"}", "x", &row);
    ck_assert_ptr_nonnull(strstr(reply, "\"digest\":null"));
    call_fixture_drop(&fixture);
}
END_TEST

START_TEST(reply_echoes_the_context_verbatim)
{
    static const char *const contexts[] = {
        "{\"lot\":\"A1\",\"wafer\":3}",
        "{\"wafer\":9007199254740993,\"die_x\":-9223372036854775808}",
        "{\"die_x\":0.1,\"die_y\":-2.5}",
        "{\"die_x\":3.0}",
        "{\"step\":1234567.891011,\"tool\":\"e\\\"t\\\\c\"}",
        "{\"die_x\":0.30000000000000004}",
        "{\"recipe\":\"\xC3\xA9 \xF0\x9F\x98\x80\",\"lot\":null}",
        "{}"};
    for (size_t i = 0; i < sizeof contexts / sizeof contexts[0]; i++) {
        struct call_fixture fixture;
        struct row row = good_row();
        char body[256], tail[256];
        snprintf(body, sizeof body, "{\"text\": \"a\", \"context\": %s}", contexts[i]);
        snprintf(tail, sizeof tail, TIMING ",\"context\":%s}", contexts[i]);
        const char *reply = reply_to(&fixture, body, "x", &row);
        ck_assert_uint_gt(strlen(reply), strlen(tail));
        ck_assert_str_eq(reply + strlen(reply) - strlen(tail), tail);
        call_fixture_drop(&fixture);
    }
}
END_TEST

START_TEST(results_carry_the_ids_and_contexts_of_their_inputs)
{
    struct call_fixture fixture;
    struct row rows[] = {good_row(), good_row(), good_row()};
    err_set(&rows[1].err, ERR_UNUSABLE, "$.inputs[1].text: empty");
    const char *reply = reply_to(
        &fixture,
        "{\"inputs\": [{\"text\": \"a\", \"id\": \"d 1\"}, {\"text\": \"\", \"id\": \"d2\", "
        "\"context\": {\"die_x\": 1.25, \"lot\": \"A\"}}, {\"text\": \"b\", \"id\": \"\"}]}",
        "x", rows);
    ck_assert_str_eq(fixture.call.items[1].context, "{\"die_x\":1.25,\"lot\":\"A\"}");
    ck_assert_ptr_nonnull(strstr(reply, ROW ",\"id\":\"d 1\"},{"));
    ck_assert_ptr_nonnull(strstr(reply, "\"error_type\":\"unusable\",\"id\":\"d2\",\"context\":{"
                                        "\"die_x\":1.25,\"lot\":\"A\"}},{"));
    ck_assert_ptr_nonnull(strstr(reply, ROW "}],"));
    call_fixture_drop(&fixture);
}
END_TEST

START_TEST(reply_to_inputs_has_results_in_order_and_problems_in_place)
{
    struct call_fixture fixture;
    struct row rows[] = {good_row(), good_row(), good_row()};
    err_set(&rows[1].err, ERR_UNUSABLE, "$.inputs[1].text: empty");
    const char *reply = reply_to(
        &fixture,
        "{\"inputs\": [{\"text\": \"a\"}, {\"text\": \"\"}, {\"text\": \"b\"}], \"context\": {}}",
        "x", rows);
    ck_assert_str_eq(reply, "{\"id\":\"x\",\"results\":[{" MODEL "," BEST "," ROW "},"
                            "{\"type\":\"urn:attnd:error:unusable\",\"title\":\"Unusable input\","
                            "\"status\":422,\"detail\":\"$.inputs[1].text: empty\","
                            "\"error\":\"$.inputs[1].text: empty\",\"error_type\":\"unusable\"},"
                            "{" MODEL "," BEST "," ROW "}]," TIMING ",\"context\":{}}");
    call_fixture_drop(&fixture);
}
END_TEST

static size_t now_bytes, most_bytes;

static void *measuring_malloc(size_t size)
{
    size_t *block = malloc(size + 16);
    *block = size;
    now_bytes += size;
    most_bytes = now_bytes > most_bytes ? now_bytes : most_bytes;
    return (char *)block + 16;
}

static void measuring_free(void *block)
{
    if (block == NULL)
        return;
    size_t *size = (void *)((char *)block - 16);
    now_bytes -= *size;
    free(size);
}

/* Labels, ids and contexts are the client's: none of them may make more of a reply than the memory
 * that was claimed for it. */
START_TEST(a_reply_takes_no_more_than_its_bound_whatever_the_texts_are)
{
    static char controls[4097], quotes[4097], wide[4097];
    static const char *many[1000];
    static float many_scores[1000];
    static const struct class_code codes[] = {{.text = quotes}, {.number = -123456}, {.text = "c"}};
    memset(controls, 1, sizeof controls - 1);
    memset(quotes, '"', sizeof quotes - 1);
    for (size_t i = 0; i < sizeof wide - 2; i += 2)
        memcpy(wide + i, "\xC3\xA4", 2);
    for (unsigned i = 0; i < 1000; i++)
        many[i] = i % 2 ? "b" : quotes;
    const char *const few[] = {controls, quotes, wide};
    const struct engine_info infos[] = {
        {.kind = ENGINE_TEXT, .labels = few, .label_count = 3, .scores = "softmax"},
        {.kind = ENGINE_TEXT, .labels = few, .label_count = 3, .class_codes = codes},
        {.kind = ENGINE_TEXT, .labels = many, .label_count = 1000},
    };
    static const char *const bodies[] = {
        "{\"text\": \"a\", \"top_k\": \"all\", \"id\": \"\\\"\\\\\\\"\"}",
        "{\"text\": \"a\", \"context\": {\"lot\": \"\\\"\\\\\", \"die_x\": -0.125}}",
        "{\"inputs\": [{\"text\": \"a\", \"id\": \"\\\"\", \"context\": {\"lot\": \"\\\"\"}},"
        " {\"text\": \"b\"}, {\"text\": \"c\"}], \"top_k\": 2}",
        "{\"inputs\": [{\"text\": \"a\"}, {\"text\": \"b\"}], \"top_k\": \"all\"}",
    };
    for (size_t i = 0; i < 3 * sizeof bodies / sizeof bodies[0]; i++) {
        struct call_fixture fixture;
        struct row rows[3];
        const struct codec_rows all_rows = {rows, row_of};
        size_t text, len, all;
        call_fixture_setup(&fixture, bodies[i / 3]);
        ck_assert_msg(fixture.err.code == ERR_OK, "%s", fixture.err.text);
        for (unsigned r = 0; r < 3; r++) {
            rows[r] = good_row();
            rows[r].answer.info = &infos[i % 3];
            rows[r].answer.result = result_of(many_scores, infos[i % 3].label_count);
            rows[r].answer.result.judgement = (struct judgement){.decision = DECISION_REVIEW};
        }
        all = codec_reply_bytes(&fixture.call, "x-1", &all_rows, &text);
        now_bytes = most_bytes = 0;
        json_set_alloc_funcs(measuring_malloc, measuring_free);
        struct codec_reply *reply =
            codec_reply_begin(&fixture.call, "x-1", &all_rows, text, &fixture.arena);
        ck_assert_ptr_nonnull(codec_reply_end(reply, &timing, &len));
        json_set_alloc_funcs(malloc, free);
        ck_assert_uint_le(len + 1, text);
        ck_assert_uint_le(len + 1 + most_bytes, all);
        ck_assert_uint_lt(text, 3 * len + 3 * 4096); /* and not much more is claimed */
        call_fixture_drop(&fixture);
    }
}
END_TEST

/* A span for each character, and for each of two tokens that share one; labels and text are the
 * model's and the client's. */
START_TEST(a_reply_of_spans_takes_no_more_than_its_bound)
{
    static const char *const names[] = {"\"\x01\"", "PIN"};
    const struct engine_info tags = {
        .task = ENGINE_TAG, .labels = names, .label_count = 2, .row_size = 2};
    static const char *const bodies[] = {"{\"text\": \"\\u0001\\u0002\\u0003\"}",
                                         "{\"text\": \"a\\\"\\\\\"}",
                                         "{\"text\": \"\xF0\x9F\x98\x80\xE6\x99\xB6\xC3\xA4\"}"};
    struct span spans[6];
    for (unsigned i = 0; i < 6; i++)
        spans[i] = (struct span){.name = names[i % 2],
                                 .label = i % 2,
                                 .score = 0.123456789f,
                                 .start = i / 2,
                                 .end = i / 2 + 1};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct call_fixture fixture;
        struct row row = good_row();
        const struct codec_rows rows = {&row, row_of};
        size_t text, len, all;
        call_fixture_setup(&fixture, bodies[i]);
        ck_assert_msg(fixture.err.code == ERR_OK, "%s", fixture.err.text);
        row.answer.info = &tags;
        row.answer.result =
            (struct engine_result){.task = ENGINE_TAG, .spans = spans, .span_count = 6};
        row.answer.text = fixture.call.items[0].source.bytes;
        row.answer.text_len = fixture.call.items[0].source.len;
        all = codec_reply_bytes(&fixture.call, "x-1", &rows, &text);
        now_bytes = most_bytes = 0;
        json_set_alloc_funcs(measuring_malloc, measuring_free);
        struct codec_reply *reply =
            codec_reply_begin(&fixture.call, "x-1", &rows, text, &fixture.arena);
        ck_assert_ptr_nonnull(codec_reply_end(reply, &timing, &len));
        json_set_alloc_funcs(malloc, free);
        ck_assert_uint_le(len + 1, text);
        ck_assert_uint_le(len + 1 + most_bytes, all);
        call_fixture_drop(&fixture);
    }
}
END_TEST

/* Answers overlap: each may be all of the text. */
START_TEST(a_reply_of_answers_takes_no_more_than_its_bound)
{
    static const char *const names[] = {"answer"};
    const struct engine_info asked = {
        .task = ENGINE_ANSWER, .labels = names, .label_count = 1, .row_size = 2};
    struct extract found[5];
    struct extraction extraction = {.options = {.top = 5}, .found = found};
    struct call_fixture fixture;
    struct row row = good_row();
    const struct codec_rows rows = {&row, row_of};
    size_t text, len, all;
    for (unsigned i = 0; i < 5; i++)
        found[i] = (struct extract){0.123456789f, 0, 300};
    char body[64 + 6 * 300] = "{\"question\": \"a\", \"text\": \"";
    for (unsigned i = 0; i < 300; i++)
        strcat(body, "\\u0001");
    call_fixture_setup(&fixture, strcat(body, "\"}"));
    ck_assert_msg(fixture.err.code == ERR_OK, "%s", fixture.err.text);
    row.answer.info = &asked;
    row.answer.result = (struct engine_result){.task = ENGINE_ANSWER,
                                               .extraction = &extraction,
                                               .answer_count = 5,
                                               .span_count = 5}; /* the bound, of row_of */
    row.answer.text = fixture.call.items[0].source.bytes;
    row.answer.text_len = fixture.call.items[0].source.len;
    all = codec_reply_bytes(&fixture.call, "x-1", &rows, &text);
    now_bytes = most_bytes = 0;
    json_set_alloc_funcs(measuring_malloc, measuring_free);
    struct codec_reply *reply =
        codec_reply_begin(&fixture.call, "x-1", &rows, text, &fixture.arena);
    const char *written = codec_reply_end(reply, &timing, &len);
    ck_assert_ptr_nonnull(written);
    json_set_alloc_funcs(malloc, free);
    ck_assert_ptr_nonnull(strstr(written, "\"answers\":[{\"text\":\"\\u0001"));
    ck_assert_uint_le(len + 1, text);
    ck_assert_uint_le(len + 1 + most_bytes, all);
    call_fixture_drop(&fixture);
}
END_TEST

/* Numbers as long as they can be, and a token more than the text's characters. */
START_TEST(a_reply_of_chunks_takes_no_more_than_its_bound)
{
    enum { WIDTH = 48, HIDDEN = 64, PARTS = 40 };
    static const char *const asked[] = {"\"tokens\"", "\"tokens\", \"encoding\": \"base64\"",
                                        "\"lines\"", "\"lines\", \"encoding\": \"base64\"",
                                        "\"lines\", \"encoding\": \"binary\""};
    const struct engine_info vectors = {
        .task = ENGINE_EMBED, .vector_size = WIDTH, .hidden_size = HIDDEN};
    static float numbers[PARTS * HIDDEN];
    static struct input_part parts[PARTS];
    for (unsigned i = 0; i < PARTS * HIDDEN; i++)
        numbers[i] = -1.23456789e-30f;
    for (unsigned i = 0; i < PARTS; i++)
        parts[i] = (struct input_part){i, i + 1, 4294967290, 4294967295};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        const bool has_lines = strstr(asked[i], "lines") != NULL;
        const struct engine_input input = {.parts = parts,
                                           .part_count = PARTS,
                                           .has_lines = has_lines,
                                           .row_size = has_lines ? WIDTH : HIDDEN};
        struct call_fixture fixture;
        struct row row = good_row();
        const struct codec_rows rows = {&row, row_of};
        size_t text, len;
        char body[128];
        snprintf(body, sizeof body, "{\"text\": \"a\", \"chunks\": %s}", asked[i]);
        call_fixture_setup(&fixture, body);
        ck_assert_msg(fixture.err.code == ERR_OK, "%s", fixture.err.text);
        row.answer.info = &vectors;
        row.answer.vector = fixture.call.vector;
        row.answer.input = &input;
        row.answer.result =
            (struct engine_result){.task = ENGINE_EMBED, .vector = numbers, .rows = numbers};
        const size_t all = codec_reply_bytes(&fixture.call, "x-1", &rows, &text);
        now_bytes = most_bytes = 0;
        json_set_alloc_funcs(measuring_malloc, measuring_free);
        struct codec_reply *reply =
            codec_reply_begin(&fixture.call, "x-1", &rows, text, &fixture.arena);
        ck_assert_ptr_nonnull(codec_reply_end(reply, &timing, &len));
        json_set_alloc_funcs(malloc, free);
        ck_assert_uint_le(len + 1, text);
        ck_assert_uint_le(len + 1 + most_bytes, all);
        call_fixture_drop(&fixture);
    }
}
END_TEST

START_TEST(reply_replaces_times_that_are_no_numbers)
{
    struct call_fixture fixture;
    struct row row = good_row();
    size_t len;
    call_fixture_setup(&fixture, "{\"text\": \"a\"}");
    const char *reply = encode(&fixture, NULL, &row, &(struct codec_timing){.queue_ms = NAN}, &len);
    ck_assert_ptr_nonnull(strstr(reply, "\"queue\":0.0"));
    call_fixture_drop(&fixture);
}
END_TEST

/* The reply is JSON and gives the client's bytes back, whatever they are. */
START_TEST(reply_stays_json_whatever_the_id)
{
    static const char *const ids[] = {"\"},{\"", "\\", "a\tb\r\n", "</script>", "\xC3\xA9", "\x7F"};
    struct row row = good_row();
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        struct call_fixture fixture;
        struct json_t *tree;
        struct err err = {0};
        const char *reply = reply_to(&fixture, "{\"text\": \"a\"}", ids[i], &row);
        doc_parse(&tree, reply, strlen(reply), &doc_limits_request, &err);
        ck_assert_msg(tree != NULL, "%s", err.text);
        ck_assert_str_eq(json_string_value(json_object_get(tree, "id")), ids[i]);
        doc_free(tree);
        call_fixture_drop(&fixture);
    }
    struct call_fixture fixture;
    const char *reply = reply_to(&fixture, "{\"text\": \"a\"}", "\xFF\xC3", &row);
    ck_assert_int_eq(strncmp(reply, "{\"model\":", 9), 0);
    call_fixture_drop(&fixture);
}
END_TEST

START_TEST(reply_of_a_thousand_labels_is_whole_and_sorted)
{
    enum { LABELS = 1000 };
    static char names[LABELS][16];
    const char *list[LABELS];
    float values[LABELS];
    for (unsigned i = 0; i < LABELS; i++) {
        snprintf(names[i], sizeof names[i], "label-%u", i);
        list[i] = names[i];
        values[i] = (float)(i * 617 % LABELS) / 7919.0f;
    }
    struct engine_info many = info;
    many.labels = list;
    many.label_count = LABELS;
    struct row row = good_row();
    row.answer.info = &many;
    row.answer.result = result_of(values, LABELS);
    struct call_fixture fixture;
    struct json_t *tree;
    struct err err = {0};
    const char *reply = reply_to(
        &fixture, "{\"text\": \"a\", \"top_k\": \"all\", \"context\": {\"lot\": 1}}", "x", &row);
    doc_parse(&tree, reply, strlen(reply), &doc_limits_file, &err);
    ck_assert_msg(tree != NULL, "%s", err.text);
    const json_t *listed = json_object_get(tree, "predictions");
    ck_assert_uint_eq(json_array_size(listed), LABELS);
    ck_assert_ptr_nonnull(json_object_get(tree, "context"));
    for (size_t i = 1; i < LABELS; i++)
        ck_assert(json_number_value(json_object_get(json_array_get(listed, i - 1), "score")) >
                  json_number_value(json_object_get(json_array_get(listed, i), "score")));
    doc_free(tree);
    call_fixture_drop(&fixture);
}
END_TEST

START_TEST(problem_is_the_whole_body)
{
    struct arena arena;
    struct err err = {0};
    size_t len;
    arena_init(&arena);
    err_set(&err, ERR_QUEUE_FULL, "1024 inputs are waiting, the limit");
    const char *text = codec_encode_problem(&err, "/predict", &arena, &len);
    ck_assert_uint_eq(strlen(text), len);
    ck_assert_str_eq(text, "{\"type\":\"urn:attnd:error:queue_full\",\"title\":\"Queue full\","
                           "\"status\":429,\"detail\":\"1024 inputs are waiting, the limit\","
                           "\"instance\":\"/predict\","
                           "\"error\":\"1024 inputs are waiting, the limit\","
                           "\"error_type\":\"queue_full\"}");
    arena_deinit(&arena);
}
END_TEST

/* ---- allocation failure: every jansson allocation fails once, in turn ---- */

static unsigned allocations_left, live;

static void *failing_malloc(size_t size)
{
    if (allocations_left == 0)
        return NULL;
    allocations_left--;
    void *memory = malloc(size);
    live += memory != NULL;
    return memory;
}

static void counting_free(void *memory)
{
    live -= memory != NULL;
    free(memory);
}

START_TEST(reply_survives_the_failure_of_any_allocation)
{
    struct row rows[] = {good_row(), good_row()};
    struct call_fixture fixture;
    rows[0].answer.result.judgement =
        (struct judgement){.decision = DECISION_REVIEW, .has_ood = true, .has_rank = true};
    err_set(&rows[1].err, ERR_UNUSABLE, "$.inputs[1].text: empty");
    call_fixture_setup(&fixture, "{\"inputs\": [{\"text\": \"a\"}, {\"text\": \"\"}], "
                                 "\"top_k\": \"all\", \"context\": {\"die_x\": 0.1}}");
    ck_assert_int_eq(fixture.err.code, ERR_OK);
    json_set_alloc_funcs(failing_malloc, counting_free);
    unsigned failures = 0;
    for (unsigned allowed = 0;; allowed++, failures++) {
        size_t len;
        allocations_left = allowed;
        live = 0;
        const char *reply = encode(&fixture, "x", rows, &timing, &len);
        ck_assert_uint_eq(live, 0);
        if (reply != NULL && strstr(reply, "\"id\":\"x\"") != NULL)
            break;
    }
    ck_assert_uint_gt(failures, 50);
    for (unsigned allowed = 0; allowed < 80; allowed++) {
        size_t len;
        allocations_left = allowed;
        live = 0;
        codec_encode_problem(&rows[1].err, "/predict", &fixture.arena, &len);
        ck_assert_uint_eq(live, 0);
    }
    json_set_alloc_funcs(malloc, free);
    call_fixture_drop(&fixture);
}
END_TEST

SUITE("codec_reply", a_reply_takes_no_more_than_its_bound_whatever_the_texts_are,
      a_reply_of_spans_takes_no_more_than_its_bound,
      a_reply_of_answers_takes_no_more_than_its_bound,
      a_reply_of_chunks_takes_no_more_than_its_bound,
      reply_has_the_members_of_the_contract_in_its_order, reply_has_a_null_digest_until_it_is_known,
      reply_echoes_the_context_verbatim, results_carry_the_ids_and_contexts_of_their_inputs,
      reply_to_inputs_has_results_in_order_and_problems_in_place,
      reply_replaces_times_that_are_no_numbers, reply_stays_json_whatever_the_id,
      reply_of_a_thousand_labels_is_whole_and_sorted, problem_is_the_whole_body,
      reply_survives_the_failure_of_any_allocation)
