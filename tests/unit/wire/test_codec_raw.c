#include "tests/support/suite.h"
#include "wire/codec.h"

#include <stdint.h>
#include <string.h>

START_TEST(codec_takes_a_raw_body_as_it_is)
{
    struct predict_call call;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    ck_assert_int_eq(codec_parse_raw(&call, ENGINE_IMAGE, "\x89PNG", 4, &arena, &err), ERR_OK);
    ck_assert_uint_eq(call.item_count, 1);
    ck_assert_int_eq(call.items[0].source.kind, ENGINE_IMAGE);
    ck_assert_uint_eq(call.items[0].source.len, 4);
    ck_assert_uint_eq(call.top_k, 1);
    ck_assert(!call.envelope);
    ck_assert_int_eq(codec_parse_raw(&call, ENGINE_TEXT, "", 0, &arena, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "the body is empty");
    arena_deinit(&arena);
}
END_TEST

/* The call after one option; its strings live in the arena, which the caller gives. An option that
 * is refused leaves a number as it was. */
static struct predict_call option(const char *name, const char *value, struct arena *arena,
                                  const char *text)
{
    struct predict_call call;
    struct err err = {0};
    codec_parse_raw(&call, ENGINE_TEXT, "a", 1, arena, &err);
    call.top_k = call.deadline_ms = call.how.layer = 77;
    call.how.method = EXPLAIN_ROLLOUT;
    enum err_code code = codec_parse_option(&call, name, value, arena, &err);
    ck_assert_msg(strcmp(err.text, text) == 0, "%s=%s: %s", name, value, err.text);
    ck_assert_int_eq(err.code, text[0] == '\0' ? ERR_OK : ERR_UNUSABLE);
    ck_assert_int_eq(code, err.code);
    if (code != ERR_OK)
        ck_assert(call.top_k == 77 && call.deadline_ms == 77 && call.how.layer == 77);
    return call;
}

START_TEST(codec_reads_the_options_of_a_raw_body)
{
    struct arena arena;
    arena_init(&arena);
    ck_assert_str_eq(option("model", "kernel-bert", &arena, "").model, "kernel-bert");
    ck_assert_str_eq(option("id", "a 1", &arena, "").id, "a 1");
    ck_assert_ptr_null(option("id", "", &arena, "").id);
    ck_assert_uint_eq(option("top_k", "3", &arena, "").top_k, 3);
    ck_assert_uint_eq(option("top_k", "99999999999999999999", &arena, "").top_k, UINT32_MAX);
    ck_assert_uint_eq(option("top_k", "4294967295", &arena, "").top_k, UINT32_MAX);
    ck_assert_uint_eq(option("top_k", "all", &arena, "").top_k, TOP_K_ALL);
    ck_assert_uint_eq(option("deadline_ms", "86400000", &arena, "").deadline_ms, 86400000);
    ck_assert(!option("explain", "false", &arena, "").explain);
    ck_assert(option("explain", "true", &arena, "").explain);
    ck_assert_int_eq(option("explain", "true", &arena, "").how.method, EXPLAIN_DEFAULT);
    ck_assert_int_eq(option("explain", "false", &arena, "").how.method, EXPLAIN_DEFAULT);
    ck_assert_uint_eq(option("explain_layer", "1", &arena, "").how.layer, 1);
    ck_assert_uint_eq(option("explain_layer", "1000", &arena, "").how.layer, 1000);
    ck_assert_uint_eq(option("deadline_ms", "1", &arena, "").deadline_ms, 1);
    ck_assert_uint_eq(option("top_k", "1", &arena, "").top_k, 1);
    ck_assert_uint_eq(option("top_k", "4294967294", &arena, "").top_k, UINT32_MAX - 1);
    ck_assert_uint_eq(option("top_k", "4294967296", &arena, "").top_k, UINT32_MAX);
    ck_assert_uint_eq(option("top_k", "0042", &arena, "").top_k, 42);
    ck_assert(!option("attention_stats", "false", &arena, "").how.statistics);
    ck_assert_int_eq(option("explain", "gradient", &arena, "").how.method, EXPLAIN_GRADIENT);
    ck_assert_uint_eq(option("explain_layer", "2", &arena, "").how.layer, 2);
    ck_assert(option("attention_stats", "true", &arena, "").how.statistics);
    ck_assert(option("overlay", "true", &arena, "").overlay);
    ck_assert(!option("overlay", "false", &arena, "").overlay);
    arena_deinit(&arena);
}
END_TEST

START_TEST(codec_reads_a_context_member_by_member)
{
    static const char *const members[][2] = {{"context.lot", "A\"1"}, {"context.die_x", "-3"},
                                             {"context.wafer", "07"}, {"context.die_y", "3.5"},
                                             {"context.lot", "B2"},   {"context.step", ""}};
    struct predict_call call;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    codec_parse_raw(&call, ENGINE_TEXT, "a", 1, &arena, &err);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        ck_assert_int_eq(codec_parse_option(&call, members[i][0], members[i][1], &arena, &err),
                         ERR_OK);
    ck_assert_str_eq(call.context,
                     "{\"lot\":\"B2\",\"die_x\":-3,\"wafer\":\"07\",\"die_y\":\"3.5\","
                     "\"step\":\"\"}");
    arena_deinit(&arena);
}
END_TEST

START_TEST(codec_refuses_bad_options_of_a_raw_body)
{
    static const char *const cases[][3] = {
        {"topk", "1", "?topk: unknown option; did you mean \"top_k\"?"},
        {"context", "1", "?context: name its members, as in ?context.lot=A1"},
        {"context.lott", "1", "?context.lott: unknown member; did you mean \"lot\"?"},
        {"context.", "1", "?context.: an unknown member"},
        {"context.lot", "a\tb", "?context.lot: must not contain control characters"},
        {"context.lot", "\xFF", "?context.lot: not valid UTF-8"},
        {"contexts.lot", "1", "?contexts.lot: unknown option"},
        {"a b", "1", "?: an unknown option"},
        {"", "1", "?: an unknown option"},
        {"top_k", NULL, "?top_k: expected a value"},
        {"top_k", "", "?top_k: expected an integer"},
        {"top_k", "-1", "?top_k: expected an integer"},
        {"top_k", "1.5", "?top_k: expected an integer"},
        {"top_k", " 1", "?top_k: expected an integer"},
        {"top_k", "0", "?top_k: must be at least 1"},
        {"deadline_ms", "0", "?deadline_ms: must be at least 1"},
        {"deadline_ms", "86400001", "?deadline_ms: must be from 1 to 86400000"},
        {"id", "a\nb", "?id: must not contain control characters"},
        {"id", "\xFF", "?id: not valid UTF-8"},
        {"id", "\xC3", "?id: not valid UTF-8"},
        {"explain", "magic",
         "?explain: unknown method; known are true, false, rollout, attention, "
         "gradient, gradient-last, alignment"},
        {"explain_layer", "0", "?explain_layer: must be at least 1"},
        {"explain_layer", "1001", "?explain_layer: must be from 1 to 1000"},
        {"attention_stats", "yes", "?attention_stats: expected true or false"},
        {"model", "\xFF", "?model: not valid UTF-8"},
        {"model", "a\tb", "?model: must not contain control characters"},
        {"explain_layer", "x", "?explain_layer: expected an integer"},
        {"deadline_ms", "9x", "?deadline_ms: expected an integer"},
        {"num_beams", "+2", "?num_beams: expected an integer"},
        {"num_beams", " 2", "?num_beams: expected an integer"},
        {"num_beams", "0x2", "?num_beams: expected an integer"},
        {"length_penalty", "0x1", "?length_penalty: expected a number"},
        {"length_penalty", "+1", "?length_penalty: expected a number"},
        {"length_penalty", "inf", "?length_penalty: expected a number"},
        {"overlay", "1", "?overlay: expected true or false"}};
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        option(cases[i][0], cases[i][1], &arena, cases[i][2]);
    arena_deinit(&arena);
}
END_TEST

SUITE("codec_raw", codec_takes_a_raw_body_as_it_is, codec_reads_the_options_of_a_raw_body,
      codec_reads_a_context_member_by_member, codec_refuses_bad_options_of_a_raw_body)
