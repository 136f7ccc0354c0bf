/* A body of a route under /admin/models -> a change. An accepted change keeps to its bounds. The
 * first byte chooses the change. */
#include "server/json/codec_rollout.h"

#include "engine/base/utf8.h"
#include "tests/fuzz/driver/fuzz.h"
#include "wire/limits.h"

#include <stdlib.h>
#include <string.h>

static void check_text(const char *text, size_t bytes_max)
{
    FUZZ_CLAIM(text == NULL || (strlen(text) <= bytes_max && utf8_is_valid(text, strlen(text))));
}

static void check_share(bool has, double share)
{
    FUZZ_CLAIM(share >= 0 && share <= 1 && (has || share == 0));
}

static void check_call(const struct rollout_call *call)
{
    const struct rollout_change *change = &call->change;
    check_text(change->name, LIMIT_MODEL_NAME_BYTES);
    check_text(change->dir, LIMIT_DIRECTORY_BYTES);
    check_text(change->dtype, LIMIT_MODEL_NAME_BYTES);
    check_text(change->reason, LIMIT_REASON_BYTES);
    check_share(change->has_split, change->split);
    check_share(change->has_shadow, change->shadow);
    if (change->action == ROLLOUT_LOAD)
        FUZZ_CLAIM(change->name != NULL && change->dir != NULL && change->reason == NULL);
    if (change->action == ROLLOUT_SHARES)
        FUZZ_CLAIM((change->has_split || change->has_shadow) && change->dir == NULL);
    if (call->force)
        FUZZ_CLAIM(change->action == ROLLOUT_PROMOTE && change->reason[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rollout_call call = {.force = false};
    struct arena arena;
    struct err err = {0};
    if (size == 0)
        return 0;
    call.change.action = (enum rollout_action)(data[0] % (ROLLOUT_UNLOAD + 1));
    char *body = fuzz_copy(data + 1, size - 1);
    arena_init(&arena);
    enum err_code code = codec_rollout_parse(&call, body, size - 1, &arena, &err);
    FUZZ_CLAIM(code == err.code);
    fuzz_check_err(&err);
    if (code == ERR_OK)
        check_call(&call);
    arena_deinit(&arena);
    free(body);
    return 0;
}
