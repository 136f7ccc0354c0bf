#include "engine/decide/extraction.h"

#include <math.h>
#include <string.h>

/* A pair of tokens of a window. */
struct candidate {
    float score;
    unsigned start, end;
};

unsigned extraction_candidates(const struct extraction_options *options)
{
    return options->keeps_tokens ? options->top : 2 * options->top + 10;
}

size_t extraction_places(size_t found_max)
{
    size_t places = 16;
    while (places < 2 * found_max)
        places *= 2;
    return places;
}

size_t extraction_scratch(const struct extraction_options *options, unsigned tokens)
{
    enum { NUMBERS = sizeof(struct candidate) / sizeof(float) };
    return 2 * (size_t)tokens + ((size_t)extraction_candidates(options) + 1) * NUMBERS;
}

/* ---- a window's candidates ---- */

/* out [tokens] <- the softmax of one column of the logits over the tokens that are asked. */
static void softmax(const struct extraction_window *window, unsigned column, float *out)
{
    float largest = -INFINITY, sum = 0;
    for (unsigned t = 0; t < window->tokens; t++)
        if (window->asked[t])
            largest = fmaxf(largest, window->logits[2 * t + column]);
    for (unsigned t = 0; t < window->tokens; t++) {
        out[t] = window->asked[t] ? expf(window->logits[2 * t + column] - largest) : 0;
        sum += out[t];
    }
    for (unsigned t = 0; t < window->tokens; t++)
        out[t] /= sum;
}

/* The best candidates so far, falling; of equal ones those that came first. */
struct ranking {
    struct candidate *best;
    unsigned count, most;
};

static void rank(struct ranking *ranking, struct candidate candidate)
{
    unsigned at = ranking->count;
    while (at > 0 && ranking->best[at - 1].score < candidate.score)
        at--;
    if (at == ranking->most)
        return;
    ranking->count += ranking->count < ranking->most;
    memmove(ranking->best + at + 1, ranking->best + at,
            (ranking->count - 1 - at) * sizeof candidate);
    ranking->best[at] = candidate;
}

/* ---- from candidates to answers ---- */

static struct extract widen(const struct extraction_window *window, bool keeps_tokens,
                            const struct candidate *candidate)
{
    unsigned first = candidate->start, last = candidate->end;
    const bool is_in_text = first >= window->text && first < window->text_end &&
                            last >= window->text && last < window->text_end;
    if (is_in_text && !keeps_tokens) {
        while (first > window->text && window->continued[first])
            first--;
        while (last + 1 < window->text_end && window->continued[last + 1])
            last++;
    }
    return (struct extract){candidate->score, window->starts[first], window->ends[last]};
}

static size_t letters_of(const struct extract *extract)
{
    return extract->end > extract->start ? extract->end - extract->start : 0;
}

/* FNV-1a over the letters. */
static uint32_t hash(const uint32_t *letters, size_t count)
{
    uint32_t value = 2166136261u;
    for (size_t i = 0; i < count; i++)
        value = (value ^ letters[i]) * 16777619u;
    return value ^ value >> 15;
}

/* Adds the score to the answer with the same text, or appends the answer. */
static void keep(struct extraction *extraction, struct extract extract)
{
    const size_t count = letters_of(&extract), mask = extraction_places(extraction->found_max) - 1;
    const uint32_t *letters = extraction->letters + (count > 0 ? extract.start : 0);
    size_t at = hash(letters, count) & mask;
    for (; extraction->places[at] != 0; at = (at + 1) & mask) {
        struct extract *other = &extraction->found[extraction->places[at] - 1];
        if (letters_of(other) == count &&
            (count == 0 ||
             memcmp(extraction->letters + other->start, letters, count * sizeof *letters) == 0)) {
            other->score += extract.score;
            return;
        }
    }
    extraction->found[extraction->found_count++] = extract;
    extraction->places[at] = extraction->found_count;
}

void extraction_begin(struct extraction *extraction)
{
    const size_t places = extraction_places(extraction->found_max);
    memset(extraction->places, 0, places * sizeof *extraction->places);
    extraction->found_count = 0;
    extraction->least = INFINITY;
}

void extraction_add(struct extraction *extraction, const struct extraction_window *window)
{
    const struct extraction_options *options = &extraction->options;
    float *starts = extraction->scratch, *ends = starts + window->tokens;
    struct ranking ranking = {.best = (void *)(ends + window->tokens),
                              .most = extraction_candidates(options)};
    softmax(window, 0, starts);
    softmax(window, 1, ends);
    extraction->least = fminf(extraction->least, starts[0] * ends[0]);
    starts[0] = ends[0] = 0;
    /* Pairs of tokens are ranked in the order of start, then end. Where those above nought are too
     * few, as in a text of two tokens, others follow with a score of nought, in the same order; of
     * these only the ones whose tokens are asked become answers. */
    const unsigned length_max = options->length_max, tokens = window->tokens;
    for (unsigned s = 0; s < tokens; s++)
        for (unsigned e = s; starts[s] > 0 && e < tokens && e - s < length_max; e++)
            if (starts[s] * ends[e] > 0)
                rank(&ranking, (struct candidate){starts[s] * ends[e], s, e});
    for (unsigned s = 0; s < tokens && ranking.count < ranking.most; s++)
        for (unsigned e = 0; e < tokens && ranking.count < ranking.most; e++)
            if (e < s || e - s >= length_max || !(starts[s] * ends[e] > 0))
                rank(&ranking, (struct candidate){0, s, e});
    for (unsigned i = 0; i < ranking.count; i++) {
        const struct candidate *candidate = &ranking.best[i];
        if (window->asked[candidate->start] && window->asked[candidate->end])
            keep(extraction, widen(window, options->keeps_tokens, candidate));
    }
}

unsigned extraction_end(struct extraction *extraction)
{
    struct extract *found = extraction->found;
    unsigned count = extraction->found_count;
    const unsigned top = extraction->options.top;
    if (extraction->options.may_be_empty)
        found[count++] = (struct extract){.score = extraction->least};
    unsigned given = 0;
    for (; given < top && given < count; given++) {
        unsigned best = given;
        for (unsigned i = given + 1; i < count; i++)
            if (found[i].score > found[best].score)
                best = i;
        const struct extract taken = found[best];
        memmove(found + given + 1, found + given, (best - given) * sizeof *found);
        found[given] = taken;
    }
    return given;
}
