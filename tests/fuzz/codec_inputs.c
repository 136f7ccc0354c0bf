/* Counts the inputs of a JSON text without a parser: at most one more than it has commas. */
#include "wire/codec_check.h"

#include "tests/fuzz/driver/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t commas = 0;
    for (size_t i = 0; i < size; i++)
        commas += data[i] == ',';
    FUZZ_CLAIM(codec_inputs_count((const char *)data, size) <= commas + 1);
    return 0;
}
