/* The wire format, against bytes of its specification and of protoc's own writer. */
#include "server/otlp/otlp_spans.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

static unsigned char bytes[70000];

static struct protobuf writer(size_t size)
{
    return (struct protobuf){.bytes = bytes, .size = size};
}

static void expect(const struct protobuf *out, const char *hex)
{
    char text[256] = "";
    for (size_t i = 0; i < out->len; i++)
        sprintf(text + 2 * i, "%02x", out->bytes[i]);
    ck_assert_str_eq(text, hex);
    ck_assert(!out->is_full);
}

START_TEST(a_varint_has_seven_bits_a_byte)
{
    static const struct {
        unsigned field;
        uint64_t value;
        const char *hex;
    } cases[] = {
        {1, 0, "0800"},        {1, 127, "087f"},          {1, 128, "088001"},
        {1, 150, "089601"}, /* the specification's example */
        {15, 16383, "78ff7f"}, {16, 16384, "8001808001"}, {3, UINT64_MAX, "18ffffffffffffffffff01"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct protobuf out = writer(sizeof bytes);
        protobuf_varint(&out, cases[i].field, cases[i].value);
        expect(&out, cases[i].hex);
    }
}
END_TEST

START_TEST(numbers_of_fixed_size_have_the_least_byte_first)
{
    struct protobuf out = writer(sizeof bytes);
    protobuf_fixed64(&out, 7, 0x0102030405060708);
    protobuf_fixed32(&out, 16, 0x0a0b0c0d);
    expect(&out, "390807060504030201"
                 "85010d0c0b0a");
}
END_TEST

START_TEST(texts_and_messages_have_their_length_before_them)
{
    struct protobuf out = writer(sizeof bytes);
    size_t outer = protobuf_open(&out, 1);
    protobuf_text(&out, 2, "testing"); /* the specification's example */
    size_t inner = protobuf_open(&out, 3);
    protobuf_varint(&out, 1, 150);
    protobuf_close(&out, inner);
    protobuf_close(&out, outer);
    protobuf_bytes(&out, 4, "\0\xff", 2);
    protobuf_text(&out, 5, "");
    expect(&out, "0a0e"
                 "120774657374696e67"
                 "1a03089601"
                 "220200ff"
                 "2a00");
}
END_TEST

START_TEST(an_empty_message_is_one_too)
{
    struct protobuf out = writer(sizeof bytes);
    protobuf_close(&out, protobuf_open(&out, 1));
    expect(&out, "0a00");
}
END_TEST

/* Lengths at which the length field takes another byte. */
START_TEST(a_long_message_is_moved_by_the_bytes_of_its_length)
{
    static const struct {
        size_t len;
        const char *head; /* of the message, then of the field in it */
    } cases[] = {
        {125, "\x0a\x7f\x12\x7d"},
        {126, "\x0a\x80\x01\x12\x7e"},
        {16380, "\x0a\xff\x7f\x12\xfc\x7f"},
        {16381, "\x0a\x80\x80\x01\x12\xfd\x7f"},
    };
    char text[16384];
    memset(text, 'x', sizeof text);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct protobuf out = writer(sizeof bytes);
        size_t mark = protobuf_open(&out, 1), head = strlen(cases[i].head);
        protobuf_bytes(&out, 2, text, cases[i].len);
        protobuf_close(&out, mark);
        ck_assert_uint_eq(out.len, head + cases[i].len);
        ck_assert_mem_eq(bytes, cases[i].head, head);
        ck_assert_mem_eq(bytes + head, text, cases[i].len);
    }
}
END_TEST

/* The writer is tried with every size that is too small, and with the first that is enough: it
 * writes no byte behind the end. */
START_TEST(protobuf_says_that_it_is_full_and_writes_nothing_behind_the_end)
{
    enum { WHOLE = 3 + 9 + 5 + 2 + 2 };
    for (size_t size = 0; size <= WHOLE; size++) {
        struct protobuf out = writer(size);
        memset(bytes, 0xEE, sizeof bytes);
        size_t mark = protobuf_open(&out, 1);
        protobuf_varint(&out, 1, 150);
        protobuf_fixed64(&out, 2, 1);
        protobuf_fixed32(&out, 3, 1);
        protobuf_text(&out, 4, "");
        protobuf_close(&out, mark);
        ck_assert_msg(out.is_full == (size < WHOLE), "%zu", size);
        ck_assert_uint_le(out.len, size);
        ck_assert_uint_eq(bytes[size], 0xEE);
    }
}
END_TEST

SUITE("protobuf", a_varint_has_seven_bits_a_byte, numbers_of_fixed_size_have_the_least_byte_first,
      texts_and_messages_have_their_length_before_them, an_empty_message_is_one_too,
      a_long_message_is_moved_by_the_bytes_of_its_length,
      protobuf_says_that_it_is_full_and_writes_nothing_behind_the_end)
