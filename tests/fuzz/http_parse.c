/* A client's reader of replies: the same bytes at once and in pieces (the first byte says
 * how long) come to the same. */
#include "tools/client/connection.h"

#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>
#include <string.h>

/* Feeds all bytes, `piece` at a time; how many were taken. */
static size_t feed(struct http_parse *parse, const char *bytes, size_t len, size_t piece,
                   enum http_parse_result *result)
{
    size_t at = 0, used;
    *result = HTTP_PARSE_MORE;
    http_parse_reset(parse);
    while (at < len && *result == HTTP_PARSE_MORE) {
        size_t count = len - at < piece ? len - at : piece;
        *result = http_parse_feed(parse, bytes + at, count, &used);
        FUZZ_CLAIM(used <= count && (used == count || *result != HTTP_PARSE_MORE));
        at += used;
    }
    if (*result == HTTP_PARSE_MORE)
        *result = http_parse_end(parse);
    FUZZ_CLAIM(*result != HTTP_PARSE_MORE);
    FUZZ_CLAIM((*result == HTTP_PARSE_BAD) == (parse->why != NULL));
    return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct http_parse whole, parts;
    struct fuzz_input input = {data, size};
    size_t piece = 1 + fuzz_byte(&input), len = input.left;
    char *bytes = fuzz_copy(input.at, len);
    enum http_parse_result at_once, in_parts;
    size_t taken = feed(&whole, bytes, len, len + 1, &at_once);
    size_t again = feed(&parts, bytes, len, piece, &in_parts);
    FUZZ_CLAIM(at_once == in_parts);
    if (at_once == HTTP_PARSE_DONE) {
        FUZZ_CLAIM(taken == again && whole.status == parts.status);
        FUZZ_CLAIM(whole.status >= 200 && whole.status <= 599 && whole.closes == parts.closes);
        FUZZ_CLAIM(whole.body.len == parts.body.len && whole.body.len <= len);
        FUZZ_CLAIM(whole.body.len == 0 ||
                   memcmp(whole.body.bytes, parts.body.bytes, whole.body.len) == 0);
    }
    http_parse_deinit(&whole);
    http_parse_deinit(&parts);
    free(bytes);
    return 0;
}
