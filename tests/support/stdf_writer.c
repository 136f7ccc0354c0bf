#include "tests/support/stdf_writer.h"

#include <check.h>
#include <string.h>

static void put_u2(const struct stdf_writer *writer, unsigned char *out, unsigned value)
{
    out[writer->big_endian ? 1 : 0] = (unsigned char)value;
    out[writer->big_endian ? 0 : 1] = (unsigned char)(value >> 8);
}

void stdf_writer_record(struct stdf_writer *writer, unsigned type, unsigned subtype,
                        const void *body, size_t len)
{
    unsigned char *at = writer->bytes + writer->len;
    ck_assert_uint_le(len + 4, sizeof writer->bytes - writer->len);
    put_u2(writer, at, (unsigned)len);
    at[2] = (unsigned char)type;
    at[3] = (unsigned char)subtype;
    memcpy(at + 4, body, len);
    writer->len += len + 4;
}

/* `fixed` bytes of zeros, then a counted string. */
static void put_with_text(struct stdf_writer *writer, unsigned type, unsigned subtype, size_t fixed,
                          unsigned head, const char *text)
{
    unsigned char body[512] = {0};
    size_t len = strlen(text);
    ck_assert_uint_lt(len, 256);
    body[0] = (unsigned char)head;
    body[fixed] = (unsigned char)len;
    memcpy(body + fixed + 1, text, len);
    stdf_writer_record(writer, type, subtype, body, fixed + 1 + len);
}

void stdf_writer_open(struct stdf_writer *writer, bool big_endian)
{
    unsigned char far[2] = {big_endian ? 1 : 2, 4};
    *writer = (struct stdf_writer){.big_endian = big_endian};
    stdf_writer_record(writer, 0, 10, far, sizeof far);
    put_with_text(writer, 1, 10, 15, 0, "LOT7");
}

void stdf_writer_close(struct stdf_writer *writer)
{
    stdf_writer_record(writer, 1, 20, "\0\0\0\0", 4);
}

void stdf_writer_wafer(struct stdf_writer *writer, unsigned head, const char *id)
{
    put_with_text(writer, 2, 10, 6, head, id);
}

void stdf_writer_wafer_end(struct stdf_writer *writer, unsigned head, const char *id)
{
    put_with_text(writer, 2, 20, 26, head, id);
}

void stdf_writer_die(struct stdf_writer *writer, unsigned head, int x, int y, unsigned flag,
                     unsigned hard_bin)
{
    unsigned char pir[2] = {(unsigned char)head, 1};
    unsigned char prr[13] = {(unsigned char)head, 1, (unsigned char)flag};
    put_u2(writer, prr + 5, hard_bin);
    put_u2(writer, prr + 7, hard_bin);
    put_u2(writer, prr + 9, (unsigned)x & 0xffff);
    put_u2(writer, prr + 11, (unsigned)y & 0xffff);
    stdf_writer_record(writer, 5, 10, pir, sizeof pir);
    stdf_writer_record(writer, 5, 20, prr, sizeof prr);
}

void stdf_writer_directions(struct stdf_writer *writer, char x, char y)
{
    unsigned char wcr[20] = {0};
    wcr[18] = (unsigned char)x;
    wcr[19] = (unsigned char)y;
    stdf_writer_record(writer, 2, 30, wcr, sizeof wcr);
}
