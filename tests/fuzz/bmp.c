/* A BMP: headers, palettes, masks, rows and runs are read by code of our own. */
#include "tests/fuzz/driver/fuzz.h"
#include "tests/fuzz/driver/image.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct image image;
    char *bytes = fuzz_copy(data, size);
    arena_init(&arena);
    fuzz_decode(&image, bytes, size, false, &arena);
    arena_deinit(&arena);
    free(bytes);
    return 0;
}
