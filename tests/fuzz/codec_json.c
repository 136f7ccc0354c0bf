/* A request's JSON body -> a call -> the reply. An accepted call keeps to its bounds, and every
 * reply to it, good or bad, is JSON. */
#include "wire/codec.h"

#include "engine/base/utf8.h"
#include "tests/fuzz/driver/fuzz.h"
#include "tests/support/results.h"
#include "wire/codec_reply.h"
#include "wire/limits.h"

#include <stdlib.h>
#include <string.h>

enum { INPUTS_MAX = 4 };

static void touch(const char *bytes, size_t len)
{
    volatile unsigned char sum = 0;
    for (size_t i = 0; i < len; i++)
        sum = (unsigned char)(sum + (unsigned char)bytes[i]);
}

static void check_items(const struct predict_call *call)
{
    FUZZ_CLAIM(call->item_count >= 1 && call->item_count <= INPUTS_MAX);
    FUZZ_CLAIM(call->envelope || call->item_count == 1);
    for (unsigned i = 0; i < call->item_count; i++) {
        const struct predict_item *item = &call->items[i];
        fuzz_check_err(&item->err);
        FUZZ_CLAIM(call->envelope || item->err.code == ERR_OK);
        if (item->err.code != ERR_OK)
            continue;
        FUZZ_CLAIM(item->source.len > 0);
        FUZZ_CLAIM(item->source.kind != ENGINE_TEXT ||
                   utf8_valid(item->source.bytes, item->source.len, &(size_t){0}));
        touch(item->source.bytes, item->source.len);
    }
}

struct fake_row {
    struct answer answer;
    struct err err;
};

static struct codec_row row_of(const void *context, unsigned index)
{
    const struct fake_row *row = &((const struct fake_row *)context)[index];
    return (struct codec_row){.info = row->answer.info, .answer = &row->answer, .err = &row->err};
}

static void check_reply(const struct predict_call *call, struct arena *arena)
{
    static const char *const labels[] = {"Center", "Scratch"};
    static const struct engine_info info = {
        .kind = ENGINE_IMAGE, .scores = "softmax", .labels = labels, .label_count = 2};
    float scores[] = {0.25f, 0.75f};
    static const struct codec_timing timing = {.queue_ms = 0.1};
    struct fake_row rows[INPUTS_MAX];
    size_t len = 0;
    for (unsigned i = 0; i < call->item_count; i++)
        rows[i] =
            (struct fake_row){.err = call->items[i].err,
                              .answer = {.model_name = call->model != NULL ? call->model : "a",
                                         .model_version = "1",
                                         .info = &info,
                                         .result = result_of(scores, 2)}};
    struct codec_reply *making =
        codec_reply_begin(call, call->id, &(struct codec_rows){rows, row_of}, 0, arena);
    FUZZ_CLAIM(making != NULL);
    const char *reply = codec_reply_end(making, &timing, &len);
    FUZZ_CLAIM(reply != NULL && strlen(reply) == len && fuzz_is_json(reply, len));
    FUZZ_CLAIM(call->context == NULL || fuzz_is_json(call->context, strlen(call->context)));
}

static void check_call(const struct predict_call *call, struct arena *arena)
{
    FUZZ_CLAIM(call->model == NULL || strlen(call->model) <= LIMIT_MODEL_NAME_BYTES);
    FUZZ_CLAIM(call->id == NULL || (call->id[0] != '\0' && strlen(call->id) <= LIMIT_ID_BYTES));
    FUZZ_CLAIM(call->explain || (!call->overlay && call->how.layer == 0));
    check_items(call);
    check_reply(call, arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct codec_limits limits = {.inputs_max = INPUTS_MAX};
    struct arena arena;
    struct predict_call call;
    struct err err = {0};
    char *body = fuzz_copy(data, size);
    arena_init(&arena);
    if (codec_parse_json(&call, body, size, &limits, &arena, &err) == ERR_OK)
        check_call(&call, &arena);
    fuzz_check_err(&err);
    size_t len = 0;
    const char *problem = codec_encode_problem(&err, call.id, &arena, &len);
    FUZZ_CLAIM(problem != NULL && fuzz_is_json(problem, len));
    arena_deinit(&arena);
    free(body);
    return 0;
}
