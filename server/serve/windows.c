#include "server/serve/windows.h"

#include "server/serve/served_model.h"

static enum err_code open_window(struct row *row, unsigned index, struct arena *arena)
{
    const struct engine_info *info = row->model->info;
    struct row *window = &row->windows[index];
    *window = (struct row){.request = row->request,
                           .model = row->model,
                           .input = engine_input_window(&row->input, index),
                           .deadline_ns = row->deadline_ns,
                           .whole = row,
                           .window = index};
    window->features = arena_alloc_array(arena, info->feature_size, sizeof *window->features);
    if (window->features == NULL)
        return err_no_memory(&row->err, windows_row_bytes(info));
    return ERR_OK;
}

enum err_code windows_open(struct row *row, struct arena *arena)
{
    const unsigned count = row->input.windows;
    row->windows = arena_alloc_array(arena, count, sizeof *row->windows);
    if (row->windows == NULL)
        return err_no_memory(&row->err, count * sizeof *row->windows);
    for (unsigned i = 0; i < count && row->err.code == ERR_OK; i++)
        open_window(row, i, arena);
    atomic_store_explicit(&row->windows_outstanding, count, memory_order_relaxed);
    return row->err.code;
}

size_t windows_row_bytes(const struct engine_info *info)
{
    return sizeof(struct row) + sizeof(struct row *) + info->feature_size * sizeof(float) +
           2 * (size_t)ARENA_ALIGNMENT;
}

/* Sums the results of the windows up as the result of the text. */
static void sum_up(struct row *row)
{
    row->submitted_ns = row->windows[0].submitted_ns;
    for (unsigned i = 0; i < row->input.windows; i++) {
        const struct row *window = &row->windows[i];
        if (window->started_ns > 0 &&
            (row->started_ns == 0 || window->started_ns < row->started_ns))
            row->started_ns = window->started_ns;
        row->done_ns = window->done_ns > row->done_ns ? window->done_ns : row->done_ns;
        row->is_abandoned = row->is_abandoned || window->is_abandoned;
        if (row->err.code == ERR_OK)
            row->err = window->err;
    }
}

struct row *windows_done(struct row *row)
{
    struct row *whole = row->whole;
    if (whole == NULL)
        return row;
    if (atomic_fetch_sub_explicit(&whole->windows_outstanding, 1, memory_order_acq_rel) != 1)
        return NULL;
    sum_up(whole);
    return whole;
}
