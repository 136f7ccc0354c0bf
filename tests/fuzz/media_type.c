/* Content-Type. */
#include "wire/media_type.h"

#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    char *value = fuzz_part(&input, '\0', NULL);
    struct media_type type = {0};
    struct err err = {0};
    media_type_parse(value, &type, &err);
    fuzz_check_err(&err);
    FUZZ_CLAIM(err.code == ERR_OK || err.code == ERR_MEDIA_TYPE);
    FUZZ_CLAIM(type.body <= REQUEST_LINES);
    FUZZ_CLAIM(err.code != ERR_OK || type.charset != NULL);
    free(value);
    return 0;
}
