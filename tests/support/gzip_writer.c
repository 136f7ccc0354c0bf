#include "tests/support/gzip_writer.h"

#include <check.h>
#include <stdint.h>
#include <zlib.h>

size_t gzip_pack(void *out, size_t room, const void *bytes, size_t len)
{
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)bytes,
                       .avail_in = (uInt)len,
                       .next_out = out,
                       .avail_out = (uInt)room};
    ck_assert_int_eq(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
                     Z_OK);
    ck_assert_int_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    deflateEnd(&stream);
    return room - stream.avail_out;
}
