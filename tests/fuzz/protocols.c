/* Bodies of others' protocols -> calls. The first byte chooses the protocol, the second how much of
 * the body is JSON, of a protocol with data behind it. An accepted call keeps to its bounds, and
 * its inputs lie where they can be read. */
#include "server/protocol/protocol.h"

#include "engine/base/utf8.h"
#include "server/serve/snapshots.h"
#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { INPUTS_MAX = 8, BODY_BYTES_MAX = 1 << 20 };

static const struct {
    const struct protocol *protocol;
    const char *pattern, *path;
} kinds[] = {
    {&protocol_openai, "/v1/embeddings", "/v1/embeddings"},
    {&protocol_rerank, "/v1/rerank", "/v1/rerank"},
    {&protocol_tei_rerank, "/rerank", "/rerank"},
    {&protocol_tei_embed, "/embed", "/embed"},
    {&protocol_tei_similarity, "/similarity", "/similarity"},
    {&protocol_tei_predict, "/predict", "/predict"},
    {&protocol_hf, "/", "/"},
    {&protocol_hf, "/models/{name}", "/models/a"},
    {&protocol_tf, "/v1/models/{model}:predict", "/v1/models/a:predict"},
    {&protocol_oip, "/v2/models/{model}/infer", "/v2/models/a/infer"},
    {&protocol_tei_all, "/embed_all", "/embed_all"},
    {&protocol_tei_sparse, "/embed_sparse", "/embed_sparse"},
    {&protocol_tei_tokenize, "/tokenize", "/tokenize"},
    {&protocol_tei_decode, "/decode", "/decode"},
    {&protocol_tgi, "/generate", "/generate"},
    {&protocol_tgi, "/generate_stream", "/generate_stream"},
};

static unsigned sum;

static void read_all(const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        sum += (unsigned char)bytes[i];
}

static void check_call(const struct predict_call *call)
{
    char place[CALL_PLACE_BYTES];
    FUZZ_CLAIM(call->item_count > 0 && call->item_count <= INPUTS_MAX);
    for (unsigned i = 0; i < call->item_count; i++) {
        const struct engine_source *source = &call->items[i].source;
        FUZZ_CLAIM(source->len > 0);
        read_all(source->bytes, source->len);
        read_all(source->pair, source->pair_len);
        FUZZ_CLAIM(source->kind == ENGINE_IMAGE || utf8_is_valid(source->bytes, source->len));
        FUZZ_CLAIM(source->pair_len == 0 || utf8_is_valid(source->pair, source->pair_len));
        call->place(call, i, place);
        FUZZ_CLAIM(strlen(place) > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct snapshot snapshot = {.config = {.inputs_max = INPUTS_MAX}};
    struct http_exchange exchange = {.body_bytes_max = BODY_BYTES_MAX};
    struct request request = {.exchange = &exchange, .snapshot = &snapshot};
    if (size < 2)
        return 0;
    const unsigned kind = data[0] % (sizeof kinds / sizeof *kinds);
    char *body = fuzz_copy(data + 2, size - 2);
    exchange.path = kinds[kind].path;
    exchange.body = body;
    exchange.body_len = size - 2;
    request.pattern = kinds[kind].pattern;
    request.body = REQUEST_JSON;
    request.is_typed = data[0] < 128;
    request.json_bytes = kinds[kind].protocol == &protocol_oip ? data[1] : 0;
    arena_init(&exchange.arena);
    const size_t bound = kinds[kind].protocol->parse_bytes(&request);
    const enum err_code code = kinds[kind].protocol->parse(&request);
    FUZZ_CLAIM(code == request.err.code);
    FUZZ_CLAIM(exchange.arena.bytes <= bound + 4096); /* and what the row of the request takes */
    fuzz_check_err(&request.err);
    if (code == ERR_OK)
        check_call(&request.call);
    arena_deinit(&exchange.arena);
    free(body);
    return 0;
}
