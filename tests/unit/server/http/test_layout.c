/* test_layout.c - heads and chunk lines as the library leaves them in memory. */
#include "server/http/layout.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS = 4 };

/* A head in memory of exactly its size, so that a sanitizer sees a byte too far. `|` stands for the
 * NUL that the library writes. */
struct parsed {
    char *memory;
    struct layout_head head;
    struct framing_field fields[FIELDS];
    size_t count;
};

static char *copy_with_nuls(const char *text, size_t len)
{
    char *memory = malloc(len);
    for (size_t i = 0; i < len; i++)
        memory[i] = text[i] == '|' ? '\0' : text[i];
    return memory;
}

static const char *skip_nuls(const char *at, const char *end)
{
    while (at < end && *at == '\0')
        at++;
    return at;
}

/* Finds parts as the library does: names end at a NUL, values begin behind blanks. */
static void parse(struct parsed *out, const char *text)
{
    size_t len = strlen(text);
    *out = (struct parsed){.memory = copy_with_nuls(text, len)};
    const char *at = out->memory, *end = at + len;
    out->head = (struct layout_head){.method = at, .bytes = len};
    out->head.target = at + strlen(at) + 1;
    out->head.target_len = strlen(out->head.target);
    out->head.version = out->head.target + out->head.target_len + 1;
    at = skip_nuls(out->head.version + strlen(out->head.version), end);
    while (at < end && out->count < FIELDS) {
        struct framing_field *field = &out->fields[out->count++];
        field->name = at;
        field->name_len = strlen(at);
        field->value = at + field->name_len + 1;
        field->value += strspn(field->value, " \t");
        field->value_len = strlen(field->value);
        at = skip_nuls(field->value + field->value_len, end);
    }
}

static enum err_code check_parsed(struct parsed *parsed)
{
    struct err err = {0};
    enum err_code code = layout_check_head(&parsed->head, parsed->fields, parsed->count, &err);
    free(parsed->memory);
    return code;
}

START_TEST(layout_accepts_heads_whose_parts_join_up)
{
    static const char *const rows[] = {
        "GET|/|HTTP/1.0||||",
        "GET|/|HTTP/1.1||Host|h||||",
        "GET|/a b?c=d|HTTP/1.1||Host| \t h \t||||",
        "POST|/|HTTP/1.1||Host| h||A| b||C|d||||",
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct parsed parsed;
        parse(&parsed, rows[i]);
        ck_assert_msg(check_parsed(&parsed) == ERR_OK, "%s", rows[i]);
    }
}
END_TEST

START_TEST(layout_refuses_heads_with_a_byte_that_belongs_to_no_part)
{
    static const char *const rows[] = {
        "GET|/|HTTP/1.0|||",              /* LF at the end */
        "GET|/|HTTP/1.1|Host|h||||",      /* LF after the request line */
        "GET|/|HTTP/1.1||Host|h|A|b||||", /* LF after a field */
        "GET|/|HTTP/1.1||Host|h|||||",    /* a NUL in front of the empty line */
        "GET|/|HTTP/1.1||Host|h|||x||||", /* an empty name, or a NUL in a value */
        "GET||/|HTTP/1.1||Host|h||||",    /* two spaces */
        "GET|/|HTTP/1.1|||Host|h||||",    /* a blank too much */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct parsed parsed;
        parse(&parsed, rows[i]);
        ck_assert_msg(check_parsed(&parsed) == ERR_MALFORMED, "%s", rows[i]);
    }
}
END_TEST

START_TEST(layout_refuses_a_part_that_lies_elsewhere)
{
    static const char text[] = "GET|/|HTTP/1.1||Host|h||A|b||||";
    static const char elsewhere[] = "A\0b";
    struct parsed parsed;
    parse(&parsed, text);
    parsed.fields[1].name = elsewhere;
    ck_assert_int_eq(check_parsed(&parsed), ERR_MALFORMED);
    parse(&parsed, text);
    parsed.fields[1].value = elsewhere + 2;
    ck_assert_int_eq(check_parsed(&parsed), ERR_MALFORMED);
    parse(&parsed, text);
    parsed.head.version = "HTTP/1.1";
    ck_assert_int_eq(check_parsed(&parsed), ERR_MALFORMED);
    parse(&parsed, text);
    parsed.count = 1; /* a field that was not reported */
    ck_assert_int_eq(check_parsed(&parsed), ERR_MALFORMED);
    parse(&parsed, text);
    parsed.head.bytes--;
    ck_assert_int_eq(check_parsed(&parsed), ERR_MALFORMED);
}
END_TEST

/* Each text is what one read brought; the next lies at the same place. */
START_TEST(layout_follows_chunks_through_one_read_and_into_the_next)
{
    char memory[64];
    bool is_first = false;
    struct err err = {0};
    struct layout_chunks chunks = {.buffer = memory, .end = memory};
    memcpy(memory, "5;a=b\r\nhello\r\n2\r\nxy\r\n3\r\nab", 27);
    ck_assert_int_eq(layout_check_chunk(&chunks, memory + 7, 5, &is_first, &err), ERR_OK);
    ck_assert(is_first);
    ck_assert_int_eq(layout_check_chunk(&chunks, memory + 17, 2, &is_first, &err), ERR_OK);
    ck_assert(!is_first);
    ck_assert_int_eq(layout_check_chunk(&chunks, memory + 24, 2, &is_first, &err), ERR_OK);
    ck_assert(!is_first);
    strcpy(memory, "c\r\n1;long extension before this\r\nz");
    ck_assert_int_eq(layout_check_chunk(&chunks, memory, 1, &is_first, &err), ERR_OK);
    ck_assert(is_first);
    ck_assert_int_eq(layout_check_chunk(&chunks, strchr(memory, 'z'), 1, &is_first, &err), ERR_OK);
    ck_assert(!is_first);
    strcpy(memory, "\r\n1;an extension that reaches behind the piece before\r\nz");
    ck_assert_int_eq(layout_check_chunk(&chunks, strchr(memory, 'z'), 1, &is_first, &err), ERR_OK);
    ck_assert(is_first);
}
END_TEST

START_TEST(layout_refuses_chunk_lines_that_readers_read_differently)
{
    static const struct {
        const char *text;
        size_t len;
    } rows[] = {{"5\nx", 2},        {"5;a\nx", 4},       {"5;\r\r\nx", 5}, {"5;\0\r\nx", 5},
                {"\n5\r\nx", 4},    {"\r5\r\nx", 4},     {" 5\r\nx", 4},   {"5 \r\nx", 4},
                {"0x5\r\nx", 5},    {";a\r\nx", 4},      {"\r\n\r\nx", 4}, {"5\r\n5\r\nx", 6},
                {"5;\x7F\r\nx", 5}, {"\r\n5\r\n\nx", 6}, {"5\r\rx", 3}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *memory = malloc(rows[i].len + 1);
        bool is_first;
        struct err err = {0};
        struct layout_chunks chunks = {.buffer = memory, .end = memory};
        memcpy(memory, rows[i].text, rows[i].len + 1);
        ck_assert_msg(layout_check_chunk(&chunks, memory + rows[i].len, 1, &is_first, &err) ==
                          ERR_MALFORMED,
                      "row %zu", i);
        free(memory);
    }
}
END_TEST

/* The line in front of the first piece of a chunked body, and whether it is one. */
START_TEST(layout_knows_the_line_of_a_chunk)
{
    static const struct {
        const char *line;
        bool is_line;
    } cases[] = {{"1\r\n", true},       {"f\r\n", true},     {"F\r\n", true},
                 {"09afAF\r\n", true},  {"1;\r\n", true},    {"1;a=\"b\"\t\r\n", true},
                 {"\r\n1\r\n", true},   {"g\r\n", false},    {"G\r\n", false},
                 {"`\r\n", false},      {"@\r\n", false},    {":\r\n", false},
                 {"/\r\n", false},      {"\r\n", false},     {"1 \r\n", false},
                 {"1\n", false},        {"1\r", false},      {"1;\x1F\r\n", false},
                 {"1;\x7F\r\n", false}, {"1;\n\r\n", false}, {"\n1\r\n", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char read[32];
        struct err err = {0};
        bool is_first = false;
        snprintf(read, sizeof read, "%sX", cases[i].line);
        const char *piece = read + strlen(cases[i].line);
        struct layout_chunks chunks = {.buffer = read, .end = read};
        enum err_code code = layout_check_chunk(&chunks, piece, 1, &is_first, &err);
        ck_assert_msg(code == (cases[i].is_line ? ERR_OK : ERR_MALFORMED), "case %zu", i);
        ck_assert_int_eq(err.code, code);
        ck_assert_ptr_eq(chunks.end, piece + 1);
    }
}
END_TEST

SUITE("layout", layout_knows_the_line_of_a_chunk, layout_accepts_heads_whose_parts_join_up,
      layout_refuses_heads_with_a_byte_that_belongs_to_no_part,
      layout_refuses_a_part_that_lies_elsewhere,
      layout_follows_chunks_through_one_read_and_into_the_next,
      layout_refuses_chunk_lines_that_readers_read_differently)
