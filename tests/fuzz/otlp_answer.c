/* The reply of a collector. Bytes behind a complete reply must not change what is read from it. */
#include "server/otlp/otlp_post.h"

#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *bytes = fuzz_copy(data, size);
    struct otlp_answer answer, more;
    otlp_post_read(&answer, bytes, size);
    FUZZ_CLAIM(answer.status == 0 || (answer.status >= 100 && answer.status <= 599));
    FUZZ_CLAIM(answer.rejected == 0 || answer.status == 200);
    FUZZ_CLAIM(answer.rejected <= INT64_MAX && answer.retry_after_s < 1000000000);
    if (otlp_post_is_whole(bytes, size)) {
        char *longer = malloc(size + 4);
        FUZZ_CLAIM(longer != NULL);
        memcpy(longer, bytes, size);
        memcpy(longer + size, "\x08\x01\r\n", 4);
        FUZZ_CLAIM(otlp_post_is_whole(longer, size + 4));
        otlp_post_read(&more, longer, size + 4);
        FUZZ_CLAIM(more.status == answer.status && more.rejected == answer.rejected);
        FUZZ_CLAIM(more.retry_after_s == answer.retry_after_s);
        free(longer);
    }
    free(bytes);
    return 0;
}
