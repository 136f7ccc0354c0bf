#include "engine/decide/spans.h"

#include "engine/base/arena.h"
#include "engine/decide/argmax.h"
#include "engine/decide/tag_pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
    [AGGREGATION_SIMPLE] = "simple", [AGGREGATION_NONE] = "none",
    [AGGREGATION_PATH] = "path",     [AGGREGATION_FIRST] = "first",
    [AGGREGATION_MAX] = "max",       [AGGREGATION_AVERAGE] = "average"};

bool aggregation_find(const char *name, size_t len, enum aggregation *out)
{
    for (int i = AGGREGATION_SIMPLE; i < AGGREGATION_COUNT; i++)
        if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0) {
            *out = (enum aggregation)i;
            return true;
        }
    return false;
}

const char *aggregation_name(enum aggregation aggregation)
{
    return names[aggregation];
}

/* ---- a token or a word ---- */

/* The largest logit of a token, and the sum of exp(logit - largest) over its labels. */
struct softmax {
    unsigned best;
    double largest, sum;
};

static struct softmax softmax_of(const struct tagged_tokens *tokens, const float *logits)
{
    struct softmax out = {.best = argmax(logits, tokens->label_count)};
    out.largest = (double)logits[out.best] / tokens->temperature;
    for (unsigned i = 0; i < tokens->label_count; i++)
        out.sum += exp((double)logits[i] / tokens->temperature - out.largest);
    return out;
}

static const float *logits_of(const struct tagged_tokens *tokens, unsigned i)
{
    return tokens->logits + (size_t)tokens->order[i] * tokens->label_count;
}

/* Gives the span a label and its score of token i. */
static void take_label(struct span *span, const struct tagged_tokens *tokens, unsigned i,
                       unsigned label)
{
    const float *logits = logits_of(tokens, i);
    const struct softmax softmax = softmax_of(tokens, logits);
    span->label = label;
    span->score =
        (float)(exp((double)logits[label] / tokens->temperature - softmax.largest) / softmax.sum);
}

/* Gives the span the label and score of token i. */
static void take_best(struct span *span, const struct tagged_tokens *tokens, unsigned i)
{
    const struct softmax softmax = softmax_of(tokens, logits_of(tokens, i));
    span->label = softmax.best;
    span->score = (float)(1 / softmax.sum);
}

static void take_surest(struct span *span, const struct tagged_tokens *tokens, unsigned first,
                        unsigned end)
{
    take_best(span, tokens, first);
    for (unsigned i = first + 1; i < end; i++) {
        struct span other;
        take_best(&other, tokens, i);
        if (other.score > span->score) {
            span->label = other.label;
            span->score = other.score;
        }
    }
}

static void take_average(struct span *span, const struct tagged_tokens *tokens, unsigned first,
                         unsigned end, float *means)
{
    memset(means, 0, tokens->label_count * sizeof *means);
    for (unsigned i = first; i < end; i++) {
        const float *logits = logits_of(tokens, i);
        const struct softmax softmax = softmax_of(tokens, logits);
        for (unsigned k = 0; k < tokens->label_count; k++)
            means[k] += (float)(exp((double)logits[k] / tokens->temperature - softmax.largest) /
                                softmax.sum / (end - first));
    }
    span->label = argmax(means, tokens->label_count);
    span->score = means[span->label];
}

/* ---- labels ---- */

static bool begins(const char *label)
{
    return strncmp(label, "B-", 2) == 0;
}

static const char *tag_of(const char *label)
{
    return begins(label) || strncmp(label, "I-", 2) == 0 ? label + 2 : label;
}

static const char *name_of(const char *label)
{
    const char *dash = strchr(label, '-');
    return dash != NULL ? dash + 1 : label;
}

struct tag {
    const char *label;
    unsigned at;
};

/* By what stands behind the dash: I-X comes just before or behind B-X. */
static int compare_tags(const void *a, const void *b)
{
    const struct tag *left = a, *right = b;
    const int order = strcmp(left->label + 2, right->label + 2);
    return order != 0 ? order : strcmp(left->label, right->label);
}

const unsigned *tag_insides(const char *const *labels, unsigned label_count, struct arena *arena)
{
    unsigned *out = arena_alloc_array(arena, label_count + 1u, sizeof *out), count = 0;
    struct tag *sorted = calloc(label_count + 1u, sizeof *sorted);
    if (out == NULL || sorted == NULL) {
        free(sorted);
        return NULL;
    }
    for (unsigned i = 0; i < label_count; i++) {
        out[i] = label_count;
        if (tag_of(labels[i]) != labels[i])
            sorted[count++] = (struct tag){labels[i], i};
    }
    qsort(sorted, count, sizeof *sorted, compare_tags);
    for (unsigned i = 0; i + 1 < count; i++)
        if (begins(sorted[i].label) && !begins(sorted[i + 1].label) &&
            strcmp(sorted[i].label + 2, sorted[i + 1].label + 2) == 0)
            out[sorted[i].at] = out[sorted[i + 1].at] = sorted[i + 1].at;
    free(sorted);
    return out;
}

/* ---- the path ---- */

/* A sequence of tokens is cut into pieces: a token of any label, or B-X with all the I-X behind it.
 * Logits of a piece are added up; the softmax of a token adds the same to all labels. out[i] keeps
 * the label and the first token of the last piece of the best sequence that ends with token i.
 *
 * open[I-X] is the sum of the best sequence that ends in a piece of X, less that of the best of
 * all, and open[B-X] is where that piece begins, as a float that is exact. Both are of the token
 * before. */
static void take_piece(struct span *piece, const struct tagged_tokens *tokens, unsigned i,
                       float *open)
{
    const unsigned none = tokens->label_count;
    const float *logits = logits_of(tokens, i);
    float best = -INFINITY;
    for (unsigned b = 0; b < none; b++) {
        const unsigned inside = tokens->insides[b];
        float sum = logits[b];
        unsigned first = i;
        if (inside == b) /* I-X begins nothing */
            continue;
        if (inside < none && i > 0 && open[inside] + logits[inside] > sum) {
            sum = open[inside] + logits[inside];
            first = (unsigned)open[b];
        }
        if (inside < none) {
            open[inside] = sum;
            open[b] = (float)first;
        }
        if (sum > best) {
            best = sum;
            piece->label = b;
            piece->first = first;
        }
    }
    for (unsigned b = 0; b < none; b++)
        if (tokens->insides[b] == b)
            open[b] -= best;
}

/* Gives out[i] the label of token i. */
static void take_path(struct span *out, const struct tagged_tokens *tokens, float *open)
{
    for (unsigned i = 0; i < tokens->count; i++)
        take_piece(&out[i], tokens, i, open);
    for (unsigned end = tokens->count; end > 0;) {
        const unsigned label = out[end - 1].label, first = out[end - 1].first;
        for (unsigned i = first + 1; i < end; i++)
            out[i].label = tokens->insides[label];
        out[first].label = label;
        end = first;
    }
}

/* Gives out[i] the label of token i, where pairs of labels have weights: the Viterbi pass. */
static void take_weighed_path(struct span *out, const struct tagged_tokens *tokens, float *scratch)
{
    const unsigned labels = tokens->label_count;
    float *sums = scratch, *next = scratch + labels;
    uint8_t *before = (uint8_t *)(next + labels); /* [tokens][labels] the best label before */
    for (unsigned i = 0; i < tokens->count; i++) {
        const float *logits = logits_of(tokens, i);
        const bool is_touching =
            i > 0 && tokens->starts[tokens->order[i]] == tokens->ends[tokens->order[i - 1]];
        const float *weights =
            tokens->pairs + (is_touching ? (size_t)TAG_TOUCHING * labels * labels : 0);
        for (unsigned k = 0; k < labels; k++, weights += labels) {
            unsigned best = 0;
            next[k] = i > 0 ? sums[0] + weights[0] : tokens->insides[k] == k ? -INFINITY : 0;
            for (unsigned b = 1; b < labels && i > 0; b++)
                if (sums[b] + weights[b] > next[k]) {
                    next[k] = sums[b] + weights[b];
                    best = b;
                }
            before[(size_t)i * labels + k] = (uint8_t)best;
        }
        float largest = -INFINITY;
        for (unsigned k = 0; k < labels; k++)
            largest = fmaxf(largest, next[k] += logits[k]);
        for (unsigned k = 0; k < labels; k++) /* a long text's sums stay small */
            sums[k] = next[k] - largest;
    }
    unsigned label = tokens->count > 0 ? argmax(sums, labels) : 0;
    for (unsigned i = tokens->count; i > 0; i--) {
        out[i - 1].label = label;
        label = before[(size_t)(i - 1) * labels + label];
    }
}

/* ---- spans ---- */

/* Reads the token, or the word, that begins with token *at, and moves *at behind it. */
static struct span read_unit(const struct tagged_tokens *tokens, unsigned *at,
                             enum aggregation aggregation, const struct span *path, float *scratch)
{
    const unsigned first = *at;
    const unsigned end =
        aggregation >= AGGREGATION_FIRST
            ? tagged_word_end(tokens->continued, tokens->order, tokens->count, first)
            : first + 1;
    struct span unit = {.start = tokens->starts[tokens->order[first]],
                        .end = tokens->ends[tokens->order[end - 1]],
                        .first = first,
                        .count = end - first};
    if (aggregation == AGGREGATION_MAX)
        take_surest(&unit, tokens, first, end);
    else if (aggregation == AGGREGATION_AVERAGE)
        take_average(&unit, tokens, first, end, scratch);
    else if (path != NULL)
        take_label(&unit, tokens, first, path[first].label);
    else
        take_best(&unit, tokens, first);
    const char *label = tokens->labels[unit.label];
    unit.name = aggregation == AGGREGATION_NONE ? label : name_of(label);
    *at = end;
    return unit;
}

/* Completes the span at out[count], which has so many units; returns the number of spans. */
static unsigned complete(struct span *out, unsigned count, double sum, unsigned units,
                         bool keeps_outside)
{
    if (units == 0 || (!keeps_outside && strcmp(out[count].name, "O") == 0))
        return count;
    out[count].score = (float)(sum / units);
    return count + 1;
}

unsigned spans_make(struct span *out, const struct tagged_tokens *tokens,
                    enum aggregation aggregation, float *scratch)
{
    const char *before = NULL;
    double sum = 0;
    unsigned count = 0, units = 0;
    const bool is_path = aggregation == AGGREGATION_PATH && tokens->insides != NULL;
    if (is_path && tokens->pairs != NULL)
        take_weighed_path(out, tokens, scratch);
    else if (is_path)
        take_path(out, tokens, scratch);
    for (unsigned i = 0; i < tokens->count;) { /* out[count] is never behind out[i] */
        const struct span unit = read_unit(tokens, &i, aggregation, is_path ? out : NULL, scratch);
        const char *label = tokens->labels[unit.label];
        const bool grows = before != NULL && aggregation != AGGREGATION_NONE && !begins(label) &&
                           strcmp(tag_of(label), tag_of(before)) == 0;
        if (!grows) {
            count = complete(out, count, sum, units, tokens->keeps_outside);
            out[count] = unit;
            sum = units = 0;
        }
        out[count].end = unit.end;
        out[count].count = unit.first + unit.count - out[count].first;
        sum += (double)unit.score;
        units++;
        before = label;
    }
    return complete(out, count, sum, units, tokens->keeps_outside);
}
