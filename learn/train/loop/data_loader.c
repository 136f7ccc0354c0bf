#include "learn/train/loop/data_loader.h"

#include "learn/train/network/rng_streams.h"

#include <stdlib.h>

enum err_code data_loader_open(struct data_loader *out, const struct samples *samples,
                               unsigned rows_max, struct err *err)
{
    *out = (struct data_loader){.samples = samples, .rows_max = rows_max};
    out->inputs = arena_alloc_array(&out->arena, rows_max, sizeof *out->inputs);
    out->listed = arena_alloc_array(&out->arena, rows_max, sizeof *out->listed);
    out->targets = arena_alloc_array(&out->arena, rows_max, sizeof *out->targets);
    out->read = arena_alloc_array(&out->arena, rows_max, sizeof *out->read);
    out->listed_read = arena_alloc_array(&out->arena, rows_max, sizeof *out->listed_read);
    out->arenas = arena_alloc_array(&out->arena, rows_max, sizeof *out->arenas);
    out->errs = arena_alloc_array(&out->arena, rows_max, sizeof *out->errs);
    if (out->arena.failed) {
        data_loader_close(out);
        return err_no_memory(err, rows_max * sizeof *out->inputs);
    }
    for (unsigned i = 0; i < rows_max; i++) {
        out->listed[i] = &out->inputs[i];
        out->listed_read[i] = &out->read[i];
    }
    return ERR_OK;
}

void data_loader_close(struct data_loader *loader)
{
    for (unsigned i = 0; loader->arenas != NULL && i < loader->rows_max; i++)
        arena_deinit(&loader->arenas[i]);
    arena_deinit(&loader->arena);
    *loader = (struct data_loader){0};
}

struct preparation {
    struct data_loader *loader;
    const size_t *items;
    const struct data_loader_order *order;
};

static void prepare_share(void *context, unsigned index, unsigned count)
{
    const struct preparation *run = context;
    struct data_loader *loader = run->loader;
    const struct data_loader_order *order = run->order;
    for (unsigned row = index; row < loader->rows; row += count) {
        struct arena *arena = &loader->arenas[row];
        struct rng rng = rng_for(order->seed, STREAM_AUGMENT, order->position + row);
        arena_deinit(arena);
        loader->errs[row] = (struct err){0};
        if (order->masks)
            samples_masked_input(loader->samples, run->items[row], order->view, &rng, arena,
                                 &loader->inputs[row], &loader->targets[row], &loader->errs[row]);
        else if (order->tags)
            samples_tagged_input(loader->samples, run->items[row], order->view,
                                 order->draws ? &rng : NULL, arena, &loader->inputs[row],
                                 &loader->targets[row], &loader->errs[row]);
        else if (order->writes)
            samples_written_input(loader->samples, run->items[row], order->view,
                                  order->draws ? &rng : NULL, arena, &loader->inputs[row],
                                  &loader->read[row], &loader->targets[row], &loader->errs[row]);
        else
            samples_input(loader->samples, run->items[row], order->view, order->draws ? &rng : NULL,
                          arena, &loader->inputs[row], &loader->errs[row]);
    }
}

enum err_code data_loader_prepare(struct data_loader *loader, struct thread_pool *pool,
                                  const size_t *items, unsigned count,
                                  const struct data_loader_order *order, struct err *err)
{
    struct preparation run = {loader, items, order};
    loader->rows = count;
    loader->writes = order->writes;
    thread_pool_run(pool, prepare_share, &run);
    for (unsigned row = 0; row < count; row++)
        if (loader->errs[row].code != ERR_OK) {
            *err = loader->errs[row];
            return err->code;
        }
    return ERR_OK;
}

bool data_loader_next(const struct data_loader *loader, unsigned *at, unsigned tokens_max,
                      struct data_loader_part *out)
{
    unsigned read_all = 0;
    *out = (struct data_loader_part){.first = *at};
    for (; *at < loader->rows; ++*at) {
        const unsigned tokens = loader->inputs[*at].tokens;
        const unsigned read = loader->writes ? loader->read[*at].tokens : 0;
        if (out->rows > 0 && (out->tokens > tokens_max || tokens > tokens_max - out->tokens ||
                              read > tokens_max - read_all))
            break;
        out->tokens += tokens;
        read_all += read;
        out->rows++;
    }
    return out->rows > 0;
}
