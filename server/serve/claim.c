#include "server/serve/claim.h"

#include "server/serve/similar.h"
#include "wire/limits.h"

enum {
    ROW_BYTES = 2048, /* struct row, its places in arrays, its part of a reply without scores */
    EXPLAINED_BYTES = 16384, /* the frame of an explanation */
    TOKEN_BYTES = 1024,      /* a word or patch with its place, in the tree and twice in the text */
    HEAD_BYTES = 256,        /* the statistics of one attention head */
};

static bool is_small(const struct request *request)
{
    return request->exchange->body_len <= LIMIT_PREPARE_INLINE_BYTES &&
           request->pixels <= LIMIT_PREPARE_INLINE_PIXELS;
}

static enum err_code claim(struct service *service, struct request *request, size_t bytes)
{
    struct http_exchange *exchange = request->exchange;
    enum memory_use use = is_small(request) ? MEMORY_SMALL : MEMORY_LARGE;
    size_t held = memory_sum(exchange->memory_bytes, exchange->body_len);
    if (memory_take_more(&service->memory, held, bytes, use, &request->err))
        return request->err.code;
    exchange->memory_bytes += bytes;
    return ERR_OK;
}

enum err_code claim_reading(struct service *service, struct request *request, size_t bytes)
{
    return claim(service, request, bytes);
}

/* A row's logits and scores, or its vector; and between two steps its features. */
static size_t result_bytes(const struct row *row, bool has_steps)
{
    const struct engine_info *info = row_info(row);
    const size_t features = has_steps ? info->feature_size : 0;
    return ROW_BYTES +
           ((size_t)info->label_count * 2 + info->vector_size + features) * sizeof(float);
}

/* Both texts of a pair, or a text and its question, side by side for their digest. */
static size_t digested_bytes(const struct engine_source *source)
{
    return memory_sum(memory_sum(source->len, source->pair_len),
                      memory_sum(source->question.len, 1 + ARENA_ALIGNMENT));
}

/* Labels that the cache may let go while the request still holds them. */
static size_t held_labels(const struct request *request)
{
    for (unsigned i = 0; i < request->call.item_count; i++)
        if (request->rows[i].labels != NULL)
            return engine_labelled_bytes(request->rows[i].model->engine, &request->call.labels);
    return 0;
}

bool claim_has_likeness(const struct service *service, const struct row *row)
{
    return service->review != NULL && row->labels == NULL && row_info(row)->task != ENGINE_GENERATE;
}

enum err_code claim_preparing(struct service *service, struct request *request, size_t *passing)
{
    size_t kept = memory_sum(held_labels(request), request->reply_bytes);
    *passing = 0;
    for (unsigned i = 0; i < request->call.item_count; i++) {
        const struct row *row = &request->rows[i];
        kept = memory_sum(kept, ROW_BYTES);
        const struct engine_source source = request_source(request, i);
        if ((source.pair != NULL || source.question.text != NULL) && service->audit != NULL)
            kept = memory_sum(kept, digested_bytes(&source));
        if (row->err.code != ERR_OK || request->call.wish == WISH_NOTHING)
            continue;
        if (request->call.wish == WISH_TOKENS) {
            kept = memory_sum(kept, engine_tokenize_bytes(row_engine(row), &source, &(size_t){0}));
            continue;
        }
        if (claim_has_likeness(service, row))
            kept = memory_sum(kept, row->model->info->classifier_size + (size_t)ARENA_ALIGNMENT);
        kept = memory_sum(kept, similar_bytes(row));
        struct engine_need need = engine_need(row_engine(row), &source);
        kept = memory_sum(kept, memory_sum(memory_sum(need.kept, need.answer),
                                           result_bytes(row, need.windows > 0)));
        *passing = need.passing > *passing ? need.passing : *passing;
    }
    return claim(service, request, memory_sum(kept, *passing));
}

void claim_prepared(struct service *service, struct request *request, size_t passing)
{
    request->exchange->memory_bytes -= passing;
    memory_give(&service->memory, passing);
}

/* The attention maps of a gradient take a row for each head, and one token's way through the last
 * block a few vectors. */
enum err_code claim_explaining(struct service *service, struct request *request,
                               const struct row *row, size_t capture_bytes)
{
    const struct engine_info *info = row->model->info;
    const size_t heads = (size_t)info->heads, tokens = row->input.tokens;
    const size_t vectors = 6 * ((size_t)info->hidden_size + info->intermediate_size);
    const size_t maps = (tokens * (heads + 4) + vectors) * sizeof(float);
    return claim(service, request,
                 memory_sum(capture_bytes, maps + tokens * TOKEN_BYTES + EXPLAINED_BYTES +
                                               info->layers * heads * HEAD_BYTES));
}

enum err_code claim_labels(struct service *service, struct request *request,
                           const struct engine_model *engine)
{
    return claim(service, request, engine_labelled_bytes(engine, &request->call.labels));
}

enum err_code claim_reply(struct service *service, struct request *request, size_t bytes)
{
    return claim(service, request, bytes);
}
