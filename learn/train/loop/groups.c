#include "learn/train/loop/corpus.h"

#include <stdlib.h>
#include <string.h>

/* An item of either data set: its text or its label, by which items are brought together. */
struct entry {
    const char *bytes;
    size_t len;
    unsigned part;
    size_t item;
};

static int compare(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    const size_t len = a->len < b->len ? a->len : b->len;
    const int order = memcmp(a->bytes, b->bytes, len);
    if (order != 0 || a->len != b->len)
        return order != 0 ? order : a->len < b->len ? -1 : 1;
    return a->part != b->part ? (a->part > b->part) - (a->part < b->part)
                              : (a->item > b->item) - (a->item < b->item);
}

static bool are_equal(const struct entry *a, const struct entry *b)
{
    return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

/* True if an item of the list has a second text. */
static bool has_pairs(const struct dataset *dataset)
{
    size_t i = 0;
    while (i < dataset->count && dataset->items[i].pair == NULL)
        i++;
    return i < dataset->count;
}

static enum err_code unpair(struct dataset *dataset, struct err *err)
{
    for (size_t i = 0; i < dataset->count; i++)
        if (dataset->items[i].label != NULL)
            return err_set(err, ERR_UNUSABLE,
                           "%.80s: a pair to embed has no label and no value: list the pairs that "
                           "belong together, and leave out the others",
                           dataset->items[i].name);
    return dataset_unpair(dataset, err);
}

static enum err_code check_labels(const struct dataset *dataset, struct err *err)
{
    for (size_t i = 0; i < dataset->count; i++)
        if (dataset->items[i].label == NULL)
            return err_set(err, ERR_UNUSABLE,
                           "%.80s: it has neither a label nor a text_pair, so nothing says what "
                           "belongs together with it",
                           dataset->items[i].name);
    return ERR_OK;
}

/* ---- pairs ---- */

static unsigned leader_of(unsigned *leaders, unsigned at)
{
    while (leaders[at] != at) {
        leaders[at] = leaders[leaders[at]];
        at = leaders[at];
    }
    return at;
}

/* Joins the pairs that share a text, and numbers what is left by its first pair. `leaders` [pairs]
 * is scratch; `first` [2] is each part's first pair. */
static void join_pairs(struct groups *groups, const struct entry *entries, size_t count,
                       unsigned *leaders, const size_t first[GROUPS_PARTS])
{
    for (size_t i = 0; i < count / 2; i++)
        leaders[i] = (unsigned)i;
    for (size_t i = 1; i < count; i++) {
        const struct entry *a = &entries[i - 1], *b = &entries[i];
        if (!are_equal(a, b))
            continue;
        const unsigned x = leader_of(leaders, (unsigned)(first[a->part] + a->item / 2));
        const unsigned y = leader_of(leaders, (unsigned)(first[b->part] + b->item / 2));
        leaders[x > y ? x : y] = x < y ? x : y;
    }
    for (size_t i = 0; i < count; i++) {
        const struct entry *entry = &entries[i];
        groups->of[entry->part][entry->item] =
            leader_of(leaders, (unsigned)(first[entry->part] + entry->item / 2));
    }
    groups->count = (unsigned)(count / 2);
}

/* ---- all ---- */

static void number_labels(struct groups *groups, const struct entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || !are_equal(&entries[i - 1], &entries[i]))
            groups->name[groups->count++] = entries[i].bytes;
        groups->of[entries[i].part][entries[i].item] = groups->count - 1;
    }
}

/* entries [count], sorted: the texts of pairs, or the labels. */
static void list_entries(struct entry *entries, struct dataset *const datasets[GROUPS_PARTS],
                         bool are_pairs)
{
    size_t count = 0;
    for (unsigned p = 0; p < GROUPS_PARTS; p++)
        for (size_t i = 0; datasets[p] != NULL && i < datasets[p]->count; i++) {
            const struct dataset_item *item = &datasets[p]->items[i];
            entries[count++] =
                (struct entry){.bytes = are_pairs ? item->input : item->label,
                               .len = are_pairs ? item->input_len : strlen(item->label),
                               .part = p,
                               .item = i};
        }
    qsort(entries, count, sizeof *entries, compare);
}

enum err_code groups_open(struct groups *out, struct dataset *const datasets[GROUPS_PARTS],
                          struct arena *arena, struct err *err)
{
    size_t count = 0, first[GROUPS_PARTS] = {0};
    *out = (struct groups){.are_pairs = has_pairs(datasets[0])};
    for (unsigned p = 0; p < GROUPS_PARTS; p++) {
        if (datasets[p] == NULL)
            continue;
        if (has_pairs(datasets[p]) != out->are_pairs)
            return err_set(err, ERR_UNUSABLE,
                           "--data has %s and --validation has %s; give both the same",
                           out->are_pairs ? "pairs (text_pair)" : "labels",
                           out->are_pairs ? "labels" : "pairs (text_pair)");
        if (out->are_pairs ? unpair(datasets[p], err) : check_labels(datasets[p], err))
            return err->code;
        first[p] = count / 2;
        count += datasets[p]->count;
        out->of[p] = arena_alloc_array(arena, datasets[p]->count, sizeof **out->of);
        if (out->of[p] == NULL)
            return err_no_memory(err, datasets[p]->count * sizeof **out->of);
    }
    struct entry *entries = calloc(count, sizeof *entries);
    unsigned *leaders = calloc(count, sizeof *leaders);
    out->name = out->are_pairs ? NULL : arena_alloc_array(arena, count, sizeof *out->name);
    if (entries == NULL || leaders == NULL || (!out->are_pairs && out->name == NULL)) {
        err_no_memory(err, count * sizeof *entries);
    } else {
        list_entries(entries, datasets, out->are_pairs);
        if (out->are_pairs)
            join_pairs(out, entries, count, leaders, first);
        else
            number_labels(out, entries, count);
    }
    free(entries);
    free(leaders);
    return err->code;
}
