#include "learn/data/digest.h"

#include "engine/base/sha256.h"

#include <stdlib.h>

uint64_t digest_of(const void *bytes, size_t len)
{
    char hex[SHA256_HEX_BYTES];
    sha256_hex(bytes, len, hex);
    hex[16] = '\0';
    return strtoull(hex, NULL, 16);
}

uint64_t digest_of_pair(const char *text, size_t len, const char *pair, size_t pair_len)
{
    const uint64_t first = digest_of(text, len);
    return pair_len == 0
               ? first
               : digest_of((uint64_t[]){first, digest_of(pair, pair_len)}, 2 * sizeof first);
}
