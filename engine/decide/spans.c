#include "engine/decide/spans.h"

#include "engine/decide/argmax.h"

#include <math.h>
#include <string.h>

bool aggregation_find(const char *name, size_t len, enum aggregation *out)
{
    static const char *const names[] = {[AGGREGATION_SIMPLE] = "simple",
                                        [AGGREGATION_NONE] = "none",
                                        [AGGREGATION_FIRST] = "first",
                                        [AGGREGATION_MAX] = "max",
                                        [AGGREGATION_AVERAGE] = "average"};
    for (int i = AGGREGATION_SIMPLE; i < AGGREGATION_COUNT; i++)
        if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0) {
            *out = (enum aggregation)i;
            return true;
        }
    return false;
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

/* ---- spans ---- */

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

/* Reads the token, or the word, that begins with token *at, and moves *at behind it. */
static struct span read_unit(const struct tagged_tokens *tokens, unsigned *at,
                             enum aggregation aggregation, float *scratch)
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
    for (unsigned i = 0; i < tokens->count;) {
        const struct span unit = read_unit(tokens, &i, aggregation, scratch);
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
