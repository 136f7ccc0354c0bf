/* The orientation in an EXIF block. */
#include "engine/vision/exif.h"

#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *block = fuzz_copy(data, size);
    unsigned orientation = exif_orientation((const unsigned char *)block, size);
    FUZZ_CLAIM(orientation >= 1 && orientation <= 8);
    free(block);
    return 0;
}
