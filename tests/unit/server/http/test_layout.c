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

SUITE("layout", layout_accepts_heads_whose_parts_join_up,
      layout_refuses_heads_with_a_byte_that_belongs_to_no_part,
      layout_refuses_a_part_that_lies_elsewhere)
