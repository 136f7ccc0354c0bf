#include "engine/base/file.h"
#include "engine/base/utf8.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char cases_path[] = "tests/data/tokenizer/utf8/utf8tests.txt";

static bool is_scalar(uint32_t character)
{
    return character < 0xD800 || character > 0xDFFF;
}

/* "F7 BF" -> bytes; reads up to the next colon. */
static size_t parse_hex(const char *hex, char *out)
{
    size_t len = 0;
    unsigned byte;
    for (int used; *hex != '\0' && *hex != ':' && sscanf(hex, " %2x%n", &byte, &used) == 1;
         hex += used)
        out[len++] = (char)byte;
    return len;
}

/* The offset of an invalid text is the length of its longest valid beginning. */
static void check_offset(const char *text, size_t len, size_t offset)
{
    size_t ignored;
    ck_assert_uint_lt(offset, len);
    ck_assert(utf8_valid(text, offset, &ignored));
    for (size_t end = offset + 1; end <= len; end++)
        ck_assert(!utf8_valid(text, end, &ignored));
}

/* One line of the file: "number:valid:text", "number:[in]valid hex:bytes:...". */
static int check_line(const char *line)
{
    char number[16], kind[16], text[256];
    int body = 0;
    if (sscanf(line, "%15[^:]: %15[^:]:%n", number, kind, &body) != 2 || body == 0)
        return 0;
    size_t offset = 0, len = strlen(line + body);
    memcpy(text, line + body, len);
    if (strstr(kind, "hex") != NULL)
        len = parse_hex(line + body, text);
    ck_assert_uint_gt(len, 0);
    bool valid = utf8_valid(text, len, &offset);
    ck_assert_msg(valid == (strncmp(kind, "valid", 5) == 0), "case %s", number);
    if (!valid)
        check_offset(text, len, offset);
    return 1;
}

START_TEST(utf8_agrees_with_every_case_of_the_test_file)
{
    FILE *file = fopen(cases_path, "r");
    ck_assert_ptr_nonnull(file);
    char line[512];
    int cases = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '#' && line[0] != '\0')
            cases += check_line(line);
    }
    fclose(file);
    ck_assert_int_eq(cases, 222);
}
END_TEST

START_TEST(utf8_decodes_what_it_encodes_for_every_character)
{
    for (uint32_t character = 0; character < 0x110000; character++) {
        char bytes[UTF8_BYTES_MAX];
        size_t at = 0, offset, len = utf8_encode(character, bytes);
        if (utf8_valid(bytes, len, &offset) != is_scalar(character))
            ck_abort_msg("U+%04X: validity", character);
        if (!is_scalar(character))
            continue;
        if (utf8_decode(bytes, &at) != character || at != len || utf8_count(bytes, len) != 1)
            ck_abort_msg("U+%04X does not come back", character);
        for (size_t cut = 1; cut < len; cut++)
            if (utf8_valid(bytes, cut, &offset) || offset != 0)
                ck_abort_msg("U+%04X: its first %zu bytes", character, cut);
    }
}
END_TEST

START_TEST(utf8_finds_a_bad_byte_at_every_distance_from_the_start)
{
    for (size_t at = 0; at < 40; at++)
        for (size_t len = at + 1; len < 48; len++) {
            char *text = malloc(len); /* exact, so that a sanitizer sees a read behind it */
            ck_assert_ptr_nonnull(text);
            memset(text, 'a', len);
            text[at] = (char)0xFF;
            size_t offset = 99;
            ck_assert(!utf8_valid(text, len, &offset));
            ck_assert_uint_eq(offset, at);
            free(text);
        }
}
END_TEST

START_TEST(utf8_accepts_no_bytes_at_all)
{
    size_t offset;
    ck_assert(utf8_valid("", 0, &offset));
    ck_assert_uint_eq(utf8_count("", 0), 0);
}
END_TEST

SUITE("utf8_text", utf8_agrees_with_every_case_of_the_test_file,
      utf8_decodes_what_it_encodes_for_every_character,
      utf8_finds_a_bad_byte_at_every_distance_from_the_start, utf8_accepts_no_bytes_at_all)
