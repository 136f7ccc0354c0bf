/* Media types that a body may have, and its encodings, over a socket. */
#include "engine/vision/image.h"
#include "engine/vision/input_formats.h"
#include "tests/support/contract.h"

#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const char sample[] = "server/ui/samples/wafer_scratch.png";

static void expect_kind(struct reply *reply, const char *model)
{
    ck_assert_str_eq(reply_text(reply, "model.name"), model);
    reply_free(reply);
}

START_TEST(a_picture_needs_no_content_type)
{
    static const char *const types[] = {"application/x-www-form-urlencoded", "image/jpg",
                                        "application/octet-stream", "image/x-png"};
    size_t len;
    char *png = contract_file(sample, &len);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct reply reply = contract_post_as("/predict", types[i], png, len);
        expect_kind(&reply, "wafer-vit");
    }
    free(png);
}
END_TEST

/* The pixels of a PNG as a BMP of 24 bits. */
static unsigned char *bmp_of(const char *png, size_t png_len, size_t *len)
{
    enum { HEAD = 54 };
    struct arena arena;
    struct image image;
    struct err err = {0};
    const struct image_options options = {.pixels_max = 1 << 20};
    arena_init(&arena);
    ck_assert_int_eq(image_decode(&image, png, png_len, &options, &arena, &err), ERR_OK);
    const size_t stride = ((size_t)image.width * 3 + 3) / 4 * 4;
    *len = HEAD + stride * image.height;
    unsigned char *bmp = calloc(*len, 1);
    const unsigned fields[][2] = {
        {10, HEAD}, {14, 40}, {18, image.width}, {22, image.height}, {26, 24 << 16 | 1}};
    memcpy(bmp, "BM", 2);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        for (unsigned b = 0; b < 4; b++)
            bmp[fields[i][0] + b] = (unsigned char)(fields[i][1] >> 8 * b);
    for (size_t y = 0; y < image.height; y++)
        for (size_t x = 0; x < image.width; x++)
            for (size_t c = 0; c < 3; c++)
                bmp[HEAD + (image.height - 1 - y) * stride + 3 * x + c] =
                    image.rgb[3 * (y * image.width + x) + 2 - c];
    arena_deinit(&arena);
    return bmp;
}

START_TEST(content_answers_a_bmp_as_the_png_with_its_pixels)
{
    static const char *const types[] = {"image/bmp", "image/x-ms-bmp", "application/octet-stream",
                                        NULL};
    size_t png_len, len;
    char *png = contract_file(sample, &png_len);
    unsigned char *bmp = bmp_of(png, png_len, &len);
    struct reply expected = contract_post_as("/predict", "image/png", png, png_len);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct reply reply = contract_post_as("/predict", types[i], bmp, len);
        reply_expect_status(&reply, 200);
        ck_assert_str_eq(reply_text(&reply, "label"), reply_text(&expected, "label"));
        ck_assert_double_eq_tol(reply_number(&reply, "score"), reply_number(&expected, "score"),
                                1e-5);
        reply_free(&reply);
    }
    struct reply reply = contract_post_as("/predict", "text/plain", bmp, len);
    reply_expect_problem(&reply, 422, "unusable",
                         "body: this is a BMP picture: send its bytes as image/bmp");
    reply_free(&reply);
    reply = contract_post_as("/predict", "image/bmp", bmp, len - 4096);
    reply_expect_status(&reply, 422);
    reply_free(&reply);
    reply_free(&expected);
    free(bmp);
    free(png);
}
END_TEST

START_TEST(content_names_the_remedy_for_a_text_without_its_type)
{
    struct reply reply =
        contract_post_as("/predict", "application/x-www-form-urlencoded", "BIN 7 FAIL", 10);
    reply_expect_problem(&reply, 400, "malformed",
                         "unknown body: send JSON, or for a prediction a picture (" INPUT_FORMATS_OR
                         ") or a lot (STDF). With curl use --data-binary @FILE. For plain text add "
                         "Content-Type: text/plain");
    reply_free(&reply);
}
END_TEST

/* gzip -n9 of "possible deadlock". */
static const char packed[] = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x2b\xc8\x2f\x2e\xce\x4c\xca"
                             "\x49\x55\x48\x49\x4d\x4c\xc9\xc9\x4f\xce\x06\x00\x12\x1c\xdf\xbd\x11"
                             "\x00\x00\x00";

START_TEST(texts_may_be_packed_or_in_another_charset)
{
    static const struct {
        const char *type, *body;
        size_t len;
    } cases[] = {
        {"text/plain", "possible deadlock", 17},
        {"text/plain; charset=utf-16le", "p\0o\0s\0s\0i\0b\0l\0e\0 \0d\0e\0a\0d\0l\0o\0c\0k\0", 34},
        {"text/plain\r\nContent-Encoding: gzip", packed, sizeof packed - 1},
    };
    char score[32] = "";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reply reply =
            contract_post_as("/predict", cases[i].type, cases[i].body, cases[i].len);
        char now[32];
        snprintf(now, sizeof now, "%.9g", reply_number(&reply, "score"));
        if (i == 0)
            strcpy(score, now);
        ck_assert_str_eq(now, score);
        reply_free(&reply);
    }
}
END_TEST

START_TEST(a_packed_bomb_is_413)
{
    static char bomb[64 * 1024];
    static char zeros[1024 * 1024];
    z_stream stream = {.next_out = (Bytef *)bomb, .avail_out = sizeof bomb};
    ck_assert_int_eq(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
                     Z_OK);
    for (int i = 0; i < 33; i++) {
        stream.next_in = (Bytef *)zeros;
        stream.avail_in = sizeof zeros;
        ck_assert_int_eq(deflate(&stream, i < 32 ? Z_NO_FLUSH : Z_FINISH),
                         i < 32 ? Z_OK : Z_STREAM_END);
    }
    deflateEnd(&stream);
    struct reply reply = contract_post_as("/predict", "text/plain\r\nContent-Encoding: gzip", bomb,
                                          sizeof bomb - stream.avail_out);
    reply_expect_problem(&reply, 413, "too_large", "the body unpacks to more than 33554432 bytes");
    reply_free(&reply);
    reply = contract_post_as("/predict", "text/plain\r\nContent-Encoding: gzip", packed,
                             sizeof packed - 4);
    reply_expect_problem(&reply, 400, "malformed", "body: the gzip data are cut off");
    reply_free(&reply);
}
END_TEST

/* Clients send these in place of a text, or inside one. */
START_TEST(content_refuses_other_formats_in_place_of_a_text_by_name)
{
    static const char request[] = "{\"text\":\"possible deadlock\"}";
    struct reply reply = contract_post_as("/predict", "text/plain", request, strlen(request));
    reply_expect_problem(&reply, 422, "unusable", "body: this is a request in JSON, not a text");
    reply_free(&reply);
    reply = contract_post("{\"text\":\"{\\\"text\\\":\\\"possible deadlock\\\"}\"}");
    reply_expect_problem(&reply, 422, "unusable", "$.text: this is a request in JSON, not a text");
    reply_free(&reply);
    reply = contract_post("{\"inputs\":[{\"text\":\"FAR:A|4|2|U\\nMIR:LOT1\"}]}");
    reply_expect_problem_at(&reply, "results.0", 422, "unusable",
                            "$.inputs[0].text: this is an ATDF file, not a log");
    reply_free(&reply);
    reply = contract_post("{\"image\":\"SUkqAAgAAAAAAAAA\"}");
    reply_expect_problem(&reply, 422, "unusable",
                         "$.image: this is a TIFF picture: convert it to " INPUT_FORMATS_OR);
    reply_free(&reply);
    reply = contract_post("{\"image\":\"http://fab/wafer.png\"}");
    reply_expect_problem(&reply, 422, "unusable", "$.image: this is a URL or a path");
    reply_free(&reply);
}
END_TEST

START_TEST(content_reads_json_in_another_charset_or_names_the_remedy)
{
    static const char latin[] = "{\"text\":\"possible \xB5 deadlock\"}";
    struct reply reply = contract_post(latin);
    reply_expect_problem(&reply, 422, "unusable",
                         "invalid UTF-8 at byte 18; if the JSON has another charset, name it: "
                         "Content-Type: application/json; charset=windows-1252");
    reply_free(&reply);
    reply = contract_post_as("/predict", "application/json; charset=iso-8859-1", latin,
                             sizeof latin - 1);
    reply_expect_status(&reply, 200);
    reply_free(&reply);
}
END_TEST

START_TEST(more_inputs_than_are_allowed_are_counted)
{
    static char body[200000] = "{\"inputs\": [";
    size_t len = strlen(body);
    for (int i = 0; i < 5000; i++)
        len += (size_t)sprintf(body + len, "%s{\"text\": \"a ] , \\\" b\"}", i > 0 ? "," : "");
    strcpy(body + len, "]}");
    struct reply reply = contract_post(body);
    reply_expect_problem(&reply, 413, "too_large", "$.inputs: at most 64 inputs, found 5000");
    reply_free(&reply);
}
END_TEST

static const char *const options[] = {NULL};

CONTRACT_SUITE("contract_content", options, a_picture_needs_no_content_type,
               content_answers_a_bmp_as_the_png_with_its_pixels,
               content_names_the_remedy_for_a_text_without_its_type,
               texts_may_be_packed_or_in_another_charset, a_packed_bomb_is_413,
               content_refuses_other_formats_in_place_of_a_text_by_name,
               content_reads_json_in_another_charset_or_names_the_remedy,
               more_inputs_than_are_allowed_are_counted)
