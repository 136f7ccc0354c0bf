#include "engine/ngrams/ngram_table.h"

#include "engine/base/half.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 64 }; /* labels of a row that are read at a time */

void ngram_table_read(const struct ngram_table *table, size_t first, size_t count, float *out)
{
    if (table->weight != NULL)
        memcpy(out, table->weight + first, count * sizeof *out);
    else
        half_f16_to_f32(out, table->halves + first, count);
}

/* evidence += value * the row of W */
static void add_row(const struct ngram_table *table, size_t row, float value, float *evidence)
{
    float weights[CHUNK];
    for (unsigned first = 0; first < table->labels; first += CHUNK) {
        const unsigned left = table->labels - first, count = left < CHUNK ? left : CHUNK;
        ngram_table_read(table, row * table->labels + first, count, weights);
        for (unsigned c = 0; c < count; c++)
            evidence[first + c] += value * weights[c];
    }
}

void ngram_table_add_up(const struct ngram_table *table, const struct ngram_list *list,
                        float *evidence)
{
    memcpy(evidence, table->bias, table->labels * sizeof *evidence);
    for (size_t i = 0; i < list->count; i++)
        add_row(table, list->entries[i].row, list->entries[i].value, evidence);
}

enum err_code ngram_table_evidence(const struct ngram_table *table, const char *text, size_t len,
                                   struct arena *arena, float *evidence, struct err *err)
{
    struct ngram_list list;
    if (!ngrams_list(&table->reading, text, len, arena, &list, err))
        ngram_table_add_up(table, &list, evidence);
    return err->code;
}

/* ---- phrases ---- */

enum { GAP_MAX = 8 }; /* bytes between two words of a phrase */

/* A word of the text, and its evidence for the label. */
struct share {
    size_t start, end;
    double evidence;
};

struct shares {
    const struct ngram_table *table;
    const struct ngram_list *list;
    unsigned label;
    struct share *words; /* NULL: only counted */
    size_t count;
};

static int by_row(const void *a, const void *b)
{
    const struct ngram_entry *left = a, *right = b;
    return left->row < right->row ? -1 : left->row > right->row;
}

static void take_shares(void *context, const struct ngram *ngram)
{
    struct shares *shares = context;
    const struct ngram_list *list = shares->list;
    const struct ngram_entry key = {.row = ngram->row}; /* of an n-gram of the same text */
    const size_t first = list->first[ngram->block];
    const size_t end =
        ngram->block + 1 < NGRAM_BLOCKS ? list->first[ngram->block + 1] : list->count;
    const struct ngram_entry *entry =
        bsearch(&key, list->entries + first, end - first, sizeof key, by_row);
    /* The row's evidence for the label, less the mean over all labels. */
    const struct ngram_table *table = shares->table;
    double mean = 0, own = 0;
    for (unsigned c = 0; c < table->labels; c++) {
        float weight;
        ngram_table_read(table, (size_t)ngram->row * table->labels + c, 1, &weight);
        mean += (double)weight / table->labels;
        own = c == shares->label ? (double)weight : own;
    }
    const double evidence = (double)entry->value * (own - mean) / entry->often / ngram->words;
    for (unsigned i = 0; i < ngram->words; i++, shares->count++)
        if (shares->words != NULL)
            shares->words[shares->count] = (struct share){ngram->start[i], ngram->end[i], evidence};
}

static int by_place(const void *a, const void *b)
{
    const struct share *left = a, *right = b;
    return left->start < right->start ? -1 : left->start > right->start;
}

/* Merges equal words, in the order of the text. Returns their number. */
static size_t merge(struct share *words, size_t count)
{
    size_t kept = 0;
    qsort(words, count, sizeof *words, by_place);
    for (size_t i = 0; i < count; i++)
        if (kept > 0 && words[kept - 1].start == words[i].start)
            words[kept - 1].evidence += words[i].evidence;
        else
            words[kept++] = words[i];
    return kept;
}

static bool go_on(const char *text, const struct share *word, const struct share *next)
{
    return next->evidence > 0 && next->start - word->end <= GAP_MAX &&
           memchr(text + word->end, '\n', next->start - word->end) == NULL;
}

/* Inserts a phrase among the strongest so far, which are sorted. */
static unsigned insert(struct ngram_phrase *out, unsigned count, unsigned most,
                       struct ngram_phrase phrase)
{
    unsigned at = count < most ? count : most;
    while (at > 0 && out[at - 1].evidence < phrase.evidence)
        at--;
    if (at == most)
        return count;
    count = count < most ? count + 1 : most;
    memmove(out + at + 1, out + at, (count - at - 1) * sizeof *out);
    out[at] = phrase;
    return count;
}

static unsigned join(const char *text, const struct share *words, size_t count,
                     struct ngram_phrase *out, unsigned most)
{
    unsigned found = 0;
    for (size_t i = 0; i < count; i++) {
        double sum = words[i].evidence;
        const size_t start = words[i].start;
        if (sum <= 0)
            continue;
        for (; i + 1 < count && go_on(text, &words[i], &words[i + 1]); i++)
            sum += words[i + 1].evidence;
        found = insert(out, found, most, (struct ngram_phrase){start, words[i].end, (float)sum});
    }
    return found;
}

/* Returns the place of the at-th byte that is no NUL. */
static size_t place_of(const char *text, size_t at)
{
    size_t i = 0;
    while (text[i] == '\0' || at-- > 0)
        i++;
    return i;
}

enum err_code ngram_table_phrases(const struct ngram_table *table, const char *text, size_t len,
                                  unsigned label, struct arena *arena, struct ngram_phrase *out,
                                  unsigned most, unsigned *count, struct err *err)
{
    struct ngram_list list;
    struct shares shares = {.table = table, .list = &list, .label = label};
    const char *whole = text;
    *count = 0;
    text = ngrams_without_nuls(text, &len, arena, err);
    if (text == NULL || ngrams_list(&table->reading, text, len, arena, &list, err))
        return err->code;
    ngrams_each(&table->reading, text, len, take_shares, &shares);
    shares.words = arena_alloc_array(arena, shares.count + 1, sizeof *shares.words);
    if (shares.words == NULL)
        return err_no_memory(err, shares.count * sizeof *shares.words);
    shares.count = 0;
    ngrams_each(&table->reading, text, len, take_shares, &shares);
    *count = join(text, shares.words, merge(shares.words, shares.count), out, most);
    for (unsigned i = 0; i < *count && text != whole; i++) {
        out[i].start = place_of(whole, out[i].start);
        out[i].end = place_of(whole, out[i].end - 1) + 1;
    }
    return ERR_OK;
}

/* Each n-gram takes a share for each of its words. */
size_t ngram_table_phrases_bytes(const struct ngram_table *table, size_t len)
{
    const size_t ngrams = ngrams_most(&table->reading, len);
    return ngrams_list_bytes(&table->reading, len) +
           NGRAM_WORDS_MAX * ngrams * sizeof(struct share) + ARENA_ALIGNMENT;
}
