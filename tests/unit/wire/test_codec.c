#include "tests/support/call_fixture.h"
#include "tests/support/suite.h"
#include "wire/codec.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect_ok(const char *body)
{
    struct call_fixture fixture;
    call_fixture_setup(&fixture, body);
    ck_assert_msg(fixture.err.code == ERR_OK, "%.80s: %s", body, fixture.err.text);
    call_fixture_drop(&fixture);
}

static void expect_unusable(const char *body, const char *text)
{
    call_fixture_expect_error(body, ERR_UNUSABLE, text);
}

/* {"text": "a", <member>} */
static void expect_member(const char *member, const char *text)
{
    char body[1024];
    snprintf(body, sizeof body, "{\"text\": \"a\", %s}", member);
    if (text != NULL)
        expect_unusable(body, text);
    else
        expect_ok(body);
}

START_TEST(codec_reads_a_text)
{
    struct call_fixture fixture;
    call_fixture_setup(&fixture, "{\"text\": \"1130 Ref \\u00e9\"}");
    ck_assert_int_eq(fixture.err.code, ERR_OK);
    const struct predict_call *call = &fixture.call;
    ck_assert_uint_eq(call->item_count, 1);
    ck_assert_int_eq(call->items[0].source.kind, ENGINE_TEXT);
    ck_assert_uint_eq(call->items[0].source.len, 11);
    ck_assert(memcmp(call->items[0].source.bytes, "1130 Ref \xC3\xA9", 11) == 0);
    ck_assert(!call->envelope);
    ck_assert_uint_eq(call->top_k, 1);
    ck_assert_uint_eq(call->deadline_ms, 0);
    ck_assert_ptr_null(call->model);
    ck_assert_ptr_null(call->id);
    ck_assert_ptr_null(call->context);
    call_fixture_drop(&fixture);
}
END_TEST

START_TEST(codec_takes_a_numeric_id_as_its_text)
{
    static const struct {
        const char *number, *text;
    } cases[] = {{"42", "42"},
                 {"-7", "-7"},
                 {"0.1", "0.1"},
                 {"42.0", "42"},
                 {"9223372036854775807", "9223372036854775807"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct call_fixture fixture;
        char body[200];
        snprintf(body, sizeof body, "{\"id\": %s, \"inputs\": [{\"text\": \"a\", \"id\": %s}]}",
                 cases[i].number, cases[i].number);
        call_fixture_setup(&fixture, body);
        ck_assert_msg(fixture.err.code == ERR_OK, "%s", fixture.err.text);
        ck_assert_str_eq(fixture.call.id, cases[i].text);
        ck_assert_str_eq(fixture.call.items[0].id, cases[i].text);
        call_fixture_drop(&fixture);
    }
    expect_member("\"id\": 1e300", "$.id: expected a string, found a number");
}
END_TEST

START_TEST(codec_reads_a_context_as_json_text)
{
    struct call_fixture fixture;
    call_fixture_setup(&fixture, "{\"text\": \"a\", \"context\": {\"lot\": \"A1\", \"die_x\": 3}}");
    ck_assert_str_eq(fixture.call.context, "{\"lot\":\"A1\",\"die_x\":3}");
    call_fixture_drop(&fixture);
    /* A number has as few digits as tell it from every other, from 15 on. */
    call_fixture_setup(&fixture, "{\"text\": \"a\", \"context\": {\"die_x\": 5e-324}}");
    ck_assert_str_eq(fixture.call.context, "{\"die_x\":4.94065645841247e-324}");
    call_fixture_drop(&fixture);
    call_fixture_setup(&fixture,
                       "{\"text\": \"a\", \"context\": {\"die_x\": 0.30000000000000004}}");
    ck_assert_str_eq(fixture.call.context, "{\"die_x\":0.30000000000000004}");
    call_fixture_drop(&fixture);
}
END_TEST

/* Later parses of the same shape write where the earlier tree was. */
static void reuse_freed_memory(void)
{
    for (int i = 0; i < 8; i++)
        expect_unusable("{\"id\": \"another 1\", \"model\": \"another 2\", \"text\": 5}",
                        "$.text: expected a string, found a number");
}

START_TEST(codec_leaves_id_and_model_in_a_call_that_fails)
{
    static const char *const bodies[] = {
        "{\"id\": \"station-7\", \"model\": \"wafer-vit\", \"text\": 5}",
        "{\"text\": \"\", \"model\": \"wafer-vit\", \"id\": \"station-7\"}",
        "{\"inputs\": 1, \"model\": \"wafer-vit\", \"id\": \"station-7\"}",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct call_fixture fixture;
        call_fixture_setup(&fixture, bodies[i]);
        ck_assert_int_eq(fixture.err.code, ERR_UNUSABLE);
        reuse_freed_memory();
        ck_assert_str_eq(fixture.call.id, "station-7");
        ck_assert_str_eq(fixture.call.model, "wafer-vit");
        call_fixture_drop(&fixture);
    }
}
END_TEST

START_TEST(codec_reads_the_id_whatever_else_is_wrong)
{
    static const char *const bodies[] = {
        "{\"id\": \"station-7\"}",
        "{\"modle\": 1, \"id\": \"station-7\"}",
        "{\"model\": 1, \"id\": \"station-7\"}",
        "{\"top_k\": 0, \"id\": \"station-7\"}",
        "{\"context\": 1, \"id\": \"station-7\"}",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct call_fixture fixture;
        call_fixture_setup(&fixture, bodies[i]);
        ck_assert_int_eq(fixture.err.code, ERR_UNUSABLE);
        ck_assert_str_eq(fixture.call.id, "station-7");
        call_fixture_drop(&fixture);
    }
}
END_TEST

START_TEST(codec_keeps_nul_in_a_text)
{
    struct call_fixture fixture;
    call_fixture_setup(&fixture, "{\"text\": \"a\\u0000b\"}");
    ck_assert_int_eq(fixture.err.code, ERR_OK);
    ck_assert_uint_eq(fixture.call.items[0].source.len, 3);
    ck_assert(memcmp(fixture.call.items[0].source.bytes, "a\0b", 3) == 0);
    call_fixture_drop(&fixture);
}
END_TEST

START_TEST(codec_reads_an_image)
{
    static const char *const bodies[] = {
        "{\"image\": \"iVBORw0KGgo=\"}",
        "{\"image\": \"data:image/png;base64,iVBORw0KGgo=\"}",
        "{\"image\": \"data:image\\/jpeg;base64,iVBORw0KGgo=\"}",
        "{\"image\": \"DATA:image/png;charset=utf-8;name=a.png;BASE64,iVBORw0KGgo=\"}",
        "{\"image\": \"data:application/octet-stream;base64,iVBORw0KGgo=\"}",
        "{\"image\": \"data:image/png;name=\\\"a,b\\\";base64,iVBORw0KGgo=\"}",
        "{\"image\": \"data:;base64,iVBORw0KGgo=\"}",
        "{\"image\": \"iVBORw\\r\\n0KGgo=\\r\\n\"}",
        "{\"text\": null, \"inputs\": null, \"image\": \"iVBORw0KGgo=\"}"};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct call_fixture fixture;
        call_fixture_setup(&fixture, bodies[i]);
        ck_assert_msg(fixture.err.code == ERR_OK, "%s", fixture.err.text);
        ck_assert_int_eq(fixture.call.items[0].source.kind, ENGINE_IMAGE);
        ck_assert_uint_eq(fixture.call.items[0].source.len, 8);
        ck_assert(memcmp(fixture.call.items[0].source.bytes, "\x89PNG\r\n\x1A\n", 8) == 0);
        call_fixture_drop(&fixture);
    }
}
END_TEST

START_TEST(codec_refuses_what_is_not_base64_with_its_offset)
{
    expect_unusable("{\"image\": \"iVBO Rw0=\"}",
                    "$.image: not base64: invalid character at offset 4");
    expect_unusable("{\"image\": \"data:image/png;base64,iVB!\"}",
                    "$.image: not base64: invalid character at offset 25");
    expect_unusable("{\"image\": \"/9j/!\"}", "$.image: not base64: invalid character at offset 4");
    expect_unusable("{\"image\": \"iVB\"}",
                    "$.image: not base64: 3 characters are not a multiple of 4");
    expect_unusable("{\"image\": \"iVC=\"}",
                    "$.image: not base64: unused bits are not zero at offset 2");
    expect_unusable("{\"image\": \"iVBO\\u0000AAA\"}",
                    "$.image: not base64: invalid character at offset 4");
    expect_unusable("{\"image\": \"\"}", "$.image: empty");
    expect_unusable("{\"image\": \"data:image/png;base64,\"}", "$.image: empty");
}
END_TEST

START_TEST(codec_says_that_no_picture_is_fetched)
{
    static const char *const names[] = {
        "http://fab/wafer.png", "HTTPS://fab/a", "file:/a.png", "/data/wafer 3.png", "./a.png",
        "C:\\\\maps\\\\a.bmp",  "wafer.PNG",     "s3://maps/a", "data:image/png,abc"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char body[100];
        snprintf(body, sizeof body, "{\"image\": \"%s\"}", names[i]);
        expect_unusable(body, "$.image: this is a URL or a path, not a picture: send the picture's "
                              "bytes in base64");
    }
}
END_TEST

START_TEST(codec_wants_exactly_one_input)
{
    expect_unusable("{}", "$: expected one of \"text\", \"image\" and \"inputs\", found none");
    expect_unusable("{\"text\": null}",
                    "$: expected one of \"text\", \"image\" and \"inputs\", found none");
    expect_unusable("{\"text\": \"a\", \"image\": \"AAAA\"}",
                    "$: expected one of \"text\" and \"image\", found both");
    static const char *const both =
        "$: \"inputs\" stands alone; put \"text\" and \"image\" into its elements";
    expect_unusable("{\"inputs\": [{\"text\": \"a\"}], \"text\": \"a\"}", both);
    expect_unusable("{\"inputs\": [], \"image\": \"AAAA\"}", both);
    expect_unusable("{\"text\": \"\"}", "$.text: empty");
}
END_TEST

START_TEST(codec_names_expected_and_found_types)
{
    expect_unusable("[]", "$: expected an object, found an array");
    expect_unusable("\"text\"", "$: expected an object, found a string");
    expect_unusable("12", "$: expected an object, found a number");
    expect_unusable("null", "$: expected an object, found null");
    expect_unusable("true", "$: expected an object, found a boolean");
    expect_unusable("{\"text\": 5}", "$.text: expected a string, found a number");
    expect_unusable("{\"text\": [\"a\"]}", "$.text: expected a string, found an array");
    expect_unusable("{\"image\": {}}", "$.image: expected a string, found an object");
    expect_unusable("{\"inputs\": {}}", "$.inputs: expected an array, found an object");
    expect_member("\"model\": 1", "$.model: expected a string, found a number");
    expect_member("\"id\": true", "$.id: expected a string, found a boolean");
    expect_member("\"context\": []", "$.context: expected an object, found an array");
    expect_member("\"overlay\": 1", "$.overlay: expected true or false, found a number");
    expect_member("\"attention_stats\": \"\"",
                  "$.attention_stats: expected true or false, found a string");
}
END_TEST

START_TEST(codec_names_the_nearest_known_member)
{
    expect_member("\"modle\": \"a\"", "$.modle: unknown member; did you mean \"model\"?");
    expect_member("\"topk\": 1", "$.topk: unknown member; did you mean \"top_k\"?");
    expect_member("\"frequency\": 1", "$.frequency: unknown member");
    expect_member("\"frequency\": null", "$.frequency: unknown member");
    expect_member("\"context\": {\"lott\": 1}",
                  "$.context.lott: unknown member; did you mean \"lot\"?");
}
END_TEST

START_TEST(codec_repeats_only_names_that_look_like_identifiers)
{
    expect_member("\"a b\": 1", "$: an unknown member");
    expect_member("\"\": 1", "$: an unknown member");
    expect_member("\"<script>\": 1", "$: an unknown member");
    expect_member("\"mod\xC3\xA9l\": 1", "$: an unknown member");
    expect_member("\"context\": {\"a\\nb\": 1}", "$.context: an unknown member");
    expect_member("\"a234567890123456789012345678901234\": 1", "$: an unknown member");
}
END_TEST

START_TEST(codec_reads_top_k)
{
    static const struct {
        const char *body;
        unsigned top_k;
    } good[] = {{"{\"text\": \"a\", \"top_k\": 5}", 5},
                {"{\"text\": \"a\", \"top_k\": 5.0}", 5},
                {"{\"text\": \"a\", \"top_k\": null}", 1},
                {"{\"text\": \"a\", \"top_k\": 5000000000}", UINT32_MAX},
                {"{\"text\": \"a\", \"top_k\": \"all\"}", TOP_K_ALL}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct call_fixture fixture;
        call_fixture_setup(&fixture, good[i].body);
        ck_assert_msg(fixture.err.code == ERR_OK, "%s", fixture.err.text);
        ck_assert_uint_eq(fixture.call.top_k, good[i].top_k);
        call_fixture_drop(&fixture);
    }
    expect_member("\"top_k\": 0", "$.top_k: must be from 1 to 9007199254740992");
    expect_member("\"top_k\": -1", "$.top_k: must be from 1 to 9007199254740992");
    expect_member("\"top_k\": 1e300", "$.top_k: must be from 1 to 9007199254740992");
    expect_member("\"top_k\": 1.5", "$.top_k: expected an integer, found a fraction");
    expect_member("\"top_k\": \"5\"",
                  "$.top_k: expected an integer or \"all\", found another string");
    expect_member("\"top_k\": \"all\\u0000\"",
                  "$.top_k: expected an integer or \"all\", found another string");
    expect_member("\"top_k\": true", "$.top_k: expected an integer or \"all\", found a boolean");
}
END_TEST

START_TEST(codec_reads_a_deadline)
{
    struct call_fixture fixture;
    call_fixture_setup(&fixture, "{\"text\": \"a\", \"deadline_ms\": 86400000}");
    ck_assert_uint_eq(fixture.call.deadline_ms, 86400000);
    call_fixture_drop(&fixture);
    expect_member("\"deadline_ms\": 1", NULL);
    expect_member("\"deadline_ms\": 0", "$.deadline_ms: must be from 1 to 86400000");
    expect_member("\"deadline_ms\": 86400001", "$.deadline_ms: must be from 1 to 86400000");
    expect_member("\"deadline_ms\": 0.5", "$.deadline_ms: expected an integer, found a fraction");
    expect_member("\"deadline_ms\": \"1\"", "$.deadline_ms: expected an integer, found a string");
}
END_TEST

START_TEST(codec_reads_what_is_to_be_explained)
{
    struct call_fixture fixture;
    call_fixture_setup(&fixture, "{\"text\": \"a\", \"explain\": \"rollout\", \"explain_layer\": 3,"
                                 " \"overlay\": true, \"attention_stats\": true}");
    ck_assert_int_eq(fixture.err.code, ERR_OK);
    ck_assert(fixture.call.explain && fixture.call.overlay && fixture.call.how.statistics);
    ck_assert_int_eq(fixture.call.how.method, EXPLAIN_ROLLOUT);
    ck_assert_uint_eq(fixture.call.how.layer, 3);
    call_fixture_drop(&fixture);
    call_fixture_setup(&fixture, "{\"text\": \"a\", \"explain\": true}");
    ck_assert(fixture.call.explain && !fixture.call.overlay && !fixture.call.how.statistics);
    ck_assert_int_eq(fixture.call.how.method, EXPLAIN_DEFAULT);
    ck_assert_uint_eq(fixture.call.how.layer, 0);
    call_fixture_drop(&fixture);
}
END_TEST

START_TEST(codec_refuses_explanations_that_there_are_not)
{
    expect_member("\"explain\": false", NULL);
    expect_member("\"explain\": null", NULL);
    expect_member("\"overlay\": false, \"attention_stats\": false", NULL);
    expect_member("\"explain\": \"attention\"", NULL);
    expect_member("\"explain\": \"gradient\"", NULL);
    expect_member("\"explain\": \"magic\"",
                  "$.explain: unknown method; known are true, false, rollout, attention, "
                  "gradient, gradient-last, alignment");
    expect_member("\"explain\": 1",
                  "$.explain: expected true, false or a method's name, found a number");
    static const char *const magic = "$.explain: unknown method; known are true, false, rollout, "
                                     "attention, gradient, gradient-last, alignment";
    expect_member("\"explain\": \"default\"", magic);
    expect_member("\"explain\": \"\"", magic);
    expect_member("\"explain\": \"rollout\\u0000\"", magic);
    expect_member("\"explain\": true, \"explain_layer\": 0",
                  "$.explain_layer: must be from 1 to 1000");
    expect_member("\"overlay\": true",
                  "$.overlay: belongs to an explanation; ask for one with \"explain\"");
    expect_member("\"explain\": false, \"attention_stats\": true",
                  "$.attention_stats: belongs to an explanation; ask for one with \"explain\"");
    expect_member("\"explain_layer\": 2",
                  "$.explain_layer: belongs to an explanation; ask for one with \"explain\"");
}
END_TEST

START_TEST(codec_bounds_id_and_model)
{
    struct call_fixture fixture;
    call_fixture_setup(&fixture,
                       "{\"text\": \"a\", \"id\": \"lot-7 \xC3\xA9\", \"model\": \"kernel-bert\"}");
    ck_assert_str_eq(fixture.call.id, "lot-7 \xC3\xA9");
    ck_assert_str_eq(fixture.call.model, "kernel-bert");
    call_fixture_drop(&fixture);
    call_fixture_setup(&fixture, "{\"text\": \"a\", \"id\": \"\"}");
    ck_assert_int_eq(fixture.err.code, ERR_OK);
    ck_assert_ptr_null(fixture.call.id);
    call_fixture_drop(&fixture);
    expect_member("\"id\": \"a\\r\\nSet-Cookie: b\"", "$.id: must not contain control characters");
    expect_member("\"id\": \"a\\u0000\"", "$.id: must not contain control characters");
    expect_member("\"id\": \"\\u007f\"", "$.id: must not contain control characters");
    expect_member("\"id\": \"\\u0085\"", "$.id: must not contain control characters");
    expect_member("\"model\": \"\\u0001\"", "$.model: must not contain control characters");
    char *longest = call_fixture_padded("\"id\": \"", 'x', 128, "\""),
         *longer = call_fixture_padded("\"id\": \"", 'x', 129, "\"");
    expect_member(longest, NULL);
    expect_member(longer, "$.id: at most 128 bytes, found 129");
    free(longest);
    free(longer);
    longest = call_fixture_padded("\"model\": \"", 'x', 64, "\"");
    longer = call_fixture_padded("\"model\": \"", 'x', 65, "\"");
    expect_member(longest, NULL);
    expect_member(longer, "$.model: at most 64 bytes, found 65");
    free(longest);
    free(longer);
}
END_TEST

START_TEST(codec_checks_the_context)
{
    expect_member("\"context\": {\"lot\": \"A1\", \"wafer\": 3, \"die_x\": -1.5, \"die_y\": null, "
                  "\"tool\": \"\xC3\xA9\", \"chamber\": \"\", \"recipe\": \"r\", \"step\": 7}",
                  NULL);
    expect_member("\"context\": null", NULL);
    expect_member("\"context\": {}", NULL);
    expect_member("\"context\": {\"lot\": true}",
                  "$.context.lot: expected a string or a number, found a boolean");
    expect_member("\"context\": {\"step\": [1]}",
                  "$.context.step: expected a string or a number, found an array");
    expect_member("\"context\": {\"lot\": \"a\\tb\"}",
                  "$.context.lot: must not contain control characters");
    char *longer = call_fixture_padded("\"context\": {\"tool\": \"", 'x', 65, "\"}");
    expect_member(longer, "$.context.tool: at most 64 bytes, found 65");
    free(longer);
}
END_TEST

START_TEST(codec_refuses_broken_json_with_its_offset)
{
    struct call_fixture fixture;
    call_fixture_expect_error("", ERR_MALFORMED, "JSON ends too early at byte 0");
    call_fixture_expect_error("{\"text\": \"a\"", ERR_MALFORMED, "JSON ends too early at byte 12");
    call_fixture_expect_error("{\"text\": \"a\"} x", ERR_MALFORMED,
                              "more bytes after the JSON value at byte 15");
    call_fixture_setup(&fixture, "{\"text\": \"a\", \"text\": \"b\"}");
    ck_assert_int_eq(fixture.err.code, ERR_MALFORMED);
    call_fixture_drop(&fixture);
    call_fixture_setup(&fixture, "{'text': 'a'}");
    ck_assert_int_eq(fixture.err.code, ERR_MALFORMED);
    call_fixture_drop(&fixture);
    call_fixture_setup(&fixture, "{\"text\": \"\xFF\"}");
    ck_assert_int_eq(fixture.err.code, ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(fixture.err.text, "invalid UTF-8 at byte 10"));
    call_fixture_drop(&fixture);
    call_fixture_setup(&fixture, "{\"text\": [[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]}");
    ck_assert_int_eq(fixture.err.code, ERR_TOO_LARGE);
    call_fixture_drop(&fixture);
}
END_TEST

START_TEST(codec_reads_inputs_in_order)
{
    struct call_fixture fixture;
    call_fixture_setup(
        &fixture, "{\"inputs\": [{\"text\": \"one\"}, {\"image\": \"AAAA\"}, {\"text\": \"two\"}],"
                  " \"top_k\": 2}");
    ck_assert_msg(fixture.err.code == ERR_OK, "%s", fixture.err.text);
    const struct predict_call *call = &fixture.call;
    ck_assert(call->envelope);
    ck_assert_uint_eq(call->top_k, 2);
    ck_assert_uint_eq(call->item_count, 3);
    ck_assert_int_eq(call->items[0].source.kind, ENGINE_TEXT);
    ck_assert(memcmp(call->items[0].source.bytes, "one", 3) == 0);
    ck_assert_int_eq(call->items[1].source.kind, ENGINE_IMAGE);
    ck_assert_uint_eq(call->items[1].source.len, 3);
    ck_assert(memcmp(call->items[2].source.bytes, "two", 3) == 0);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_int_eq(call->items[i].err.code, ERR_OK);
    call_fixture_drop(&fixture);
}
END_TEST

static void expect_item_error(const char *item, const char *text)
{
    char body[512];
    struct call_fixture fixture;
    snprintf(body, sizeof body, "{\"inputs\": [{\"text\": \"a\"}, %s, {\"text\": \"b\"}]}", item);
    call_fixture_setup(&fixture, body);
    ck_assert_msg(fixture.err.code == ERR_OK, "%s", fixture.err.text);
    ck_assert_uint_eq(fixture.call.item_count, 3);
    ck_assert_int_eq(fixture.call.items[0].err.code, ERR_OK);
    ck_assert_int_eq(fixture.call.items[1].err.code, ERR_UNUSABLE);
    ck_assert_str_eq(fixture.call.items[1].err.text, text);
    ck_assert_int_eq(fixture.call.items[2].err.code, ERR_OK);
    call_fixture_drop(&fixture);
}

START_TEST(codec_keeps_an_items_error_in_the_item)
{
    expect_item_error("5", "$.inputs[1]: expected an object, found a number");
    expect_item_error("null", "$.inputs[1]: expected an object, found null");
    expect_item_error("{}", "$.inputs[1]: expected \"text\" or \"image\", found neither");
    expect_item_error("{\"text\": \"a\", \"image\": \"AAAA\"}",
                      "$.inputs[1]: expected one of \"text\" and \"image\", found both");
    expect_item_error("{\"text\": \"\"}", "$.inputs[1].text: empty");
    expect_item_error("{\"text\": \"a\", \"id\": []}",
                      "$.inputs[1].id: expected a string, found an array");
    expect_item_error("{\"text\": \"a\", \"context\": {\"lott\": 7}}",
                      "$.inputs[1].context.lott: unknown member; did you mean \"lot\"?");
    expect_item_error("{\"text\": \"a\", \"context\": {\"die_x\": 0.30000000000000004}}",
                      "$.inputs[1].context.die_x: at most 9 digits; send more as a string");
    expect_item_error("{\"text\": 1}", "$.inputs[1].text: expected a string, found a number");
    expect_item_error("{\"image\": \"A\"}",
                      "$.inputs[1].image: not base64: 1 characters are not a multiple of 4");
    expect_item_error("{\"txt\": \"a\"}",
                      "$.inputs[1].txt: unknown member; did you mean \"text\"?");
}
END_TEST

START_TEST(codec_sends_an_items_options_to_the_top_level)
{
    expect_item_error("{\"text\": \"a\", \"top_k\": 1}",
                      "$.inputs[1].top_k: options are for the whole call; put it beside "
                      "\"inputs\"");
    expect_item_error("{\"inputs\": []}", "$.inputs[1].inputs: unknown member");
}
END_TEST

START_TEST(codec_bounds_the_number_of_inputs)
{
    expect_unusable("{\"inputs\": []}", "$.inputs: empty");
    expect_ok("{\"inputs\": [1, 2, 3, 4]}");
    call_fixture_expect_error("{\"inputs\": [1, 2, 3, 4, 5]}", ERR_TOO_LARGE,
                              "$.inputs: at most 4 inputs, found 5");
    char *many = call_fixture_padded("{\"inputs\": [1", ',', 9000, "1]}");
    struct call_fixture fixture;
    call_fixture_setup(&fixture, many);
    ck_assert_int_eq(fixture.err.code, ERR_TOO_LARGE);
    call_fixture_drop(&fixture);
    free(many);
}
END_TEST

SUITE("codec", codec_takes_a_numeric_id_as_its_text, codec_reads_a_context_as_json_text,
      codec_leaves_id_and_model_in_a_call_that_fails, codec_reads_the_id_whatever_else_is_wrong,
      codec_reads_a_text, codec_keeps_nul_in_a_text, codec_reads_an_image,
      codec_refuses_what_is_not_base64_with_its_offset, codec_says_that_no_picture_is_fetched,
      codec_wants_exactly_one_input, codec_names_expected_and_found_types,
      codec_names_the_nearest_known_member, codec_repeats_only_names_that_look_like_identifiers,
      codec_reads_top_k, codec_reads_a_deadline, codec_reads_what_is_to_be_explained,
      codec_refuses_explanations_that_there_are_not, codec_bounds_id_and_model,
      codec_checks_the_context, codec_refuses_broken_json_with_its_offset,
      codec_reads_inputs_in_order, codec_keeps_an_items_error_in_the_item,
      codec_sends_an_items_options_to_the_top_level, codec_bounds_the_number_of_inputs)
