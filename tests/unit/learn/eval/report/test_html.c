#include "engine/base/base64.h"
#include "engine/vision/png.h"
#include "learn/eval/report/html.h"
#include "learn/eval/report/html_image.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdlib.h>
#include <string.h>

/* A FILE in memory, compared and freed. */
struct memory {
    FILE *file;
    char *text;
    size_t len;
};

static void memory_open(struct memory *memory)
{
    memory->file = open_memstream(&memory->text, &memory->len);
    ck_assert_ptr_nonnull(memory->file);
}

static void expect(struct memory *memory, const char *expected)
{
    fclose(memory->file);
    ck_assert_str_eq(memory->text, expected);
    free(memory->text);
}

static void expect_text(const char *text, size_t len, const char *expected)
{
    struct memory memory;
    memory_open(&memory);
    html_text_bytes(memory.file, text, len);
    expect(&memory, expected);
}

#define EXPECT_TEXT(text, expected) expect_text(text, sizeof(text) - 1, expected)

START_TEST(html_text_has_no_markup)
{
    EXPECT_TEXT("<script>alert('1')</script>", "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;");
    EXPECT_TEXT("\" onload=\"x&y", "&quot; onload=&quot;x&amp;y");
    EXPECT_TEXT("Edge-Loc", "Edge-Loc");
}
END_TEST

START_TEST(html_text_is_well_formed_utf8)
{
    EXPECT_TEXT("\xC3\xA9\xE2\x82\xAC", "\xC3\xA9\xE2\x82\xAC");
    EXPECT_TEXT("a\xFF<", "a\xEF\xBF\xBD&lt;");
    EXPECT_TEXT("a\xE2\x82", "a\xEF\xBF\xBD\xEF\xBF\xBD");
    EXPECT_TEXT("\xC0\xBC", "\xEF\xBF\xBD\xEF\xBF\xBD"); /* an overlong '<' */
}
END_TEST

START_TEST(html_text_shows_what_would_not_be_seen)
{
    EXPECT_TEXT("a\0b\x1B[31m", "a\xEF\xBF\xBD"
                                "b\xEF\xBF\xBD[31m");
    EXPECT_TEXT("\xE2\x80\xAE"
                "exe",
                "\xEF\xBF\xBD"
                "exe");
    EXPECT_TEXT("\xC2\x85", "\xEF\xBF\xBD");
    EXPECT_TEXT("\xC2\x9F", "\xEF\xBF\xBD");
    EXPECT_TEXT("\xC2\xA0", "\xC2\xA0");
    EXPECT_TEXT("\xC3\x85", "\xC3\x85");
    EXPECT_TEXT("\x1F \x7F~", "\xEF\xBF\xBD \xEF\xBF\xBD~");
    EXPECT_TEXT("a\tb\n", "a\tb\n");
}
END_TEST

START_TEST(html_excerpt_ends_lines_and_text)
{
    static const struct html_excerpt two = {.lines_max = 2, .line_characters_max = 4};
    static const struct {
        const char *text, *excerpt;
    } cases[] = {
        {"ab", "ab\n"},
        {"ab\n", "ab\n"},
        {"abcd\nef\ng", "abcd\nef\n\xE2\x80\xA6\n"},
        {"abcde\n", "abcd\xE2\x80\xA6\n"},
        {"<<<<<", "&lt;&lt;&lt;&lt;\xE2\x80\xA6\n"},
        {"\n\n\n", "\n\n\xE2\x80\xA6\n"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct memory memory;
        memory_open(&memory);
        html_excerpt(memory.file, cases[i].text, strlen(cases[i].text), &two);
        expect(&memory, cases[i].excerpt);
    }
}
END_TEST

/* RFC 4648, section 10. */
START_TEST(html_data_uri_is_base64)
{
    static const char *const cases[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"foobar", "Zm9vYmFy"},
                                           {"\xFF\xEF\xBE", "/+++"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[64];
        struct memory memory;
        memory_open(&memory);
        html_data_uri(memory.file, "image/png", cases[i][0], strlen(cases[i][0]));
        snprintf(expected, sizeof expected, "data:image/png;base64,%s", cases[i][1]);
        expect(&memory, expected);
    }
}
END_TEST

/* The encoder works in pieces of 3072 bytes: the pieces make one text. */
START_TEST(html_data_uri_is_base64_at_any_length)
{
    static const char head[] = "data:image/png;base64,";
    static const size_t lens[] = {3071, 3072, 3073, 3074, 3075, 6144, 6145, 10000};
    static char bytes[10000], decoded[sizeof bytes + 3];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7 + i / 256);
    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
        struct memory memory;
        struct err err = {0};
        size_t decoded_len, head_len = sizeof head - 1;
        memory_open(&memory);
        html_data_uri(memory.file, "image/png", bytes, lens[i]);
        fclose(memory.file);
        ck_assert_uint_eq(memory.len, head_len + (lens[i] + 2) / 3 * 4);
        ck_assert_mem_eq(memory.text, head, head_len);
        ck_assert(!base64_decode(decoded, &decoded_len, memory.text + head_len,
                                 memory.len - head_len, 0, &err));
        ck_assert_uint_eq(decoded_len, lens[i]);
        ck_assert_mem_eq(decoded, bytes, lens[i]);
        free(memory.text);
    }
}
END_TEST

/* Sides of at most 128 pixels, and of at least one; small images stay as they are. */
START_TEST(html_images_are_small)
{
    static const unsigned sizes[][4] = {{128, 128, 128, 128}, {129, 128, 128, 127},
                                        {300, 1, 128, 1},     {2, 256, 1, 128},
                                        {256, 64, 128, 32},   {3, 5, 3, 5}};
    static unsigned char pixels[300 * 256 * 3];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct image image = {sizes[i][0], sizes[i][1], pixels};
        struct html_image shown = {0};
        struct memory memory;
        struct tempdir dir;
        struct err err = {0};
        char *png, path[96];
        size_t len;
        ck_assert(!png_encode(&png, &len, &image, &err));
        tempdir_open(&dir);
        tempdir_write(&dir, "a.png", png, len);
        snprintf(path, sizeof path, "%s/a.png", dir.path);
        free(png);
        memory_open(&memory);
        ck_assert_msg(!html_image(memory.file, &(struct pictures){0}, path, &shown, &err), "%s",
                      err.text);
        fclose(memory.file);
        ck_assert(shown.width == sizes[i][2] && shown.height == sizes[i][3]);
        ck_assert_ptr_nonnull(
            strstr(memory.text, "<img alt=\"\" src=\"data:image/png;base64,iVBORw0KGgo"));
        free(memory.text);
        tempdir_close(&dir);
    }
}
END_TEST

START_TEST(html_images_that_cannot_be_read_write_nothing)
{
    struct html_image shown = {7, 7};
    struct memory memory;
    struct err err = {0};
    memory_open(&memory);
    ck_assert_int_eq(html_image(memory.file, &(struct pictures){0}, "/no/where.png", &shown, &err),
                     ERR_UNUSABLE);
    err = (struct err){0};
    ck_assert_int_eq(
        html_image(memory.file, &(struct pictures){0}, "tests/data/eval/NOTICE.md", &shown, &err),
        ERR_UNUSABLE);
    ck_assert(shown.width == 7 && shown.height == 7);
    expect(&memory, "");
}
END_TEST

/* U+202A to 202E and 2066 to 2069, and no neighbour of theirs. */
START_TEST(html_text_shows_every_turn_of_direction)
{
    for (unsigned code = 0x2000; code < 0x20C0; code++) {
        bool turns = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
        const char text[] = {(char)0xE2, (char)(0x80 | (code >> 6 & 63)),
                             (char)(0x80 | (code & 63)), '\0'};
        const char same[] = {(char)0xE3, text[1], text[2], '\0'}; /* of another block */
        EXPECT_TEXT(text, turns ? "\xEF\xBF\xBD" : text);
        EXPECT_TEXT(same, same);
    }
}
END_TEST

SUITE("html", html_images_are_small, html_images_that_cannot_be_read_write_nothing,
      html_text_has_no_markup, html_text_is_well_formed_utf8,
      html_text_shows_what_would_not_be_seen, html_excerpt_ends_lines_and_text,
      html_data_uri_is_base64, html_data_uri_is_base64_at_any_length,
      html_text_shows_every_turn_of_direction)
