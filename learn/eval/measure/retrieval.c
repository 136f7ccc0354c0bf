#include "learn/eval/measure/retrieval.h"

#include "engine/tensor/dot.h"
#include "learn/data/number_label.h"
#include "learn/eval/measure/number_errors.h"
#include "learn/eval/measure/text_groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the data are ---- */

static struct lexical_text text_of(const struct retrieval *retrieval, size_t item)
{
    const struct dataset_item *from = &retrieval->dataset->items[item];
    return (struct lexical_text){from->input, from->input_len};
}

/* Numbers equal labels, or of pairs equal texts. */
static enum err_code number_groups(struct retrieval *retrieval, struct err *err)
{
    const struct dataset *dataset = retrieval->dataset;
    struct lexical_text *keys = calloc(dataset->count, sizeof *keys);
    if (keys == NULL)
        return err_no_memory(err, dataset->count * sizeof *keys);
    for (size_t i = 0; i < dataset->count; i++) {
        const char *label = dataset->items[i].label;
        keys[i] = retrieval->kind == RETRIEVAL_LABELS ? (struct lexical_text){label, strlen(label)}
                                                      : text_of(retrieval, i);
    }
    text_groups_number(keys, dataset->count, retrieval->groups, err);
    free(keys);
    return err->code;
}

/* The items that search and those that are searched. A text of pairs is listed once on each side.
 * `seen` [2, dataset->count] is zero. */
static void list_sides(struct retrieval *retrieval, bool *seen)
{
    const size_t count = retrieval->dataset->count;
    const bool are_pairs = retrieval->kind != RETRIEVAL_LABELS;
    for (size_t i = 0; i < count; i++) {
        bool *is_known = &seen[(i % 2) * count + retrieval->groups[i]];
        if (are_pairs && *is_known)
            continue;
        *is_known = true;
        if (!are_pairs || i % 2 == 0)
            retrieval->queries[retrieval->query_count++] = i;
        if (!are_pairs || i % 2 == 1)
            retrieval->documents[retrieval->document_count++] = i;
    }
}

static enum err_code read_numbers(struct retrieval *retrieval, struct err *err)
{
    const struct dataset *dataset = retrieval->dataset;
    retrieval->numbers =
        arena_alloc_array(&retrieval->arena, dataset->count, sizeof *retrieval->numbers);
    if (retrieval->numbers == NULL)
        return err_no_memory(err, dataset->count * sizeof *retrieval->numbers);
    for (size_t i = 0; i < dataset->count; i++) {
        const struct dataset_item *item = &dataset->items[i];
        if (item->label == NULL)
            return err_set(err, ERR_UNUSABLE,
                           "%.80s: it has no number (value or label), as other pairs have",
                           item->name);
        if (number_label_read(item->label, &retrieval->numbers[i], 1, err))
            return err_prefix(err, "%.80s: ", item->name);
    }
    return ERR_OK;
}

/* Pairs become items. */
static enum err_code look(struct retrieval *retrieval, struct err *err)
{
    struct dataset *dataset = retrieval->dataset;
    size_t pairs = 0, labels = 0;
    for (size_t i = 0; i < dataset->count; i++) {
        pairs += dataset->items[i].pair != NULL;
        labels += dataset->items[i].label != NULL;
    }
    if (pairs > 0) {
        retrieval->kind = labels > 0 ? RETRIEVAL_NUMBERS : RETRIEVAL_PAIRS;
        return labels > 0 && read_numbers(retrieval, err) ? err->code
                                                          : dataset_unpair(dataset, err);
    }
    retrieval->kind = RETRIEVAL_LABELS;
    for (size_t i = 0; i < dataset->count; i++)
        if (dataset->items[i].label == NULL)
            return err_set(err, ERR_UNUSABLE,
                           "%.80s: it has neither a label nor a text_pair, so nothing says what "
                           "belongs together with it",
                           dataset->items[i].name);
    return ERR_OK;
}

enum err_code retrieval_take(struct retrieval *out, const struct engine_model *model,
                             struct dataset *dataset, const char *data_path, struct err *err)
{
    *out = (struct retrieval){.model = model, .dataset = dataset, .data_path = data_path};
    arena_init(&out->arena);
    if (engine_describe(model)->task != ENGINE_EMBED)
        return err_set(err, ERR_UNSUPPORTED, "the model answers no vectors");
    if (look(out, err))
        return err_prefix(err, "%s: ", data_path);
    const size_t count = dataset->count;
    bool *seen = arena_alloc_array(&out->arena, 2 * count, sizeof *seen);
    out->groups = arena_alloc_array(&out->arena, count, sizeof *out->groups);
    out->queries = arena_alloc_array(&out->arena, count, sizeof *out->queries);
    out->documents = arena_alloc_array(&out->arena, count, sizeof *out->documents);
    if (out->arena.failed)
        return err_no_memory(err, count * sizeof *out->queries);
    if (!number_groups(out, err))
        list_sides(out, seen);
    return err->code;
}

void retrieval_close(struct retrieval *retrieval)
{
    evaluation_close(&retrieval->evaluation);
    arena_deinit(&retrieval->arena);
    *retrieval = (struct retrieval){0};
}

/* ---- similarity ---- */

/* Larger is closer; minus infinity where one of the two has no vector. */
static float similarity(const struct retrieval *retrieval, size_t a, size_t b)
{
    const struct evaluation *evaluation = &retrieval->evaluation;
    const char *name = engine_describe(retrieval->model)->similarity;
    const size_t width = evaluation->vector_size;
    const float *x = evaluation->vectors + a * width, *y = evaluation->vectors + b * width;
    double sum = 0;
    if (evaluation->problems[a] != NULL || evaluation->problems[b] != NULL)
        return -INFINITY;
    if (strcmp(name, "cosine") == 0 || strcmp(name, "dot") == 0)
        return dot(x, y, width);
    for (size_t i = 0; i < width; i++) {
        const double d = (double)x[i] - (double)y[i];
        sum += strcmp(name, "euclidean") == 0 ? d * d : fabs(d);
    }
    return (float)-(strcmp(name, "euclidean") == 0 ? sqrt(sum) : sum);
}

/* ---- search ---- */

/* Room for one query. */
struct search {
    float *scores;  /* [documents] */
    bool *relevant; /* [documents] */
    size_t self;
};

static void rank(const struct retrieval *retrieval, const struct search *search,
                 struct ranking *ranking)
{
    ranking_add(ranking, &(struct ranking_query){.scores = search->scores,
                                                 .relevant = search->relevant,
                                                 .documents = retrieval->document_count,
                                                 .self = search->self});
}

/* `places`: the document of a text's number. */
static enum err_code search_all(struct retrieval *retrieval, struct lexical *lexical,
                                struct search *search, const size_t *places, struct err *err)
{
    const bool has_labels = retrieval->kind == RETRIEVAL_LABELS; /* else pairs */
    const unsigned *groups = retrieval->groups;
    for (size_t q = 0; q < retrieval->query_count; q++) {
        const size_t query = retrieval->queries[q];
        const struct lexical_text text = text_of(retrieval, query);
        search->self = has_labels ? q : SIZE_MAX;
        for (size_t d = 0; d < retrieval->document_count; d++) {
            const size_t document = retrieval->documents[d];
            search->relevant[d] = has_labels && groups[document] == groups[query];
            search->scores[d] = similarity(retrieval, query, document);
        }
        for (size_t i = 0; i < retrieval->dataset->count && !has_labels; i += 2)
            if (groups[i] == groups[query])
                search->relevant[places[groups[i + 1]]] = true;
        rank(retrieval, search, &retrieval->vectors);
        for (unsigned kind = 0; kind < LEXICAL_KINDS; kind++) {
            if (lexical_score(lexical, (enum lexical_kind)kind, &text, search->scores, err))
                return err->code;
            rank(retrieval, search, &retrieval->words[kind]);
        }
    }
    ranking_finish(&retrieval->vectors);
    for (unsigned kind = 0; kind < LEXICAL_KINDS; kind++)
        ranking_finish(&retrieval->words[kind]);
    return ERR_OK;
}

/* ---- numbers ---- */

/* answered [1 + LEXICAL_KINDS, pairs] <- the similarity of the two texts of each pair. */
static enum err_code compare_all(struct retrieval *retrieval, struct lexical *lexical,
                                 struct search *search, const size_t *places, struct err *err)
{
    const size_t pairs = retrieval->dataset->count / 2;
    double *answered = calloc((1 + LEXICAL_KINDS) * pairs + 1, sizeof *answered);
    double *right = calloc(pairs + 1, sizeof *right);
    struct number_errors errors;
    size_t count = 0;
    if (answered == NULL || right == NULL)
        err_no_memory(err, pairs * sizeof *answered);
    for (size_t p = 0; p < pairs && err->code == ERR_OK; p++) {
        const struct lexical_text text = text_of(retrieval, 2 * p);
        const float own = similarity(retrieval, 2 * p, 2 * p + 1);
        if (!isfinite(own))
            continue;
        right[count] = retrieval->numbers[p];
        answered[count] = (double)own;
        for (unsigned kind = 0; kind < LEXICAL_KINDS; kind++) {
            lexical_score(lexical, (enum lexical_kind)kind, &text, search->scores, err);
            answered[(1 + kind) * pairs + count] =
                (double)search->scores[places[retrieval->groups[2 * p + 1]]];
        }
        count++;
    }
    for (unsigned i = 0; i < 1 + LEXICAL_KINDS && err->code == ERR_OK; i++)
        if (!number_errors_measure(&errors, answered + i * pairs, right, count, err))
            *(i == 0 ? &retrieval->spearman : &retrieval->words_spearman[i - 1]) = errors.spearman;
    free(answered);
    free(right);
    return err->code;
}

/* ---- all ---- */

enum err_code retrieval_run(struct retrieval *retrieval, const struct evaluation_options *options,
                            struct err *err)
{
    const size_t documents = retrieval->document_count;
    if (evaluation_run(&retrieval->evaluation, retrieval->model, retrieval->dataset, options, err))
        return err->code;
    const struct evaluation *evaluation = &retrieval->evaluation;
    const struct engine_info *info = engine_describe(retrieval->model);
    for (size_t i = 0; i < evaluation->count; i++) {
        retrieval->truncated += evaluation->truncated[i];
        if (strcmp(info->similarity, "cosine") == 0)
            engine_normalize(evaluation->vectors + i * info->vector_size, info->vector_size);
    }
    struct lexical lexical;
    struct arena *arena = &retrieval->arena;
    struct search search = {.scores = arena_alloc_array(arena, documents, sizeof *search.scores),
                            .relevant =
                                arena_alloc_array(arena, documents, sizeof *search.relevant)};
    struct lexical_text *texts = arena_alloc_array(arena, documents, sizeof *texts);
    size_t *places = arena_alloc_array(arena, retrieval->dataset->count, sizeof *places);
    if (arena->failed)
        return err_no_memory(err, documents * sizeof *texts);
    for (size_t d = 0; d < documents; d++) {
        texts[d] = text_of(retrieval, retrieval->documents[d]);
        places[retrieval->groups[retrieval->documents[d]]] = d;
    }
    if (!lexical_open(&lexical, texts, documents, err)) {
        if (retrieval->kind == RETRIEVAL_NUMBERS)
            compare_all(retrieval, &lexical, &search, places, err);
        else
            search_all(retrieval, &lexical, &search, places, err);
    }
    lexical_close(&lexical);
    return err->code;
}
