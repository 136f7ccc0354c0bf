/* Content-Type. */
#include "server/api/media_type.h"

#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    char *value = fuzz_part(&input, '\0', NULL);
    enum request_body body = REQUEST_JSON;
    struct err err = {0};
    media_type_parse(value, &body, &err);
    fuzz_check_err(&err);
    FUZZ_CLAIM(err.code == ERR_OK || err.code == ERR_MEDIA_TYPE);
    FUZZ_CLAIM(body == REQUEST_JSON || body == REQUEST_TEXT || body == REQUEST_IMAGE);
    free(value);
    return 0;
}
