#include "learn/train/loop/judge.h"

#include "engine/model/sentence_pooling.h"
#include "engine/tensor/dot.h"
#include "learn/eval/measure/ranking.h"

#include <stdlib.h>
#include <string.h>

/* The validation part's vectors. */
struct found {
    const struct judge *judge;
    size_t width;
    float *vectors;   /* [items, width] of length 1 */
    size_t *mates;    /* [items] corpus_mates */
    float *scores;    /* [items] of one query */
    bool *relevant;   /* [items] */
    double *scratch;  /* of the loss */
    unsigned *groups; /* [rows_max] */
    float *rows;      /* [2 rows_max, width] */
    struct arena arena;
};

static enum err_code open_found(struct found *out, const struct judge *judge, size_t width,
                                unsigned rows_max, struct err *err)
{
    const size_t count = judge->items->count;
    const struct ranking_pairs most = {.count = rows_max, .width = width};
    struct arena *arena = &out->arena;
    *out = (struct found){.judge = judge, .width = width};
    out->vectors = arena_alloc_array(arena, count * width, sizeof *out->vectors);
    out->mates = arena_alloc_array(arena, count, sizeof *out->mates);
    out->scores = arena_alloc_array(arena, count, sizeof *out->scores);
    out->relevant = arena_alloc_array(arena, count, sizeof *out->relevant);
    out->scratch = arena_alloc_array(arena, ranking_loss_scratch(&most), sizeof *out->scratch);
    out->groups = arena_alloc_array(arena, rows_max, sizeof *out->groups);
    out->rows = arena_alloc_array(arena, 2 * rows_max * width, sizeof *out->rows);
    return arena->failed ? err_no_memory(err, count * width * sizeof *out->vectors) : ERR_OK;
}

static enum err_code run_items(struct found *found, struct learner *learner,
                               struct data_loader *loader, struct err *err)
{
    const struct judge *judge = found->judge;
    const struct data_loader_order order = {.view = &judge->view};
    for (size_t first = 0; first < judge->items->count; first += loader->rows) {
        const size_t left = judge->items->count - first;
        const unsigned count = left < loader->rows_max ? (unsigned)left : loader->rows_max;
        if (data_loader_prepare(loader, network_pool(learner->network), judge->items->item + first,
                                count, &order, err))
            return err->code;
        learner_logits(learner, loader, found->vectors + first * found->width);
        if (judge->progress != NULL)
            judge->progress(judge->context, first + count);
    }
    for (size_t i = 0; i < judge->items->count; i++)
        sentence_normalize(found->vectors + i * found->width, (unsigned)found->width);
    return ERR_OK;
}

/* The mean loss over batches of as many pairs as are learnt at once. */
static double mean_loss(struct found *found, unsigned batch, size_t *hits, size_t *pairs)
{
    const struct corpus_items *items = found->judge->items;
    const size_t width = found->width, bytes = width * sizeof(float);
    double sum = 0;
    unsigned rows = 0;
    for (size_t i = 0; i < items->count; i++) {
        const bool is_last = i + 1 == items->count;
        if (found->mates[i] != SIZE_MAX) {
            memcpy(found->rows + 2 * rows * width, found->vectors + i * width, bytes);
            memcpy(found->rows + (2 * rows + 1) * width, found->vectors + found->mates[i] * width,
                   bytes);
            found->groups[rows++] = items->classes[i];
        }
        if (rows == 0 || (rows < batch && !is_last))
            continue;
        const struct ranking_pairs some = {.vectors = found->rows,
                                           .groups = found->groups,
                                           .count = rows,
                                           .width = width,
                                           .scale = found->judge->scale};
        sum += rows * ranking_loss(&some, NULL, found->scratch, hits);
        *pairs += rows;
        rows = 0;
    }
    return sum / (double)*pairs;
}

static void search(struct found *found, struct ranking *ranking)
{
    const struct corpus_items *items = found->judge->items;
    const size_t step = found->judge->groups->are_pairs ? 2 : 1, width = found->width;
    const size_t queries = items->count / step, documents = items->count / step;
    const size_t skip = (queries + JUDGE_QUERIES_MAX - 1) / JUDGE_QUERIES_MAX;
    for (size_t q = 0; q < queries; q += skip) {
        const float *vector = found->vectors + q * step * width;
        for (size_t d = 0; d < documents; d++) {
            const size_t item = d * step + step - 1;
            found->scores[d] = dot(vector, found->vectors + item * width, width);
            found->relevant[d] = items->classes[item] == items->classes[q * step];
        }
        ranking_add(ranking, &(struct ranking_query){.scores = found->scores,
                                                     .relevant = found->relevant,
                                                     .documents = documents,
                                                     .self = step == 1 ? q : SIZE_MAX});
    }
    ranking_finish(ranking);
}

enum err_code judge_vectors(const struct judge *judge, struct learner *learner,
                            struct data_loader *loader, struct judge_result *out, struct err *err)
{
    const size_t width = parameters_outputs(&learner->setup.spec, learner->setup.head);
    struct ranking ranking = {0};
    struct found found;
    size_t hits = 0, pairs = 0;
    if (!open_found(&found, judge, width, loader->rows_max, err) &&
        !corpus_mates(judge->groups, judge->items, found.mates, err) &&
        !run_items(&found, learner, loader, err)) {
        search(&found, &ranking);
        out->loss = mean_loss(&found, loader->rows_max / 2, &hits, &pairs);
        out->accuracy = (double)hits / (double)pairs;
        out->ndcg = ranking.ndcg;
    }
    arena_deinit(&found.arena);
    return err->code;
}
