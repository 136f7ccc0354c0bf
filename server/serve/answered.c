#include "server/serve/answered.h"

#include "engine/base/clock.h"
#include "server/cache/store.h"

#include <string.h>

static bool can_be_kept(const struct request *request, const struct row *row)
{
    const enum engine_task task = row_info(row)->task;
    return !request->call.explain && request->call.similar == 0 && row->labels == NULL &&
           request->call.vector.chunks == VECTORS_ONE &&
           (task == ENGINE_CLASSIFY || task == ENGINE_REGRESS || task == ENGINE_EMBED);
}

/* All that the answer follows from, and all that a model of another task refuses: what is refused
 * must not find an answer. The generation stands for the configuration. */
static void make_key(const struct service *service, const struct request *request,
                     const struct row *row, char key[SHA256_HEX_BYTES])
{
    const struct predict_call *call = &request->call;
    const struct engine_source source = request_source(request, (unsigned)(row - request->rows));
    const char *prompt = source.prompt_name, *name = request->grant.name;
    const struct engine_question *asked = &source.question;
    const unsigned numbers[] = {request->snapshot->generation,
                                source.kind,
                                (unsigned)source.reading.long_text,
                                (unsigned)source.reading.aggregation,
                                source.reading.keeps_outside,
                                source.target_count,
                                asked->text != NULL,
                                asked->length_max,
                                asked->tokens_max,
                                asked->overlap,
                                asked->asked_max,
                                asked->may_be_empty,
                                asked->keeps_tokens,
                                call->vector.dimensions,
                                call->vector.is_scaled,
                                call->refuses_cut,
                                row->model->slot};
    struct sha256_pieces pieces;
    store_key_begin(service->answers, &pieces);
    store_key_add(&pieces, numbers, sizeof numbers);
    store_key_add(&pieces, name, name != NULL ? strlen(name) : 0);
    store_key_add(&pieces, row->model->info->version, strlen(row->model->info->version));
    store_key_add(&pieces, prompt, prompt != NULL ? strlen(prompt) : 0);
    store_key_add(&pieces, source.pair, source.pair_len);
    store_key_add(&pieces, source.bytes, source.len);
    sha256_pieces_end(&pieces, key);
}

/* ---- a result as bytes: the struct, and behind it its arrays ---- */

enum { ARRAYS = 3 };

static void list_arrays(const struct engine_info *info, struct engine_result *result,
                        float **arrays[ARRAYS], size_t counts[ARRAYS])
{
    arrays[0] = &result->vector;
    arrays[1] = &result->logits;
    arrays[2] = &result->scores;
    counts[0] = info->vector_size;
    counts[1] = counts[2] = info->label_count;
}

static bool read_result(const struct engine_info *info, const struct store_entry *entry,
                        struct arena *arena, struct engine_result *out)
{
    float **arrays[ARRAYS];
    size_t counts[ARRAYS];
    const char *at = entry->bytes + sizeof *out;
    memcpy(out, entry->bytes, sizeof *out);
    list_arrays(info, out, arrays, counts);
    for (int i = 0; i < ARRAYS; i++) {
        const size_t bytes = counts[i] * sizeof(float);
        if (*arrays[i] == NULL)
            continue;
        if ((*arrays[i] = arena_alloc(arena, bytes)) == NULL)
            return false;
        memcpy(*arrays[i], at, bytes);
        at += bytes;
    }
    return true;
}

static void keep_result(const struct service *service, const struct row *row,
                        const char key[SHA256_HEX_BYTES])
{
    struct engine_result result = row->answer.result;
    struct store_part parts[1 + ARRAYS] = {{&result, sizeof result}};
    float **arrays[ARRAYS];
    size_t counts[ARRAYS];
    list_arrays(row->answer.info, &result, arrays, counts);
    for (int i = 0; i < ARRAYS; i++)
        if (*arrays[i] != NULL)
            parts[1 + i] = (struct store_part){*arrays[i], counts[i] * sizeof(float)};
    result.features = NULL; /* the session's */
    result.pooled = NULL;
    store_keep(service->answers, key, parts, 1 + ARRAYS, clock_now_ns());
}

/* ---- for a request ---- */

bool answered_find(const struct service *service, struct request *request, unsigned index)
{
    struct row *row = &request->rows[index];
    char key[SHA256_HEX_BYTES];
    if (service->answers == NULL || !can_be_kept(request, row))
        return false;
    make_key(service, request, row, key);
    const struct store_entry *entry = store_find(service->answers, key, clock_now_ns());
    if (entry == NULL)
        return false;
    struct engine_result result;
    const bool is_whole = read_result(row->model->info, entry, &request->exchange->arena, &result);
    store_release(service->answers, entry);
    if (!is_whole)
        return false;
    row->answer.result = result;
    row_answer(row);
    row->answer.is_repeated = true;
    return true;
}

void answered_keep(const struct service *service, const struct request *request)
{
    for (unsigned i = 0; service->answers != NULL && i < request->good_count; i++) {
        const struct row *row = request->good[i];
        char key[SHA256_HEX_BYTES];
        if (row->err.code != ERR_OK || !can_be_kept(request, row))
            continue;
        make_key(service, request, row, key);
        keep_result(service, row, key);
    }
}

const char *answered_status(const struct service *service, struct request *request)
{
    const unsigned count = request->call.item_count;
    unsigned found = 0;
    for (unsigned i = 0; i < count; i++)
        found += request->rows[i].answer.is_repeated;
    if (service->answers == NULL || request->rows == NULL)
        return NULL;
    if (found == 0)
        return "attnd; fwd=miss";
    return found == count ? "attnd; hit"
                          : arena_format(&request->exchange->arena,
                                         "attnd; fwd=partial; detail=\"%u of %u\"", found, count);
}
