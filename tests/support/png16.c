#include "tests/support/png16.h"

#include <string.h>

static uint32_t crc_of(const unsigned char *bytes, size_t len)
{
    uint32_t crc = 0xFFFFFFFF;
    for (size_t i = 0; i < len; i++) {
        crc ^= bytes[i];
        for (unsigned bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? 0xEDB88320 : 0);
    }
    return ~crc;
}

static uint32_t adler_of(const unsigned char *bytes, size_t len)
{
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < len; i++) {
        a = (a + bytes[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

static void put32(unsigned char *out, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        out[i] = (unsigned char)(value >> (24 - 8 * i));
}

/* Writes length, type, data and checksum; returns the place behind them. */
static unsigned char *put_chunk(unsigned char *out, const char *type, const unsigned char *data,
                                size_t len)
{
    put32(out, (uint32_t)len);
    memcpy(out + 4, type, 4);
    if (len > 0)
        memcpy(out + 8, data, len);
    put32(out + 8 + len, crc_of(out + 4, 4 + len));
    return out + 12 + len;
}

/* A zlib stream (RFC 1950) of one stored block. */
static size_t store(unsigned char *out, const unsigned char *rows, size_t len)
{
    const unsigned char head[] = {0x78,
                                  0x01,
                                  0x01,
                                  (unsigned char)len,
                                  (unsigned char)(len >> 8),
                                  (unsigned char)~len,
                                  (unsigned char)(~len >> 8)};
    memcpy(out, head, sizeof head);
    memcpy(out + sizeof head, rows, len);
    put32(out + sizeof head + len, adler_of(rows, len));
    return sizeof head + len + 4;
}

size_t png16_write(unsigned char out[PNG16_BYTES_MAX], const uint16_t *values, unsigned width,
                   unsigned height)
{
    unsigned char rows[PNG16_SIDE_MAX * (2 * PNG16_SIDE_MAX + 1)], packed[sizeof rows + 16];
    unsigned char ihdr[13] = {[8] = 16}, *row = rows;
    for (unsigned y = 0; y < height; y++) {
        *row++ = 0; /* no filter */
        for (unsigned x = 0; x < width; x++) {
            *row++ = (unsigned char)(values[y * width + x] >> 8);
            *row++ = (unsigned char)values[y * width + x];
        }
    }
    put32(ihdr, width);
    put32(ihdr + 4, height);
    memcpy(out, "\x89PNG\r\n\x1a\n", 8);
    unsigned char *end = put_chunk(out + 8, "IHDR", ihdr, sizeof ihdr);
    end = put_chunk(end, "IDAT", packed, store(packed, rows, (size_t)(row - rows)));
    return (size_t)(put_chunk(end, "IEND", NULL, 0) - out);
}
