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
