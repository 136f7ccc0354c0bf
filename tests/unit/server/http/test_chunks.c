#include "server/http/layout.h"

#include "tests/support/suite.h"

#include <string.h>

#define BYTES(text) text, sizeof text - 1

enum { FAILED, OPEN, WHOLE };

static int state_of(const struct chunks *chunks)
{
    ck_assert(!chunks->has_failed || !chunks->is_whole);
    return chunks->has_failed ? FAILED : chunks->is_whole ? WHOLE : OPEN;
}

static const struct {
    const char *bytes;
    size_t len;
    int state;
} rows[] = {
    {BYTES("5\r\nhello\r\n0\r\n\r\n"), WHOLE},
    {BYTES("0\r\n\r\n"), WHOLE},
    {BYTES("00000005;a=\"b\"\t;c\r\nhello\r\na\r\n0123456789\r\n0;x\r\nX: y\r\nZ:\r\n\r\n"), WHOLE},
    {BYTES("5\r\nhello\r\n0\r\n\r\nGET / HTTP/1.1\r\n"), WHOLE}, /* the bytes behind are not read */
    {BYTES("2\r\n\r\n\r\n0\r\n\r\n"), WHOLE},
    {BYTES("5\r\nhell"), OPEN},
    {BYTES("5\r\nhello\r\n0\r\n"), OPEN},
    {BYTES("5\r\nhello\r\n0\r\nX: y\r\n"), OPEN},
    {BYTES("4\nabcd\r\n0\r\n\r\n"), FAILED},
    {BYTES("4;a\nabcd\r\n0\r\n\r\n"), FAILED},
    {BYTES("4;a\0b\r\nabcd\r\n0\r\n\r\n"), FAILED},
    {BYTES("4;a\x7F\r\nabcd\r\n0\r\n\r\n"), FAILED},
    {BYTES("4;a\rb\r\nabcd\r\n0\r\n\r\n"), FAILED},
    {BYTES("4 \r\nabcd\r\n0\r\n\r\n"), FAILED},
    {BYTES(" 4\r\nabcd\r\n0\r\n\r\n"), FAILED},
    {BYTES("\r\nabcd\r\n0\r\n\r\n"), FAILED},
    {BYTES(";a\r\nabcd\r\n0\r\n\r\n"), FAILED},
    {BYTES("0x4\r\nabcd\r\n0\r\n\r\n"), FAILED},
    {BYTES("-4\r\nabcd\r\n0\r\n\r\n"), FAILED},
    {BYTES("g\r\nabcd\r\n0\r\n\r\n"), FAILED},
    {BYTES("00000000000000004\r\nabcd\r\n0\r\n\r\n"), FAILED}, /* 17 digits */
    {BYTES("4\r\nabcd\n0\r\n\r\n"), FAILED},
    {BYTES("4\r\nabcd0\r\n\r\n"), FAILED},
    {BYTES("4\r\nabcde\r\n0\r\n\r\n"), FAILED},
    {BYTES("4\r\nabcd\r\n0\n\n"), FAILED},
    {BYTES("4\r\nabcd\r\n0\r\n\n"), FAILED},
    {BYTES("4\r\nabcd\r\n0\r\n: y\r\n\r\n"), FAILED},
    {BYTES("4\r\nabcd\r\n0\r\nX: y\n\r\n"), FAILED},
    {BYTES("4\r\nabcd\r\n0\r\nX: \0\r\n\r\n"), FAILED},
    {BYTES("4\r\nabcd\r\n0\r\nX: y\r\n z\r\n\r\n"), FAILED},
};

START_TEST(chunks_read_what_the_standard_has_and_nothing_else)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct chunks chunks = {0};
        chunks_read(&chunks, rows[i].bytes, rows[i].len);
        ck_assert_msg(state_of(&chunks) == rows[i].state, "row %zu: %d", i, state_of(&chunks));
    }
}
END_TEST

START_TEST(chunks_are_the_same_however_their_bytes_come)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t cut = 0; cut <= rows[i].len; cut++) {
            struct chunks chunks = {0}, single = {0};
            chunks_read(&chunks, rows[i].bytes, cut);
            chunks_read(&chunks, rows[i].bytes + cut, rows[i].len - cut);
            ck_assert_msg(state_of(&chunks) == rows[i].state, "row %zu, cut at %zu", i, cut);
            for (size_t at = 0; at < cut; at++)
                chunks_read(&single, rows[i].bytes + at, 1);
            chunks_read(&single, rows[i].bytes + cut, rows[i].len - cut);
            ck_assert_msg(state_of(&single) == rows[i].state, "row %zu, %zu bytes", i, cut);
        }
}
END_TEST

SUITE("chunks", chunks_read_what_the_standard_has_and_nothing_else,
      chunks_are_the_same_however_their_bytes_come)
