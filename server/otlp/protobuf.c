#include "server/otlp/protobuf.h"

#include <string.h>

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2, WIRE_FIXED32 = 5 };

enum { VARINT_BYTES = 10 };

/* Seven bits a byte, the least first; the highest bit says that more follow. */
static size_t encode_varint(unsigned char out[VARINT_BYTES], uint64_t value)
{
    size_t len = 0;
    for (; value >= 0x80; value >>= 7)
        out[len++] = (unsigned char)(value | 0x80);
    out[len++] = (unsigned char)value;
    return len;
}

static void put(struct protobuf *out, const void *bytes, size_t len)
{
    if (out->is_full || len > out->size - out->len) {
        out->is_full = true;
        return;
    }
    memcpy(out->bytes + out->len, bytes, len);
    out->len += len;
}

static void put_varint(struct protobuf *out, uint64_t value)
{
    unsigned char bytes[VARINT_BYTES];
    put(out, bytes, encode_varint(bytes, value));
}

static void put_tag(struct protobuf *out, unsigned field, enum wire_type type)
{
    put_varint(out, (uint64_t)field << 3 | type);
}

/* The least byte first, whatever the machine's order. */
static void put_fixed(struct protobuf *out, uint64_t value, size_t len)
{
    unsigned char bytes[sizeof value];
    for (size_t i = 0; i < len; i++)
        bytes[i] = (unsigned char)(value >> 8 * i);
    put(out, bytes, len);
}

void protobuf_varint(struct protobuf *out, unsigned field, uint64_t value)
{
    put_tag(out, field, WIRE_VARINT);
    put_varint(out, value);
}

void protobuf_fixed32(struct protobuf *out, unsigned field, uint32_t value)
{
    put_tag(out, field, WIRE_FIXED32);
    put_fixed(out, value, sizeof value);
}

void protobuf_fixed64(struct protobuf *out, unsigned field, uint64_t value)
{
    put_tag(out, field, WIRE_FIXED64);
    put_fixed(out, value, sizeof value);
}

void protobuf_bytes(struct protobuf *out, unsigned field, const void *bytes, size_t len)
{
    put_tag(out, field, WIRE_LENGTH);
    put_varint(out, len);
    put(out, bytes, len);
}

void protobuf_text(struct protobuf *out, unsigned field, const char *text)
{
    protobuf_bytes(out, field, text, strlen(text));
}

size_t protobuf_open(struct protobuf *out, unsigned field)
{
    put_tag(out, field, WIRE_LENGTH);
    return out->len;
}

void protobuf_close(struct protobuf *out, size_t mark)
{
    unsigned char length[VARINT_BYTES];
    size_t inside = out->len - mark, len = encode_varint(length, inside);
    put(out, length, len); /* makes the room */
    if (out->is_full)
        return;
    memmove(out->bytes + mark + len, out->bytes + mark, inside);
    memcpy(out->bytes + mark, length, len);
}
