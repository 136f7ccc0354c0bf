#include "server/serve/similar.h"

#include "engine/base/clock.h"
#include "server/serve/watch.h"

#include <math.h>
#include <string.h>

enum { NEIGHBOUR_TEXT_BYTES = 96, ESCAPED_BYTES = 6 };

enum err_code similar_find_index(const struct request *request, struct row *row)
{
    bool is_public;
    if (request->call.similar == 0)
        return ERR_OK;
    row->index = snapshot_index(request->snapshot, row->model, &is_public);
    if (row->index != NULL)
        return ERR_OK;
    return err_set(&row->err, ERR_UNUSABLE,
                   "%s: version %s of the model %s has no index of past inputs (\"index\" in its "
                   "entry of the configuration)",
                   request->call.wish == WISH_SIMILAR ? "k" : "similar", row->model->info->version,
                   row->model->name);
}

bool similar_is_restricted(const struct request *request)
{
    for (unsigned i = 0; i < request->call.item_count; i++) {
        bool is_public = true;
        if (request->rows[i].index != NULL)
            snapshot_index(request->snapshot, request->rows[i].model, &is_public);
        if (!is_public)
            return true;
    }
    return false;
}

static unsigned wanted(const struct row *row)
{
    const unsigned k = row->request->call.similar;
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
    if (row->index == NULL || row->err.code != ERR_OK)
        return 0;
    return memory_product(wanted(row),
                          NEIGHBOUR_TEXT_BYTES + ESCAPED_BYTES * row->index->info->record_bytes);
}

/* ---- the pool ---- */

/* The rows of the index that the next search reads. */
static uint64_t next_units(const struct request *request)
{
    const struct row *row = request->good[request->searched];
    return row->index != NULL ? row->index->info->rows : 1;
}

/* After the last row. A pool that refuses it answers the request with that error. */
static void enter_pool(struct request *request)
{
    request_enter(request, REQUEST_EXPLAIN);
    if (prepare_submit(atomic_load(&request->service->prepare), request, PREPARE_SIMILAR,
                       next_units(request), &request->err))
        http_resume(request->exchange);
}

enum err_code similar_keep(struct request *request, struct row *row)
{
    const unsigned size = engine_compared_size(row_info(row));
    if (row->index == NULL)
        return ERR_OK;
    row->compared = arena_alloc_array(&request->exchange->arena, size, sizeof *row->compared);
    if (row->compared == NULL)
        return err_no_memory(&row->err, size * sizeof *row->compared);
    request->then = enter_pool;
    return ERR_OK;
}

/* ---- the search ---- */

static enum err_code search(struct row *row, struct interrupt *interrupt, struct arena *arena)
{
    const struct index *index = row->index->index;
    const unsigned size = row->index->info->dimensions;
    struct index_found found;
    for (unsigned i = 0; i < size; i++)
        if (!isfinite(row->compared[i]))
            return err_set(&row->err, ERR_INTERNAL,
                           "the model gave features that are not finite numbers");
    if (size < engine_compared_size(row_info(row)))
        engine_normalize(row->compared, size);
    struct answer_neighbour *items = arena_alloc_array(arena, wanted(row), sizeof *items);
    if (items == NULL)
        return err_no_memory(&row->err, wanted(row) * sizeof *items);
    if (index_search(index, row->compared, wanted(row), NULL, interrupt, arena, &found, &row->err))
        return row->err.code;
    for (unsigned i = 0; i < found.count; i++) {
        const struct index_record record = index_record(index, found.hits[i].row);
        items[i] =
            (struct answer_neighbour){record.id, record.label, record.source, found.hits[i].score};
    }
    row->answer.neighbours = (struct answer_neighbours){items, found.count};
    return ERR_OK;
}

bool similar_step(struct service *service, struct request *request)
{
    struct watch watch;
    struct interrupt *interrupt = watch_begin(&watch, service, request);
    struct row *row = request->good[request->searched++];
    if (row->index != NULL && row->err.code == ERR_OK)
        search(row, interrupt, &request->exchange->arena);
    if (request->searched < request->good_count && request->err.code == ERR_OK) {
        if (prepare_continue(atomic_load(&service->prepare), request, PREPARE_SIMILAR,
                             next_units(request), &request->err) == ERR_OK)
            return true;
    }
    request->searched_ns = clock_now_ns();
    return false;
}
