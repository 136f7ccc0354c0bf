/* fixture.h - files and pixel hashes for the tests of engine/vision. */
#ifndef ATTND_TESTS_UNIT_ENGINE_VISION_FIXTURE_H
#define ATTND_TESTS_UNIT_ENGINE_VISION_FIXTURE_H

#include "engine/base/sha256.h"
#include "engine/vision/image.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

/* A whole file, in the arena. NULL if it cannot be read. */
static inline unsigned char *fixture_find(const char *path, size_t *len, struct arena *arena)
{
    *len = 0;
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return NULL;
    fseek(file, 0, SEEK_END);
    *len = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = arena_alloc(arena, *len + 1);
    ck_assert_uint_eq(fread(bytes, 1, *len, file), *len);
    bytes[*len] = '\0';
    fclose(file);
    return bytes;
}

/* The same, of a file that must be there. */
static inline unsigned char *fixture_read(const char *path, size_t *len, struct arena *arena)
{
    unsigned char *bytes = fixture_find(path, len, arena);
    ck_assert_msg(bytes != NULL && *len > 0, "%s is missing or empty", path);
    return bytes;
}

static inline void fixture_pixels_sha256(const struct image *image, char out[65])
{
    sha256_hex(image->rgb, (size_t)image->width * image->height * 3, out);
}

/* A small generator (Knuth's MMIX constants), the same in the Python that made the expectations. */
static inline unsigned fixture_random(unsigned long long *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(*state >> 33);
}

#endif
