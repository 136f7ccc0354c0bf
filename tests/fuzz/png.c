/* A PNG; bit 0 of the last byte chooses how 16-bit grey is stretched. The mutator keeps checksums
 * right, and now and then changes pixels below the compression. */
#include "tests/fuzz/driver/fuzz.h"
#include "tests/fuzz/driver/image.h"

#include <stdlib.h>

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned seed)
{
    size_t changed = seed % 4 == 0 ? fuzz_png_pixels(data, size, size_max) : 0;
    if (changed == 0)
        changed = LLVMFuzzerMutate(data, size, size_max);
    if (seed % 16 != 1) /* wrong ones are a case too */
        fuzz_png_checksums(data, changed);
    return changed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct image image;
    char *bytes = fuzz_copy(data, size);
    arena_init(&arena);
    fuzz_decode(&image, bytes, size, size > 0 && (data[size - 1] & 1) != 0, &arena);
    arena_deinit(&arena);
    free(bytes);
    return 0;
}
