#include "server/serve/similar.h"

#include "engine/base/clock.h"
#include "wire/limits.h"

#include <math.h>

enum { NEIGHBOUR_TEXT_BYTES = 96, ESCAPED_BYTES = 6 };

enum err_code similar_find(const struct request *request, struct row *row)
{
    const struct service *service = request->service;
    bool is_public;
    if (request->call.similar == 0)
        return ERR_OK;
    row->index = snapshot_index(request->snapshot, row->model, &is_public);
    /* Inputs of embeddings and of models that write are not kept; and kept inputs were answered in
     * the model's own labels. */
    row->in_review = row->index == NULL && row->model->info->task != ENGINE_EMBED &&
                     row->model->info->task != ENGINE_GENERATE && row->model->info->row_size == 0 &&
                     service->review != NULL && request->call.labels.count == 0;
    if (row->index != NULL || row->in_review)
        return ERR_OK;
    return err_set(&row->err, ERR_UNUSABLE,
                   "%sversion %s of the model %s has no index of past inputs (\"index\" in its "
                   "entry of the configuration), and none of its inputs are kept for a review",
                   request->call.wish == WISH_SIMILAR ? "" : "similar: ", row->model->info->version,
                   row->model->name);
}

bool similar_is_restricted(const struct request *request)
{
    for (unsigned i = 0; i < request->call.item_count; i++) {
        const struct row *row = &request->rows[i];
        bool is_public = !row->in_review;
        if (row->index != NULL)
            snapshot_index(request->snapshot, row->model, &is_public);
        if (!is_public)
            return true;
    }
    return false;
}

static unsigned wanted(const struct row *row)
{
    const unsigned k = row->request->call.similar;
    if (row->index == NULL)
        return k;
    return k < row->index->info->rows ? k : (unsigned)row->index->info->rows;
}

size_t similar_bytes(const struct row *row)
{
    if (row->index == NULL || row->err.code != ERR_OK)
        return 0;
    const struct engine_info *info = row_info(row);
    return 2 * ((size_t)engine_compared_size(info) * sizeof(float) + ARENA_ALIGNMENT) +
           index_search_bytes(row->index->index, wanted(row), 1) +
           wanted(row) * sizeof(struct answer_neighbour) + ARENA_ALIGNMENT;
}

size_t similar_text_bytes(const struct row *row)
{
    size_t record = LIMIT_ID_BYTES + LIMIT_LABEL_BYTES;
    if ((row->index == NULL && !row->in_review) || row->err.code != ERR_OK)
        return 0;
    if (row->index != NULL)
        record = row->index->info->record_bytes;
    return memory_product(wanted(row), NEIGHBOUR_TEXT_BYTES + ESCAPED_BYTES * record);
}

/* ---- the pool ---- */

struct row *similar_next(const struct request *request)
{
    return request->good[request->searched];
}

/* The kind of the next row's work, and its size. */
static enum prepare_kind next_kind(const struct request *request, uint64_t *units)
{
    const struct row *row = similar_next(request);
    *units = row->index != NULL ? row->index->info->rows : 1;
    return row->in_review ? PREPARE_KEPT : PREPARE_SIMILAR;
}

/* After the last row. A pool that refuses it answers the request with that error. */
static void enter_pool(struct request *request)
{
    uint64_t units;
    const enum prepare_kind kind = next_kind(request, &units);
    request_enter(request, REQUEST_EXPLAIN);
    if (prepare_submit(atomic_load(&request->service->prepare), request, kind, units,
                       &request->err))
        http_resume(request->exchange);
}

enum err_code similar_keep(struct request *request, struct row *row)
{
    const unsigned size = engine_compared_size(row_info(row));
    if (row->index == NULL && !row->in_review)
        return ERR_OK;
    request->then = enter_pool;
    if (row->in_review)
        return ERR_OK; /* its likeness is searched for */
    row->compared = arena_alloc_array(&request->exchange->arena, size, sizeof *row->compared);
    return row->compared != NULL ? ERR_OK : err_no_memory(&row->err, size * sizeof(float));
}

bool similar_go_on(struct service *service, struct request *request)
{
    uint64_t units;
    request->searched++;
    if (request->searched < request->good_count && request->err.code == ERR_OK) {
        const enum prepare_kind kind = next_kind(request, &units);
        if (prepare_continue(atomic_load(&service->prepare), request, kind, units, &request->err) ==
            ERR_OK)
            return true;
    }
    request->searched_ns = clock_now_ns();
    return false;
}

/* ---- the search ---- */

void similar_search(struct row *row, struct interrupt *interrupt)
{
    struct arena *arena = &row->request->exchange->arena;
    const unsigned size = row->index->info->dimensions, k = wanted(row);
    struct index_found found;
    for (unsigned i = 0; i < size; i++)
        if (!isfinite(row->compared[i])) {
            err_set(&row->err, ERR_INTERNAL, "the model gave features that are not finite numbers");
            return;
        }
    if (size < engine_compared_size(row_info(row)))
        engine_normalize(row->compared, size);
    struct answer_neighbour *items = arena_alloc_array(arena, k, sizeof *items);
    if (items == NULL)
        err_no_memory(&row->err, k * sizeof *items);
    if (items == NULL || index_search(row->index->index, row->compared, k, NULL, interrupt, arena,
                                      &found, &row->err))
        return;
    for (unsigned i = 0; i < found.count; i++) {
        const struct index_record record = index_record(row->index->index, found.hits[i].row);
        items[i] =
            (struct answer_neighbour){record.id, record.label, record.source, found.hits[i].score};
    }
    row->answer.neighbours = (struct answer_neighbours){items, found.count};
}
