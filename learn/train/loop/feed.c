#include "learn/train/loop/feed.h"

#include "learn/train/network/places.h"

#include <stdlib.h>

enum err_code feed_open(struct feed *out, const struct samples *samples, unsigned rows_max,
                        struct err *err)
{
    *out = (struct feed){.samples = samples, .rows_max = rows_max};
    out->inputs = calloc(rows_max, sizeof *out->inputs);
    out->listed = calloc(rows_max, sizeof *out->listed);
    out->masked = calloc(rows_max, sizeof *out->masked);
    out->arenas = calloc(rows_max, sizeof *out->arenas);
    out->errs = calloc(rows_max, sizeof *out->errs);
    if (out->inputs == NULL || out->listed == NULL || out->masked == NULL || out->arenas == NULL ||
        out->errs == NULL) {
        feed_close(out);
        return err_no_memory(err, rows_max * sizeof *out->inputs);
    }
    for (unsigned i = 0; i < rows_max; i++) {
        arena_init(&out->arenas[i]);
        out->listed[i] = &out->inputs[i];
    }
    return ERR_OK;
}

void feed_close(struct feed *feed)
{
    for (unsigned i = 0; feed->arenas != NULL && i < feed->rows_max; i++)
        arena_deinit(&feed->arenas[i]);
    free(feed->inputs);
    free(feed->listed);
    free(feed->masked);
    free(feed->arenas);
    free(feed->errs);
    *feed = (struct feed){0};
}

struct preparation {
    struct feed *feed;
    const size_t *items;
    const struct feed_order *order;
};

static void prepare_row(const struct preparation *run, unsigned row)
{
    struct feed *feed = run->feed;
    const struct feed_order *order = run->order;
    struct arena *arena = &feed->arenas[row];
    struct rng rng = rng_for(order->seed, PLACE_AUGMENT, order->position + row);
    arena_deinit(arena);
    feed->errs[row] = (struct err){0};
    if (order->masks)
        samples_masked_input(feed->samples, run->items[row], order->view, &rng, arena,
                             &feed->inputs[row], &feed->masked[row], &feed->errs[row]);
    else
        samples_input(feed->samples, run->items[row], order->view, order->draws ? &rng : NULL,
                      arena, &feed->inputs[row], &feed->errs[row]);
}

static void prepare_share(void *context, unsigned index, unsigned count)
{
    const struct preparation *run = context;
    for (unsigned row = index; row < run->feed->rows; row += count)
        prepare_row(run, row);
}

enum err_code feed_prepare(struct feed *feed, struct team *team, const size_t *items,
                           unsigned count, const struct feed_order *order, struct err *err)
{
    struct preparation run = {feed, items, order};
    feed->rows = count;
    team_run(team, prepare_share, &run);
    for (unsigned row = 0; row < count; row++)
        if (feed->errs[row].code != ERR_OK) {
            *err = feed->errs[row];
            return err->code;
        }
    return ERR_OK;
}

bool feed_next(const struct feed *feed, unsigned *at, unsigned tokens_max, struct feed_part *out)
{
    *out = (struct feed_part){.first = *at};
    for (; *at < feed->rows; ++*at) {
        unsigned tokens = feed->inputs[*at].tokens;
        if (out->rows > 0 && (out->tokens > tokens_max || tokens > tokens_max - out->tokens))
            break;
        out->tokens += tokens;
        out->rows++;
    }
    return out->rows > 0;
}
