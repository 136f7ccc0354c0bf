#include "engine/explain/words.h"

#include "engine/model/input.h"

#include <stdbool.h>

/* ---- words ---- */

/* Adds the tokens of a window from `first` on to the words found so far; the last word may
 * continue.
 */
static unsigned fold(const struct engine_input *window, const float *relevance, unsigned first,
                     struct excerpt *out, unsigned count)
{
    for (unsigned t = first; t < window->tokens; t++) {
        if (window->ends[t] == 0) /* [CLS] or [SEP] */
            continue;
        if (count > 0 && window->continued[t]) {
            out[count - 1].end = window->ends[t];
            out[count - 1].relevance += relevance[t];
        } else {
            out[count++] = (struct excerpt){window->starts[t], window->ends[t], relevance[t],
                                            window->pair_at > 0 && t >= window->pair_at};
        }
    }
    return count;
}

unsigned words_fold(const struct engine_input *input, const float *relevance, struct excerpt *out)
{
    unsigned count = 0, seen = 0; /* words; tokens of the text in the windows so far */
    for (unsigned i = 0; i < engine_input_windows(input); i++) {
        const struct engine_input window = engine_input_window(input, i);
        const unsigned overlap = input->windows > 0 ? seen - input->window_first[i] : 0;
        /* The first `overlap` tokens, which the window before has too, add to their words. */
        unsigned word = count;
        for (unsigned t = overlap; t > 0; t--) {
            while (word > 0 && out[word - 1].start > window.starts[t])
                word--;
            if (word > 0)
                out[word - 1].relevance += relevance[t];
        }
        count = fold(&window, relevance, 1 + overlap, out, count);
        seen += window.tokens - 2 - overlap;
        relevance += window.tokens;
    }
    float total = 0;
    for (unsigned i = 0; i < count; i++)
        total += out[i].relevance;
    for (unsigned i = 0; i < count; i++)
        out[i].relevance = total > 0 ? out[i].relevance / total : 1.0f / (float)count;
    return count;
}

/* ---- spans ---- */

/* Words first .. last - 1. */
struct stretch {
    unsigned first, last;
    float excess, relevance;
};

/* Finds the best stretch of words first .. last - 1; its excess is 0 if none is denser than
 * `density`. */
static struct stretch densest(const struct excerpt *words, unsigned first, unsigned last,
                              float density)
{
    struct stretch best = {0}, now = {.first = first};
    for (unsigned i = first; i < last; i++) {
        if (i > first && words[i].of_pair != words[i - 1].of_pair)
            now = (struct stretch){.first = i}; /* no stretch spans two texts */
        now.excess += words[i].relevance - density;
        now.relevance += words[i].relevance;
        now.last = i + 1;
        if (now.excess > best.excess)
            best = now;
        if (now.excess < 0)
            now = (struct stretch){.first = i + 1};
    }
    return best;
}

/* Finds the best stretch that touches none of `taken`, which ascend. */
static struct stretch next_span(const struct excerpt *words, unsigned count,
                                const struct stretch *taken, unsigned taken_count, float density)
{
    struct stretch best = {0};
    unsigned first = 0;
    for (unsigned i = 0; i <= taken_count; i++) {
        unsigned last = i < taken_count ? taken[i].first : count;
        struct stretch found = densest(words, first, last, density);
        if (found.excess > best.excess)
            best = found;
        first = i < taken_count ? taken[i].last : last;
    }
    return best;
}

static void sort_by_relevance(struct excerpt *spans, unsigned count)
{
    for (unsigned i = 1; i < count; i++)
        for (unsigned k = i; k > 0 && spans[k].relevance > spans[k - 1].relevance; k--) {
            struct excerpt lower = spans[k - 1];
            spans[k - 1] = spans[k];
            spans[k] = lower;
        }
}

enum { SPANS_LIMIT = 16 };

unsigned words_spans(const struct excerpt *words, unsigned count, unsigned spans_max,
                     struct excerpt *out)
{
    struct stretch taken[SPANS_LIMIT];
    unsigned found = 0;
    if (spans_max > SPANS_LIMIT)
        spans_max = SPANS_LIMIT;
    while (found < spans_max && count > 0) {
        struct stretch span = next_span(words, count, taken, found, 2.0f / (float)count);
        if (span.excess <= 0)
            break;
        unsigned at = found++;
        for (; at > 0 && taken[at - 1].first > span.first; at--) /* `taken` stays ascending */
            taken[at] = taken[at - 1];
        taken[at] = span;
    }
    for (unsigned i = 0; i < found; i++)
        out[i] = (struct excerpt){words[taken[i].first].start, words[taken[i].last - 1].end,
                                  taken[i].relevance, words[taken[i].first].of_pair};
    sort_by_relevance(out, found);
    return found;
}
