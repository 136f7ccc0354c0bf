/* Hostile bodies: megabytes in one string, texts that pretend to be placeholders, bodies cut short
 * and bodies with any byte changed. */
#include "engine/base/base64.h"
#include "tests/support/call_fixture.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

START_TEST(codec_decodes_a_long_image)
{
    enum { BYTES = 100000 };
    static const char *const prefixes[] = {"", "data:image/png;base64,", "data:image/jpeg;base64,"};
    char *bytes = malloc(BYTES), *text = malloc(base64_encoded_size(BYTES));
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (char)(i * 2654435761u >> 11);
    base64_encode(text, bytes, BYTES);
    for (int i = 0; i < 3; i++) {
        size_t size = strlen(text) + 100;
        char *body = malloc(size);
        snprintf(body, size, "{\"top_k\": 3, \"image\": \"%s%s\", \"id\": \"x\"}", prefixes[i],
                 text);
        struct call_fixture fixture;
        call_fixture_setup(&fixture, body);
        ck_assert_msg(fixture.err.code == ERR_OK, "%s", fixture.err.text);
        ck_assert_uint_eq(fixture.call.items[0].source.len, BYTES);
        ck_assert(memcmp(fixture.call.items[0].source.bytes, bytes, BYTES) == 0);
        ck_assert_str_eq(fixture.call.id, "x");
        call_fixture_drop(&fixture);
        free(body);
    }
    free(bytes);
    free(text);
}
END_TEST

START_TEST(codec_takes_a_long_text_of_base64_letters_as_a_text)
{
    struct call_fixture fixture;
    char *body = call_fixture_padded("{\"text\": \"", 'A', 5000, "\"}");
    call_fixture_setup(&fixture, body);
    ck_assert_msg(fixture.err.code == ERR_OK, "%s", fixture.err.text);
    ck_assert_uint_eq(fixture.call.items[0].source.len, 5000);
    for (size_t i = 0; i < 5000; i++)
        ck_assert_int_eq(((const char *)fixture.call.items[0].source.bytes)[i], 'A');
    call_fixture_drop(&fixture);
    free(body);
}
END_TEST

static void expect_long(const char *prefix, const char *suffix, const char *text)
{
    char *body = call_fixture_padded(prefix, 'A', 5000, suffix);
    call_fixture_expect_error(body, ERR_UNUSABLE, text);
    free(body);
}

START_TEST(codec_treats_long_strings_elsewhere_as_what_they_are)
{
    expect_long("{\"text\": \"a\", \"id\": \"", "\"}", "$.id: at most 128 bytes, found 5000");
    expect_long("{\"text\": \"a\", \"model\": \"", "\"}", "$.model: at most 64 bytes, found 5000");
    expect_long("{\"text\": \"a\", \"context\": {\"lot\": \"", "\"}}",
                "$.context.lot: at most 64 bytes, found 5000");
    expect_long("{\"text\": \"a\", \"top_k\": \"", "\"}",
                "$.top_k: expected an integer or \"all\", found another string");
    expect_long("{\"text\": \"a\", \"explain\": \"", "\"}",
                "$.explain: unknown method; known are true, false, rollout, attention, "
                "gradient, gradient-last, alignment");
    expect_long("{\"text\": \"a\", \"inputs\": \"", "\"}",
                "$: \"inputs\" stands alone; put \"text\" and \"image\" into its elements");
    expect_long("{\"text\": \"a\", \"", "\": 1}", "$: an unknown member");
    expect_long("\"", "\"", "$: expected an object, found a string");
    expect_long("{\"image\": \"", "=\"}",
                "$.image: not base64: 5001 characters are not a multiple "
                "of 4");
}
END_TEST

START_TEST(codec_reads_a_text_that_looks_like_a_placeholder)
{
    struct call_fixture fixture;
    char *body = call_fixture_padded(
        "{\"inputs\": [{\"image\": \"", 'A', 4000,
        "\"}, {\"text\": \"\\u000100000000\"}, {\"image\": \"\\u000100000000\"}]}");
    call_fixture_setup(&fixture, body);
    ck_assert_msg(fixture.err.code == ERR_OK, "%s", fixture.err.text);
    const struct predict_item *items = fixture.call.items;
    ck_assert_int_eq(items[0].source.kind, ENGINE_IMAGE);
    ck_assert_uint_eq(items[0].source.len, 3000);
    ck_assert_uint_eq(items[1].source.len, 9);
    ck_assert(memcmp(items[1].source.bytes,
                     "\x01"
                     "00000000",
                     9) == 0);
    ck_assert_str_eq(items[2].err.text,
                     "$.inputs[2].image: not base64: invalid character at offset 0");
    call_fixture_drop(&fixture);
    free(body);
}
END_TEST

START_TEST(codec_tells_offsets_behind_a_long_string)
{
    char *body = call_fixture_padded("{\"image\": \"", 'A', 5000, "\", x}");
    struct call_fixture fixture;
    call_fixture_setup(&fixture, body);
    ck_assert_int_eq(fixture.err.code, ERR_MALFORMED);
    ck_assert_msg(strstr(fixture.err.text, "at byte 5015 ") != NULL, "%s", fixture.err.text);
    call_fixture_drop(&fixture);
    free(body);
}
END_TEST

START_TEST(codec_decodes_a_long_text_with_escapes)
{
    char *body = call_fixture_padded("{\"text\": \"\\u00e9\\u0000", 'x', 3000000, "\\n\"}");
    struct call_fixture fixture;
    call_fixture_setup(&fixture, body);
    ck_assert_msg(fixture.err.code == ERR_OK, "%s", fixture.err.text);
    const struct predict_item *item = &fixture.call.items[0];
    ck_assert_uint_eq(item->source.len, 3000000 + 4);
    ck_assert(memcmp(item->source.bytes, "\xC3\xA9\0x", 4) == 0);
    ck_assert_int_eq(((const char *)item->source.bytes)[item->source.len - 1], '\n');
    call_fixture_drop(&fixture);
    free(body);
}
END_TEST

static void expect_padded(char letter, size_t count, const char *prefix, const char *suffix,
                          enum err_code code, const char *text)
{
    char *body = call_fixture_padded(prefix, letter, count, suffix);
    if (code == ERR_OK) {
        struct call_fixture fixture;
        call_fixture_setup(&fixture, body);
        ck_assert_msg(fixture.err.code == ERR_OK, "%s", fixture.err.text);
        call_fixture_drop(&fixture);
    } else
        call_fixture_expect_error(body, code, text);
    free(body);
}

/* The bound is a megabyte and 2048 bytes for each of four inputs. */
START_TEST(codec_bounds_what_is_left_of_a_body_without_its_long_strings)
{
    enum { BOUND = (1 << 20) + CALL_FIXTURE_INPUTS_MAX * 2048 };
    static const char refusal[] = "more than 1056768 bytes of JSON, long strings not counted";
    const char *head = "{\"text\": \"a\"", *tail = "}";
    size_t around = strlen(head) + strlen(tail);
    expect_padded(' ', BOUND - around, head, tail, ERR_OK, "");
    expect_padded(' ', BOUND - around + 1, head, tail, ERR_TOO_LARGE, refusal);
    expect_padded('1', BOUND, "{\"text\": \"a\", \"top_k\": ", "}", ERR_TOO_LARGE, refusal);
    expect_padded('k', BOUND, "{\"text\": \"a\", \"", "\": 1}", ERR_TOO_LARGE, refusal);
    expect_padded('x', 4 * BOUND, "{\"text\": \"\\n", "\"}", ERR_OK, "");
}
END_TEST

START_TEST(codec_names_the_fault_of_a_string_that_is_longer_than_the_bound)
{
    expect_padded('x', 2 << 20, "{\"text\": \"", "\xC3\"}", ERR_UNUSABLE,
                  "invalid UTF-8 at byte 2097162");
    expect_padded('x', 2 << 20, "{\"text\": \"", "\\x\"}", ERR_MALFORMED,
                  "not valid JSON at byte 2097162");
    expect_padded('x', 2 << 20, "{\"text\": \"\n", "\"}", ERR_MALFORMED,
                  "not valid JSON at byte 10");
}
END_TEST

static char *good_body(size_t *len)
{
    char *body = call_fixture_padded(
        "{\"inputs\": [{\"text\": \"a\\u00e9\\\"\xC3\xA9\"}, {\"image\": \"", 'A', 2400,
        "\"}], \"top_k\": \"all\", \"id\": \"x-1\", \"context\": {\"lot\": \"A\", "
        "\"die_x\": -1.5e3}, \"deadline_ms\": 5, \"explain\": false}");
    *len = strlen(body);
    return body;
}

START_TEST(codec_refuses_a_body_cut_at_any_byte)
{
    size_t len;
    char *body = good_body(&len);
    struct call_fixture fixture;
    call_fixture_setup_bytes(&fixture, body, len);
    ck_assert_msg(fixture.err.code == ERR_OK, "%s", fixture.err.text);
    call_fixture_drop(&fixture);
    for (size_t cut = 0; cut < len; cut++) {
        call_fixture_setup_bytes(&fixture, body, cut);
        ck_assert_msg(fixture.err.code == ERR_MALFORMED || fixture.err.code == ERR_UNUSABLE,
                      "cut at %zu", cut);
        call_fixture_drop(&fixture);
    }
    free(body);
}
END_TEST

START_TEST(codec_survives_mutation)
{
    size_t len;
    char *body = good_body(&len), *mutant = malloc(len);
    unsigned state = 11, accepted = 0;
    for (int round = 0; round < 20000; round++) {
        memcpy(mutant, body, len);
        for (int k = 0; k < 1 + round % 3; k++) {
            state = state * 1664525u + 1013904223u;
            size_t at = (state >> 8) % len;
            if (at >= 60 && at < 2430) /* mostly outside the long string */
                at = (state >> 4) % 60;
            mutant[at] = k % 2 == 0 ? (char)(state >> 24) : "\"\\{}[]:,"[(state >> 24) % 8];
        }
        struct call_fixture fixture;
        call_fixture_setup_bytes(&fixture, mutant, len);
        accepted += fixture.err.code == ERR_OK;
        call_fixture_drop(&fixture);
    }
    ck_assert_uint_gt(accepted, 100);
    free(body);
    free(mutant);
}
END_TEST

SUITE("codec_hostile", codec_decodes_a_long_image,
      codec_takes_a_long_text_of_base64_letters_as_a_text,
      codec_treats_long_strings_elsewhere_as_what_they_are,
      codec_reads_a_text_that_looks_like_a_placeholder, codec_tells_offsets_behind_a_long_string,
      codec_decodes_a_long_text_with_escapes,
      codec_bounds_what_is_left_of_a_body_without_its_long_strings,
      codec_names_the_fault_of_a_string_that_is_longer_than_the_bound,
      codec_refuses_a_body_cut_at_any_byte, codec_survives_mutation)
