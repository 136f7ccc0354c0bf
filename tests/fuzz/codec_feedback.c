/* A body of POST /feedback -> a call. An accepted call keeps to its bounds, and the answer to it is
 * JSON. */
#include "server/json/codec_feedback.h"

#include "engine/base/utf8.h"
#include "tests/fuzz/driver/fuzz.h"
#include "wire/limits.h"

#include <stdlib.h>
#include <string.h>

enum { INPUTS_MAX = 4 };

static void check_text(const char *text, size_t bytes_max)
{
    FUZZ_CLAIM(text != NULL && strlen(text) <= bytes_max && utf8_is_valid(text, strlen(text)));
}

static void check_item(const struct feedback_item *item, bool is_list)
{
    fuzz_check_err(&item->err);
    FUZZ_CLAIM(is_list || item->err.code == ERR_OK);
    if (item->err.code != ERR_OK)
        return;
    check_text(item->id, LIMIT_ID_BYTES);
    FUZZ_CLAIM((item->label != NULL) + (item->labels.texts != NULL) + (item->output != NULL) == 1);
    if (item->label != NULL)
        check_text(item->label, LIMIT_LABEL_BYTES);
    for (unsigned i = 0; i < item->labels.count; i++)
        FUZZ_CLAIM(strlen(item->labels.texts[i]) <= LIMIT_LABEL_BYTES);
    FUZZ_CLAIM(item->output == NULL || strlen(item->output) <= LIMIT_OUTPUT_BYTES);
    FUZZ_CLAIM(item->id[0] != '\0' && (item->label == NULL || item->label[0] != '\0'));
    FUZZ_CLAIM(item->index <= CODEC_FEEDBACK_INDEX_MAX);
    if (item->source != NULL)
        check_text(item->source, LIMIT_SOURCE_BYTES);
}

static void check_reply(const struct feedback_call *call, struct arena *arena)
{
    size_t len = 0;
    for (unsigned i = 0; i < call->count; i++) {
        call->items[i].is_text = call->items[i].output != NULL;
        call->items[i].predicted = call->items[i].label;
    }
    const char *reply = codec_feedback_encode(call, arena, &len);
    FUZZ_CLAIM(reply != NULL && strlen(reply) == len && fuzz_is_json(reply, len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feedback_call call;
    struct arena arena;
    struct err err = {0};
    char *body = fuzz_copy(data, size);
    arena_init(&arena);
    enum err_code code = codec_feedback_parse(&call, body, size, INPUTS_MAX, &arena, &err);
    FUZZ_CLAIM(code == err.code);
    fuzz_check_err(&err);
    if (code == ERR_OK) {
        FUZZ_CLAIM(call.count >= 1 && call.count <= INPUTS_MAX);
        for (unsigned i = 0; i < call.count; i++)
            check_item(&call.items[i], call.is_list);
        check_reply(&call, &arena);
    }
    arena_deinit(&arena);
    free(body);
    return 0;
}
