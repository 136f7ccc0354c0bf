/* The vectors of tests/data/base64 are for a forgiving decoder (web-platform-tests) and for RFC
 * 4648 section 10; ours is the strict reading. The expectation of each forgiving vector is
 * therefore derived: strict accepts exactly those that have a multiple of four characters, no white
 * space and, beyond what the forgiving one checks, zero in the unused bits. */
#include "engine/base/base64.h"
#include "engine/base/doc.h"
#include "tests/support/look_counter.h"
#include "tests/support/suite.h"
#include "wire/codec.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Exactly sized copies, so that the address sanitizer sees every byte too far. */
static enum err_code decode(const char *text, size_t len, char **out, size_t *out_len,
                            struct err *err)
{
    char *exact = malloc(len > 0 ? len : 1);
    memcpy(exact, text, len);
    *err = (struct err){0};
    *out = malloc(base64_decoded_size(len));
    *out_len = SIZE_MAX;
    enum err_code code = base64_decode(*out, out_len, exact, len, 0, err);
    ck_assert_int_eq(code, err->code);
    free(exact);
    return err->code;
}

static void expect_bytes(const char *text, const char *bytes, size_t bytes_len)
{
    char *out;
    size_t len;
    struct err err;
    ck_assert_msg(decode(text, strlen(text), &out, &len, &err) == ERR_OK, "%s", err.text);
    ck_assert_uint_eq(len, bytes_len);
    ck_assert(memcmp(out, bytes, bytes_len) == 0);
    free(out);
}

static void expect_error(const char *text, size_t text_len, const char *words)
{
    char *out;
    size_t len;
    struct err err;
    ck_assert_msg(decode(text, text_len, &out, &len, &err) == ERR_UNUSABLE, "accepted: %s", text);
    ck_assert_str_eq(err.text, words);
    free(out);
}

static struct json_t *load(const char *path)
{
    struct json_t *root;
    struct err err = {0};
    ck_assert_msg(doc_parse_file(&root, path, 1 << 20, &err) == ERR_OK, "%s", err.text);
    return root;
}

START_TEST(base64_decodes_the_vectors_of_rfc_4648)
{
    json_t *root = load("tests/data/base64/rfc4648_base64.json");
    size_t i;
    json_t *pair;
    ck_assert_uint_eq(json_array_size(root), 7);
    json_array_foreach(root, i, pair)
    {
        const char *plain = json_string_value(json_array_get(pair, 0));
        const char *text = json_string_value(json_array_get(pair, 1));
        char encoded[16];
        expect_bytes(text, plain, strlen(plain));
        base64_encode(encoded, plain, strlen(plain));
        ck_assert_str_eq(encoded, text);
    }
    doc_free(root);
}
END_TEST

/* True if a good vector of the forgiving decoder is good for the strict decoder, too. */
static int is_strict(const char *text, size_t len)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (len % 4 != 0 || strcspn(text, " \t\n\f\r") != len)
        return 0;
    size_t data = strcspn(text, "=");
    size_t last = data > 0 ? (size_t)(strchr(alphabet, text[data - 1]) - alphabet) : 0;
    return len - data == 2 ? last % 16 == 0 : len - data == 1 ? last % 4 == 0 : 1;
}

START_TEST(base64_reads_the_forgiving_vectors_strictly)
{
    json_t *root = load("tests/data/base64/wpt_base64.json");
    size_t i, accepted = 0;
    json_t *pair;
    json_array_foreach(root, i, pair)
    {
        const json_t *text = json_array_get(pair, 0), *bytes = json_array_get(pair, 1);
        size_t text_len = json_string_length(text), len;
        char *out;
        struct err err;
        decode(json_string_value(text), text_len, &out, &len, &err);
        int good = json_is_array(bytes) && is_strict(json_string_value(text), text_len);
        ck_assert_msg((err.code == ERR_OK) == good, "vector %zu: %s", i, err.text);
        for (size_t k = 0; good && k < json_array_size(bytes); k++)
            ck_assert_int_eq((unsigned char)out[k],
                             (int)json_number_value(json_array_get(bytes, k)));
        if (good)
            ck_assert_uint_eq(len, json_array_size(bytes));
        accepted += (size_t)good;
        free(out);
    }
    ck_assert_uint_gt(accepted, 1);
    ck_assert_uint_gt(i, 60);
    doc_free(root);
}
END_TEST

START_TEST(base64_errors_tell_the_offset)
{
    expect_error("Zm9v Zg==", 9, "invalid character at offset 4");
    expect_error("Zm9-", 4, "invalid character at offset 3");
    expect_error("Zm9_Zg==", 8, "invalid character at offset 3");
    expect_error("Zm9v\nZm9v", 9, "invalid character at offset 4");
    expect_error("Zm9v\0AAA", 8, "invalid character at offset 4");
    expect_error("Zm9\xC3", 4, "invalid character at offset 3");
    expect_error("Zg==Zg==", 8, "'=' at offset 2 is not in the last two places");
    expect_error("Zg=v", 4, "'=' at offset 2 is not in the last two places");
    expect_error("====", 4, "'=' at offset 0 is not in the last two places");
    expect_error("Zg=", 3, "3 characters are not a multiple of 4");
    expect_error("Zg", 2, "2 characters are not a multiple of 4");
    expect_error("==", 2, "2 characters are not a multiple of 4");
    expect_error("Zh==", 4, "unused bits are not zero at offset 1");
    expect_error("Zk==", 4, "unused bits are not zero at offset 1");
    expect_error("Zm9vZm9=", 8, "unused bits are not zero at offset 6");
}
END_TEST

START_TEST(base64_adds_the_origin_to_offsets)
{
    struct err err = {0};
    char out[16];
    size_t len;
    ck_assert_int_eq(base64_decode(out, &len, "Zm9-", 4, 22, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "invalid character at offset 25");
}
END_TEST

START_TEST(base64_prefix_finds_the_first_foreign_byte_wherever_it_stands)
{
    char text[300];
    for (int byte = 0; byte < 256; byte++) {
        int known = byte != 0 && strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                        "0123456789+/",
                                        byte) != NULL;
        for (size_t at = 0; at < sizeof text; at += 13) {
            memset(text, 'k', sizeof text);
            text[at] = (char)byte;
            ck_assert_uint_eq(base64_prefix(text, sizeof text), known ? sizeof text : at);
        }
    }
    ck_assert_uint_eq(base64_prefix(text, 0), 0);
}
END_TEST

START_TEST(base64_encodes_without_line_breaks_and_decodes_back)
{
    char plain[700], encoded[1000];
    for (size_t i = 0; i < sizeof plain; i++)
        plain[i] = (char)(i * 181 + i / 7);
    for (size_t len = 0; len <= sizeof plain; len++) {
        char *exact = malloc(base64_encoded_size(len));
        base64_encode(exact, plain, len);
        ck_assert_uint_eq(strlen(exact) + 1, base64_encoded_size(len));
        memcpy(encoded, exact, base64_encoded_size(len));
        free(exact);
        expect_bytes(encoded, plain, len);
    }
}
END_TEST

START_TEST(base64_refuses_every_single_foreign_byte)
{
    char text[] = "AAAAAAAA";
    for (int byte = 0; byte < 256; byte++)
        for (size_t at = 0; at < 8; at++) {
            memset(text, 'A', 8);
            text[at] = (char)byte;
            char *out;
            size_t len;
            struct err err;
            int good = base64_prefix(text + at, 1) == 1 || (byte == '=' && at == 7);
            ck_assert_int_eq(decode(text, 8, &out, &len, &err) == ERR_OK, good);
            free(out);
        }
}
END_TEST

START_TEST(base64_is_left_at_any_of_its_megabytes)
{
    enum { MEGABYTES = 3, LEN = MEGABYTES << 20 };
    static char text[LEN], out[LEN];
    memset(text, 'A', LEN);
    for (unsigned last = 1; last <= MEGABYTES + 1; last++) {
        struct look_counter counter;
        struct err err = {0};
        size_t len;
        struct interrupt *interrupt = look_counter_init(&counter, last);
        ck_assert_int_eq(base64_decode_while(out, &len, text, LEN, 0, interrupt, &err),
                         last <= MEGABYTES ? ERR_DEADLINE : ERR_OK);
        ck_assert_uint_eq(counter.looks, last <= MEGABYTES ? last : MEGABYTES);
    }
}
END_TEST

/* All of it but the image is known by then. */
START_TEST(a_call_is_left_while_its_image_is_decoded)
{
    enum { LEN = 1 << 20 };
    static const char head[] = "{\"image\":\"", tail[] = "\",\"deadline_ms\":7}";
    static char body[LEN + sizeof head + sizeof tail];
    struct look_counter counter;
    struct codec_limits limits = {.inputs_max = 1, .interrupt = look_counter_init(&counter, 1)};
    struct predict_call call;
    struct arena arena;
    struct err err = {0};
    size_t len = strlen(head) + LEN + strlen(tail);
    memcpy(body, head, strlen(head));
    memset(body + strlen(head), 'A', LEN);
    memcpy(body + strlen(head) + LEN, tail, strlen(tail));
    arena_init(&arena);
    ck_assert_int_eq(codec_parse_json(&call, body, len, &limits, &arena, &err), ERR_DEADLINE);
    ck_assert_str_eq(err.text, "enough");
    ck_assert_uint_eq(call.deadline_ms, 7);
    ck_assert_uint_eq(counter.looks, 1);
    arena_deinit(&arena);
}
END_TEST

START_TEST(base64_sizes_are_what_is_written_and_a_nul)
{
    static const size_t decoded[][2] = {{0, 1}, {3, 1}, {4, 4}, {7, 4}, {8, 7}, {4000, 3001}};
    static const size_t encoded[][2] = {{0, 1}, {1, 5}, {2, 5}, {3, 5}, {4, 9}, {51, 69}};
    for (size_t i = 0; i < 6; i++) {
        ck_assert_uint_eq(base64_decoded_size(decoded[i][0]), decoded[i][1]);
        ck_assert_uint_eq(base64_encoded_size(encoded[i][0]), encoded[i][1]);
    }
}
END_TEST

/* Longer than one piece by one group, in a room that is larger than what may be written. */
START_TEST(base64_decodes_no_more_than_there_is)
{
    enum { LEN = (1 << 20) + 4, OUT = LEN / 4 * 3, ROOM = 2 * LEN };
    char *text = malloc(ROOM), *out = malloc(ROOM);
    struct err err = {0};
    size_t len = 0;
    memset(text, 'A', ROOM);
    memset(out, 0x5A, ROOM);
    ck_assert_int_eq(base64_decode(out, &len, text, LEN, 0, &err), ERR_OK);
    ck_assert_uint_eq(len, OUT);
    size_t wrong = 0;
    for (size_t i = 0; i < ROOM; i++)
        wrong += i != OUT && out[i] != (i < OUT ? 0 : 0x5A);
    ck_assert_uint_eq(wrong, 0);
    free(text);
    free(out);
}
END_TEST

static enum err_code decode_sent(const char *text, char **out, size_t *out_len, struct err *err)
{
    size_t len = strlen(text);
    char *exact = malloc(len > 0 ? len : 1);
    memcpy(exact, text, len);
    *err = (struct err){0};
    *out = malloc(base64_sent_size(len));
    base64_decode_sent(*out, out_len, exact, len, 7, NULL, err);
    free(exact);
    return err->code;
}

START_TEST(base64_reads_line_ends_and_the_url_safe_alphabet_as_sent)
{
    static const struct {
        const char *text, *bytes;
    } good[] = {
        {"", ""},
        {"Zm9v", "foo"},
        {"Zm9v\nYmFy", "foobar"},
        {"Zm9v\r\nYmE=\r\n", "fooba"},
        {"Zm9vYg=\n=\n", "foob"},
        {"\n", ""},
        {"-__-", "\xFB\xFF\xFE"},
        {"+//+", "\xFB\xFF\xFE"},
        {"-_8=", "\xFB\xFF"},
        {"-_8", "\xFB\xFF"},
        {"-w", "\xFB"},
        {"Zm9v\n-_8", "foo\xFB\xFF"},
    };
    static const struct {
        const char *text, *error;
    } bad[] = {
        {"Zm9v-/8=",
         "characters of both alphabets, the standard and the URL-safe one, at offset 12"},
        {"+_8=", "characters of both alphabets, the standard and the URL-safe one, at offset 8"},
        {"-_9=", "unused bits are not zero at offset 9"},
        {"-_9", "unused bits are not zero at offset 9"},
        {"-", "1 characters are not a multiple of 4"},
        {"-_8==", "5 characters are not a multiple of 4"},
        {"Zm9v\nYg", "6 characters are not a multiple of 4"},
        {"Zm9v Yg==", "invalid character at offset 11"},
        {"Zm9v\n Yg==", "invalid character at offset 12"},
        {"Zm9vYg=\n=\nZm9v", "a character behind '=' at offset 17"},
        {"\n====", "4 characters are not a multiple of 4"},
        {"Zg", "2 characters are not a multiple of 4"},
    };
    char *out;
    size_t len = 0;
    struct err err;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ck_assert_msg(!decode_sent(good[i].text, &out, &len, &err), "%s: %s", good[i].text,
                      err.text);
        ck_assert_uint_eq(len, strlen(good[i].bytes));
        ck_assert(memcmp(out, good[i].bytes, len) == 0);
        free(out);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_msg(decode_sent(bad[i].text, &out, &len, &err) == ERR_UNUSABLE, "%s",
                      bad[i].text);
        ck_assert_str_eq(err.text, bad[i].error);
        free(out);
    }
}
END_TEST

SUITE("base64", base64_reads_line_ends_and_the_url_safe_alphabet_as_sent,
      base64_sizes_are_what_is_written_and_a_nul, base64_decodes_no_more_than_there_is,
      base64_is_left_at_any_of_its_megabytes, a_call_is_left_while_its_image_is_decoded,
      base64_decodes_the_vectors_of_rfc_4648, base64_reads_the_forgiving_vectors_strictly,
      base64_errors_tell_the_offset, base64_adds_the_origin_to_offsets,
      base64_prefix_finds_the_first_foreign_byte_wherever_it_stands,
      base64_encodes_without_line_breaks_and_decodes_back, base64_refuses_every_single_foreign_byte)
