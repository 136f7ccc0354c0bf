#include "learn/eval/texts/writing_assessment.h"

#include "engine/base/rng.h"
#include "engine/base/utf8.h"
#include "engine/statistics/edits.h"
#include "engine/text/pipeline/character_class.h"
#include "learn/eval/measure/interval.h"
#include "learn/eval/texts/bleu_tokens.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PURPOSE = 0x7465, MEASURES = 4 };

/* ---- characters ---- */

/* The characters of a text without its white space, which chrF counts. */
struct characters {
    uint32_t *dense; /* [dense_count] */
    size_t dense_count;
};

static bool read_characters(struct characters *out, const char *text, size_t len,
                            struct arena *scratch)
{
    *out = (struct characters){.dense = arena_alloc_array(scratch, len + 1, sizeof *out->dense)};
    if (out->dense == NULL)
        return false;
    for (size_t at = 0; at < len;) {
        const uint32_t character = utf8_decode(text, &at);
        if (!character_is_python_space(character))
            out->dense[out->dense_count++] = character;
    }
    return true;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- sequences ---- */

/* Two sequences of units, the written one's first, and for each place the number of the n-gram that
 * begins there. */
struct sequences {
    uint32_t *units;
    size_t written, right; /* of each */
    uint32_t *number;
    struct gram {
        uint64_t key;
        size_t at;
    } * grams;
};

static int compare_grams(const void *left, const void *right)
{
    const uint64_t a = ((const struct gram *)left)->key, b = ((const struct gram *)right)->key;
    return (a > b) - (a < b);
}

/* An n-gram is an n-1-gram and a unit: numbers of those before and units make the keys that equal
 * n-grams share. */
static void count_ngrams(struct sequences *both, unsigned n, struct ngram_count *out)
{
    size_t count = 0;
    *out = (struct ngram_count){0};
    for (size_t at = 0; at < both->written + both->right; at++) {
        const size_t end = at < both->written ? both->written : both->written + both->right;
        if (end - at < n)
            continue;
        const uint64_t before = n > 1 ? both->number[at] : 0;
        both->grams[count++] = (struct gram){before << 32 | both->units[at + n - 1], at};
        if (at < both->written)
            out->written++;
        else
            out->right++;
    }
    qsort(both->grams, count, sizeof *both->grams, compare_grams);
    for (size_t i = 0, number = 0; i < count; number++) {
        const uint64_t key = both->grams[i].key;
        size_t written = 0, right = 0;
        for (; i < count && both->grams[i].key == key; i++) {
            both->number[both->grams[i].at] = (uint32_t)number;
            if (both->grams[i].at < both->written)
                written++;
            else
                right++;
        }
        out->both += least(written, right);
    }
}

static bool open_sequences(struct sequences *out, size_t written, size_t right,
                           struct arena *scratch)
{
    const size_t all = written + right + 1;
    *out = (struct sequences){.units = arena_alloc_array(scratch, all, sizeof *out->units),
                              .written = written,
                              .right = right,
                              .number = arena_alloc_array(scratch, all, sizeof *out->number),
                              .grams = arena_alloc_array(scratch, all, sizeof *out->grams)};
    return out->units != NULL && out->number != NULL && out->grams != NULL;
}

/* ---- counts ---- */

/* sacrebleu counts no sequence of the written text where the right one has none. */
static bool count_characters(struct text_counts *out, const struct characters *written,
                             const struct characters *right, struct arena *scratch)
{
    struct sequences both;
    if (!open_sequences(&both, written->dense_count, right->dense_count, scratch))
        return false;
    memcpy(both.units, written->dense, written->dense_count * sizeof *both.units);
    memcpy(both.units + both.written, right->dense, right->dense_count * sizeof *both.units);
    for (unsigned n = 1; n <= CHRF_ORDERS; n++) {
        struct ngram_count *count = &out->characters_of[n - 1];
        count_ngrams(&both, n, count);
        count->written = count->right > 0 ? count->written : 0;
    }
    return true;
}

struct place {
    struct bleu_word word;
    size_t at;
};

static int compare_words(const void *left, const void *right)
{
    const struct bleu_word *a = &((const struct place *)left)->word;
    const struct bleu_word *b = &((const struct place *)right)->word;
    const int order = memcmp(a->text, b->text, least(a->len, b->len));
    return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

/* Equal words become equal units. */
static bool count_words(struct text_counts *out, const struct bleu_tokens *written,
                        const struct bleu_tokens *right, struct arena *scratch)
{
    struct sequences both;
    const size_t all = written->count + right->count;
    struct place *places = arena_alloc_array(scratch, all + 1, sizeof *places);
    if (places == NULL || !open_sequences(&both, written->count, right->count, scratch))
        return false;
    for (size_t i = 0; i < all; i++)
        places[i] = (struct place){.word = i < written->count ? written->words[i]
                                                              : right->words[i - written->count],
                                   .at = i};
    qsort(places, all, sizeof *places, compare_words);
    uint32_t unit = 0;
    for (size_t i = 0; i < all; i++) {
        unit += i > 0 && compare_words(&places[i - 1], &places[i]) != 0;
        both.units[places[i].at] = unit;
    }
    for (unsigned n = 1; n <= BLEU_ORDERS; n++)
        count_ngrams(&both, n, &out->words_of[n - 1]);
    return true;
}

enum err_code text_counts_take(struct text_counts *out, const char *written, size_t written_len,
                               const char *right, size_t right_len, struct arena *scratch,
                               struct err *err)
{
    struct characters a, b;
    struct bleu_tokens a_words, b_words;
    const size_t bytes = (written_len + right_len + 1) * (sizeof(struct gram) + sizeof(size_t));
    *out = (struct text_counts){
        .texts = 1, .exact = written_len == right_len && memcmp(written, right, right_len) == 0};
    if (!read_characters(&a, written, written_len, scratch) ||
        !read_characters(&b, right, right_len, scratch))
        return err_no_memory(err, bytes);
    struct edits edits;
    if (!count_characters(out, &a, &b, scratch))
        return err_no_memory(err, bytes);
    if (edits_count(written, written_len, right, right_len, scratch, &edits, err))
        return err->code;
    out->characters = edits.characters;
    out->edits = edits.count;
    if (bleu_tokens_split(&a_words, written, written_len, scratch, err) ||
        bleu_tokens_split(&b_words, right, right_len, scratch, err))
        return err->code;
    return count_words(out, &a_words, &b_words, scratch) ? ERR_OK : err_no_memory(err, bytes);
}

static void add_ngrams(struct ngram_count *sum, const struct ngram_count *one, unsigned orders)
{
    for (unsigned n = 0; n < orders; n++) {
        sum[n].written += one[n].written;
        sum[n].right += one[n].right;
        sum[n].both += one[n].both;
    }
}

void text_counts_add(struct text_counts *sum, const struct text_counts *one)
{
    sum->texts += one->texts;
    sum->exact += one->exact;
    sum->edits += one->edits;
    sum->characters += one->characters;
    add_ngrams(sum->characters_of, one->characters_of, CHRF_ORDERS);
    add_ngrams(sum->words_of, one->words_of, BLEU_ORDERS);
}

/* ---- scores ---- */

/* Precision and recall are means over the orders that both sides have (sacrebleu's effective
 * order). */
static double chrf_of(const struct text_counts *sum)
{
    const double factor = 4; /* beta^2 */
    double precision = 0, recall = 0;
    unsigned orders = 0;
    for (unsigned n = 0; n < CHRF_ORDERS; n++) {
        const struct ngram_count *count = &sum->characters_of[n];
        if (count->written == 0 || count->right == 0)
            continue;
        precision += (double)count->both / (double)count->written;
        recall += (double)count->both / (double)count->right;
        orders++;
    }
    if (orders == 0 || precision + recall == 0)
        return 0;
    precision /= orders;
    recall /= orders;
    return 100 * (1 + factor) * precision * recall / (factor * precision + recall);
}

/* The geometric mean of the precisions, times the brevity penalty. An order without a match counts
 * a half, a quarter and so on of one. */
static double bleu_of(const struct text_counts *sum)
{
    const double written = (double)sum->words_of[0].written, right = (double)sum->words_of[0].right;
    double logarithms = 0, half = 1;
    if (sum->words_of[0].both == 0)
        return 0;
    for (unsigned n = 0; n < BLEU_ORDERS; n++) {
        const struct ngram_count *count = &sum->words_of[n];
        if (count->written == 0)
            return 0;
        half *= count->both == 0 ? 0.5 : 1;
        logarithms += log((count->both == 0 ? half : (double)count->both) / (double)count->written);
    }
    const double brevity = written < right ? exp(1 - right / written) : 1;
    return 100 * brevity * exp(logarithms / BLEU_ORDERS);
}

struct text_scores text_scores_of(const struct text_counts *sum)
{
    const double texts = (double)sum->texts, characters = (double)sum->characters;
    return (struct text_scores){.exact = (double)sum->exact / texts,
                                .edit_distance = (double)sum->edits / texts,
                                .error_rate =
                                    characters > 0 ? (double)sum->edits / characters : (double)NAN,
                                .chrf = chrf_of(sum),
                                .bleu = bleu_of(sum)};
}

/* ---- intervals ---- */

enum err_code text_scores_intervals(struct text_intervals *out, const struct text_counts *counts,
                                    size_t count, uint64_t seed, struct err *err)
{
    struct interval *const found[MEASURES] = {&out->edit_distance, &out->error_rate, &out->chrf,
                                              &out->bleu};
    const unsigned draws = interval_draws(count * (sizeof *counts / sizeof(size_t)));
    float *values = calloc((size_t)MEASURES * draws, sizeof *values);
    size_t exact = 0;
    if (values == NULL)
        return err_no_memory(err, MEASURES * draws * sizeof *values);
    for (unsigned d = 0; d < draws; d++) {
        struct rng rng = rng_for(seed, PURPOSE, d);
        struct text_counts sum = {0};
        for (size_t i = 0; i < count; i++)
            text_counts_add(&sum, &counts[rng_below(&rng, (uint32_t)count)]);
        const struct text_scores scores = text_scores_of(&sum);
        const double drawn[MEASURES] = {scores.edit_distance, scores.error_rate, scores.chrf,
                                        scores.bleu};
        for (unsigned m = 0; m < MEASURES; m++)
            values[m * draws + d] = (float)drawn[m];
    }
    for (unsigned m = 0; m < MEASURES; m++)
        *found[m] = interval_percentiles(values + m * draws, draws);
    for (size_t i = 0; i < count; i++)
        exact += counts[i].exact;
    out->exact = wilson_interval(exact, count);
    free(values);
    return ERR_OK;
}
