/* One line of a body of lines -> an item of a call -> its line of the reply. An accepted item has an
 * input, and the line of the reply is one line of JSON, also of a fault. */
#include "wire/codec.h"

#include "engine/base/utf8.h"
#include "tests/fuzz/driver/fuzz.h"
#include "tests/support/results.h"
#include "wire/codec_reply.h"
#include "wire/limits.h"

#include <stdlib.h>
#include <string.h>

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
    static const struct codec_timing timing = {.queue_ms = 0.1};
    float scores[] = {0.25f, 0.75f};
    const struct fake_row row = {.err = call->items[0].err,
                                 .answer = {.model_name = "a",
                                            .model_version = "1",
                                            .info = &info,
                                            .result = result_of(scores, 2)}};
    const struct codec_rows rows = {&row, row_of};
    size_t len = 0, text;
    const size_t most = codec_reply_bytes(call, "one", &rows, &text);
    struct codec_reply *making = codec_reply_begin(call, "one", &rows, 0, arena);
    FUZZ_CLAIM(making != NULL);
    const char *reply = codec_reply_end(making, &timing, &len);
    FUZZ_CLAIM(reply != NULL && strlen(reply) == len && len <= text && text <= most);
    FUZZ_CLAIM(strchr(reply, '\n') == reply + len - 1 && fuzz_is_json(reply, len - 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct predict_call call;
    struct predict_item item;
    char *line = fuzz_copy(data, size);
    arena_init(&arena);
    codec_lines_init(&call);
    codec_parse_line(&item, line, size, NULL, &arena);
    fuzz_check_err(&item.err);
    FUZZ_CLAIM(item.id == NULL || (item.id[0] != '\0' && strlen(item.id) <= LIMIT_ID_BYTES));
    FUZZ_CLAIM(item.err.code != ERR_OK || item.source.len > 0);
    FUZZ_CLAIM(item.err.code != ERR_OK || item.source.kind != ENGINE_TEXT ||
               utf8_valid(item.source.bytes, item.source.len, &(size_t){0}));
    call.items = &item;
    call.item_count = 1;
    check_reply(&call, &arena);
    arena_deinit(&arena);
    free(line);
    return 0;
}
