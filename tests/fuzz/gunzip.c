/* Gzip. An input is the file as it stands; or, if it begins with a byte 0, raw deflate data around
 * which a right header and trailer are put; with a byte 1, bytes that are packed and must come out
 * again, twice over, as two members. */
#include "engine/base/gunzip.h"

#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { UNPACKED_MAX = 256 * 1024, PACKED_MAX = 8192, HEADER_BYTES = 10, TRAILER_BYTES = 8 };

static const uint8_t header[HEADER_BYTES] = {0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3};

static void put_u32(uint8_t *at, unsigned long value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

/* A buffer of the size that gunzip_size told is large enough, and both readers agree. */
static void unpack_into(const uint8_t *packed, size_t size, size_t told, enum err_code code)
{
    struct err err = {0};
    char *out = malloc(told + 1), *bytes = fuzz_copy(packed, size);
    size_t len = 0;
    bool is_gzip = size >= 2 && packed[0] == 0x1F && packed[1] == 0x8B;
    FUZZ_CLAIM(out != NULL);
    gunzip_into(out, told + 1, &len, bytes, size, &err);
    fuzz_check_err(&err);
    FUZZ_CLAIM(!is_gzip || told > UNPACKED_MAX || (err.code == ERR_OK) == (code == ERR_OK));
    FUZZ_CLAIM(err.code != ERR_OK || told > UNPACKED_MAX || len == told);
    free(out);
    free(bytes);
}

static enum err_code unpack(const uint8_t *packed, size_t size, char **bytes, size_t *len)
{
    struct err err = {0};
    *bytes = fuzz_copy(packed, size);
    *len = size;
    size_t told = gunzip_size(*bytes, size, UNPACKED_MAX);
    gunzip_if_packed(bytes, len, UNPACKED_MAX, &err);
    fuzz_check_err(&err);
    FUZZ_CLAIM(told <= UNPACKED_MAX + 1);
    FUZZ_CLAIM(err.code != ERR_OK || *len == size || told == *len);
    unpack_into(packed, size, told, err.code);
    FUZZ_CLAIM(err.code == ERR_OK || *len == size);
    FUZZ_CLAIM(*len <= UNPACKED_MAX || *len == size);
    return err.code;
}

static void unpack_as_it_is(const uint8_t *data, size_t size)
{
    char *bytes;
    size_t len;
    unpack(data, size, &bytes, &len);
    free(bytes);
}

/* The trailer of what the data themselves inflate to. */
static void unpack_deflated(const uint8_t *data, size_t size)
{
    static uint8_t packed[PACKED_MAX], plain[UNPACKED_MAX];
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)data,
                       .avail_in = (uInt)size,
                       .next_out = plain,
                       .avail_out = sizeof plain};
    if (size > PACKED_MAX - HEADER_BYTES - TRAILER_BYTES || inflateInit2(&stream, -MAX_WBITS))
        return;
    bool whole = inflate(&stream, Z_FINISH) == Z_STREAM_END;
    size_t taken = stream.total_in, count = stream.total_out;
    inflateEnd(&stream);
    memcpy(packed, header, HEADER_BYTES);
    memcpy(packed + HEADER_BYTES, data, taken);
    put_u32(packed + HEADER_BYTES + taken, crc32(0, plain, (uInt)count));
    put_u32(packed + HEADER_BYTES + taken + 4, count);
    char *bytes;
    size_t len;
    bool unpacked = unpack(packed, HEADER_BYTES + taken + TRAILER_BYTES, &bytes, &len) == ERR_OK;
    FUZZ_CLAIM(unpacked == whole || count == UNPACKED_MAX);
    FUZZ_CLAIM(!unpacked || (len == count && memcmp(bytes, plain, len) == 0));
    free(bytes);
}

static void unpack_packed(const uint8_t *data, size_t size)
{
    static uint8_t packed[2 * PACKED_MAX];
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)data,
                       .avail_in = (uInt)size,
                       .next_out = packed,
                       .avail_out = PACKED_MAX};
    if (size > PACKED_MAX / 2 ||
        deflateInit2(&stream, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return;
    FUZZ_CLAIM(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    size_t member = stream.total_out, len;
    deflateEnd(&stream);
    memcpy(packed + member, packed, member);
    char *bytes;
    FUZZ_CLAIM(unpack(packed, 2 * member, &bytes, &len) == ERR_OK && len == 2 * size);
    FUZZ_CLAIM(size == 0 ||
               (memcmp(bytes, data, size) == 0 && memcmp(bytes + size, data, size) == 0));
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && data[0] == 0)
        unpack_deflated(data + 1, size - 1);
    else if (size > 0 && data[0] == 1)
        unpack_packed(data + 1, size - 1);
    else
        unpack_as_it_is(data, size);
    return 0;
}
