/* The query string of a raw body, "name=value&name&...", as the HTTP library cuts it, and the same
 * beside a JSON body; also an X-Request-Id. */
#include "server/serve/request.h"
#include "tests/fuzz/driver/fuzz.h"
#include "wire/codec.h"
#include "wire/codec_query.h"
#include "wire/codec_reply.h"
#include "wire/limits.h"

#include <stdlib.h>
#include <string.h>

static void parse_one(struct predict_call *call, struct codec_query *query, char *option,
                      struct arena *arena, struct err *err)
{
    char *value = strchr(option, '=');
    if (value != NULL)
        *value++ = '\0';
    codec_query_add(query, option, value, arena);
    codec_parse_option(call, option, value, arena, err);
}

static void check_call(const struct predict_call *call, struct arena *arena)
{
    static const struct err failed = {.code = ERR_UNUSABLE, .text = "no"};
    size_t len = 0;
    FUZZ_CLAIM(call->model == NULL || strlen(call->model) <= LIMIT_MODEL_NAME_BYTES);
    FUZZ_CLAIM(call->id == NULL || strlen(call->id) <= LIMIT_ID_BYTES);
    const char *problem = codec_encode_problem(&failed, call->id, arena, &len);
    FUZZ_CLAIM(problem != NULL && fuzz_is_json(problem, len));
}

/* Options beside a body are put into the call, or refused. */
static void check_beside(const struct codec_query *query, struct arena *arena)
{
    static const char body[] = "{\"text\": \"a\", \"explain\": true, \"top_k\": 3, \"context\": "
                               "{\"lot\": \"A\", \"die_x\": 5}}";
    const struct codec_limits limits = {.inputs_max = 1, .query = query};
    struct predict_call call;
    struct err err = {0};
    if (codec_parse_json(&call, body, sizeof body - 1, &limits, arena, &err) == ERR_OK) {
        FUZZ_CLAIM(query->err.code == ERR_OK && call.top_k == 3 && call.explain);
        FUZZ_CLAIM(query->asked.model == NULL || strcmp(query->asked.model, call.model) == 0);
        check_call(&call, arena);
    }
    fuzz_check_err(&err);
}

static void check_plain(const char *id)
{
    bool plain = request_id_is_plain(id);
    FUZZ_CLAIM(!plain || (strlen(id) > 0 && strlen(id) <= LIMIT_ID_BYTES));
    for (size_t i = 0; plain && id[i] != '\0'; i++)
        FUZZ_CLAIM((unsigned char)id[i] >= 0x20 && (unsigned char)id[i] < 0x7F);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    struct predict_call call;
    struct arena arena;
    struct err err = {0};
    struct codec_query query;
    arena_init(&arena);
    codec_query_init(&query);
    FUZZ_CLAIM(codec_parse_raw(&call, ENGINE_TEXT, "a", 1, &arena, &err) == ERR_OK);
    while (input.left > 0 && err.code == ERR_OK) {
        char *option = fuzz_part(&input, '&', NULL);
        check_plain(option);
        parse_one(&call, &query, option, &arena, &err);
        free(option);
    }
    if (err.code == ERR_OK && codec_check_options(&call, &err) == ERR_OK)
        check_call(&call, &arena);
    fuzz_check_err(&err);
    check_beside(&query, &arena);
    arena_deinit(&arena);
    return 0;
}
