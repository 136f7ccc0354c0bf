#include "server/rollout/share.h"

#include "engine/base/rng.h"

#include <stdint.h>

/* FNV-1a (Fowler, Noll, Vo), with the text's end. */
static uint64_t add_text(uint64_t hash, const char *text)
{
    do
        hash = (hash ^ (unsigned char)*text) * 0x100000001B3;
    while (*text++ != '\0');
    return hash;
}

/* FNV's high bits depend little on the last characters, so they are mixed; 53 bits fill a
 * double. */
double share_point(const char *use, const char *model, const char *key)
{
    uint64_t hash = add_text(add_text(add_text(0xCBF29CE484222325, use), model), key);
    return (double)(rng_mix(hash) >> 11) * 0x1p-53;
}
