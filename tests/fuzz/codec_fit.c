/* A body of POST /admin/fits -> a request. An accepted request keeps to its bounds. */
#include "server/json/codec_fit.h"

#include "engine/base/utf8.h"
#include "tests/fuzz/driver/fuzz.h"
#include "wire/limits.h"

#include <stdlib.h>
#include <string.h>

static void check_text(const char *text, size_t bytes_max)
{
    FUZZ_CLAIM(text == NULL || (strlen(text) <= bytes_max && utf8_is_valid(text, strlen(text))));
}

static void check_call(const struct fits_call *call)
{
    FUZZ_CLAIM(call->name != NULL && call->key == NULL);
    check_text(call->name, LIMIT_MODEL_NAME_BYTES);
    check_text(call->version, FITS_VERSION_BYTES);
    check_text(call->reason, LIMIT_REASON_BYTES);
    FUZZ_CLAIM(call->loss_max >= 0 && call->loss_max <= 100);
    FUZZ_CLAIM(call->target_precision > 0 && call->target_precision <= 1);
    FUZZ_CLAIM(call->shadow >= 0 && call->shadow <= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fits_call call;
    struct arena arena;
    struct err err = {0};
    char *body = fuzz_copy(data, size);
    arena_init(&arena);
    enum err_code code = codec_fit_parse(&call, body, size, &arena, &err);
    FUZZ_CLAIM(code == err.code);
    fuzz_check_err(&err);
    if (code == ERR_OK)
        check_call(&call);
    arena_deinit(&arena);
    free(body);
    return 0;
}
