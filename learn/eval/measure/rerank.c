#include "learn/eval/measure/rerank.h"

#include "learn/data/number_label.h"
#include "learn/eval/measure/text_groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool rerank_is_for(const struct engine_model *model)
{
    const struct engine_info *info = engine_describe(model);
    return info->task == ENGINE_CLASSIFY && info->kind == ENGINE_TEXT && info->reads_pairs &&
           info->label_count == 1 && strcmp(info->scores, "sigmoid") == 0;
}

enum err_code rerank_take(struct rerank *out, const struct engine_model *model,
                          const struct dataset *dataset, const char *data_path, struct err *err)
{
    *out = (struct rerank){.model = model, .dataset = dataset, .data_path = data_path};
    arena_init(&out->arena);
    out->right = arena_alloc_array(&out->arena, dataset->count, sizeof *out->right);
    if (out->right == NULL)
        return err_no_memory(err, dataset->count * sizeof *out->right);
    for (size_t i = 0; i < dataset->count; i++) {
        const struct dataset_item *item = &dataset->items[i];
        if (item->pair == NULL)
            return err_set(err, ERR_UNUSABLE,
                           "%s: %.80s: it has no text_pair; the model scores pairs of texts",
                           data_path, item->name);
        if (number_label_read(item->label, &out->right[i], 1, err))
            return err_prefix(err, "%s: %.80s: ", data_path, item->name);
        if (out->right[i] < 0 || out->right[i] > 1)
            return err_set(err, ERR_UNUSABLE, "%s: %.80s: the number %g is not from 0 to 1",
                           data_path, item->name, out->right[i]);
    }
    return ERR_OK;
}

void rerank_close(struct rerank *rerank)
{
    evaluation_close(&rerank->evaluation);
    arena_deinit(&rerank->arena);
    *rerank = (struct rerank){0};
}

/* ---- order ---- */

/* The texts of a list, and room for the pairs of one query. */
struct order {
    struct lexical lexical;
    struct lexical_text *first, *second; /* [pairs] */
    unsigned *groups;                    /* [pairs] number of the first text */
    float *words;                        /* [pairs] scores of all second texts */
    float *scores;                       /* [pairs] of one query */
    bool *relevant;                      /* likewise */
    size_t *items;                       /* likewise: the pairs */
};

/* The arena owns the arrays; the caller closes out->lexical, also after a failure. */
static enum err_code open_order(struct order *out, const struct dataset *dataset,
                                struct arena *arena, struct err *err)
{
    const size_t count = dataset->count;
    *out = (struct order){.first = arena_alloc_array(arena, count, sizeof *out->first),
                          .second = arena_alloc_array(arena, count, sizeof *out->second),
                          .groups = arena_alloc_array(arena, count, sizeof *out->groups),
                          .words = arena_alloc_array(arena, count, sizeof *out->words),
                          .scores = arena_alloc_array(arena, count, sizeof *out->scores),
                          .relevant = arena_alloc_array(arena, count, sizeof *out->relevant),
                          .items = arena_alloc_array(arena, count, sizeof *out->items)};
    if (arena->failed)
        return err_no_memory(err, count * sizeof *out->first);
    for (size_t i = 0; i < count; i++) {
        const struct dataset_item *item = &dataset->items[i];
        out->first[i] = (struct lexical_text){item->input, item->input_len};
        out->second[i] = (struct lexical_text){item->pair, item->pair_len};
    }
    return text_groups_number(out->first, count, out->groups, err)
               ? err->code
               : lexical_open(&out->lexical, out->second, count, err);
}

static void rank(const struct order *order, size_t count, struct ranking *ranking)
{
    ranking_add(ranking, &(struct ranking_query){.scores = order->scores,
                                                 .relevant = order->relevant,
                                                 .documents = count,
                                                 .self = SIZE_MAX});
}

/* One query: the pairs items [count]. */
static enum err_code rank_query(struct rerank *rerank, struct order *order, size_t count,
                                struct err *err)
{
    const struct evaluation *evaluation = &rerank->evaluation;
    for (size_t i = 0; i < count; i++) {
        const size_t item = order->items[i];
        order->relevant[i] = rerank->right[item] >= RERANK_RELEVANT;
        order->scores[i] =
            evaluation->problems[item] != NULL ? -INFINITY : evaluation_logits(evaluation, item)[0];
    }
    rank(order, count, &rerank->scores);
    for (unsigned kind = 0; kind < LEXICAL_KINDS; kind++) {
        if (lexical_score(&order->lexical, (enum lexical_kind)kind, &order->first[order->items[0]],
                          order->words, err))
            return err->code;
        for (size_t i = 0; i < count; i++)
            order->scores[i] = order->words[order->items[i]];
        rank(order, count, &rerank->words[kind]);
    }
    return ERR_OK;
}

static enum err_code rank_all(struct rerank *rerank, struct order *order, struct err *err)
{
    const size_t pairs = rerank->dataset->count;
    for (size_t q = 0; q < pairs && err->code == ERR_OK; q++) {
        size_t count = 0, before = 0;
        while (before < q && order->groups[before] != order->groups[q])
            before++;
        for (size_t i = q; before == q && i < pairs; i++)
            if (order->groups[i] == order->groups[q])
                order->items[count++] = i;
        if (count > 1)
            rank_query(rerank, order, count, err);
    }
    ranking_finish(&rerank->scores);
    for (unsigned kind = 0; kind < LEXICAL_KINDS; kind++)
        ranking_finish(&rerank->words[kind]);
    return err->code;
}

enum err_code rerank_run(struct rerank *rerank, const struct evaluation_options *options,
                         struct err *err)
{
    struct order order;
    if (evaluation_run(&rerank->evaluation, rerank->model, rerank->dataset, options, err))
        return err->code;
    const struct evaluation *evaluation = &rerank->evaluation;
    const double count = (double)(evaluation->count - evaluation->failed);
    for (size_t i = 0; i < evaluation->count; i++) {
        if (evaluation->problems[i] != NULL)
            continue;
        const double z = (double)evaluation_logits(evaluation, i)[0], right = rerank->right[i];
        rerank->accuracy += ((z >= 0) == (right >= RERANK_RELEVANT)) / count;
        rerank->log_loss += (fmax(z, 0) - z * right + log1p(exp(-fabs(z)))) / count;
    }
    if (!open_order(&order, rerank->dataset, &rerank->arena, err))
        rank_all(rerank, &order, err);
    lexical_close(&order.lexical);
    return err->code;
}
