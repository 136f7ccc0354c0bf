/* spans.h - the labels of a text's tokens -> spans of the text, exactly as transformers'
 * TokenClassificationPipeline (4.57) makes them:
 *
 *     none     each token is a span by itself, with its whole label
 *     simple   neighbours of one tag are joined
 *     first    words get the label of their first token,
 *     max      or of the token that is surest,
 *     average  or the best mean of their tokens' scores; then words are joined as tokens are
 *
 * and one way that transformers does not have:
 *
 *     path     tokens get the labels of the largest product of scores among all sequences in which
 *              I-X follows B-X or I-X alone; then they are joined as in simple. So a doubtful token
 *              within a span neither cuts nor renames it. How often labels follow one another
 *              is weighed in, if the model tells it (tag_pairs.h).
 *
 * A label "B-X" or "I-X" has the tag X; any other label is a tag that continues. A span grows while
 * the tag is the same and the next label is not B-. Its label is that of its first token behind the
 * first "-", its score the mean of its tokens' or words'. Spans with the label "O" are left out
 * unless they are asked for.
 *
 * Threads: pure functions.
 */
#ifndef ATTND_ENGINE_DECIDE_SPANS_H
#define ATTND_ENGINE_DECIDE_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

enum aggregation {
    AGGREGATION_OWN, /* nothing is asked for: the model's, as attnd.json says, else simple */
    AGGREGATION_SIMPLE,
    AGGREGATION_NONE,
    AGGREGATION_PATH,
    AGGREGATION_FIRST, /* this and those behind it give words a label */
    AGGREGATION_MAX,
    AGGREGATION_AVERAGE,
    AGGREGATION_COUNT
};

/* Finds one by its name [len], "simple". False: there is none. */
bool aggregation_find(const char *name, size_t len, enum aggregation *out);
const char *aggregation_name(enum aggregation aggregation); /* not AGGREGATION_OWN's */
#define AGGREGATION_NAMES "none, simple, path, first, max or average"

struct span {
    const char *name;      /* a part of the label's text */
    unsigned label;        /* of its first token or word */
    float score;           /* 0 to 1 */
    uint32_t start, end;   /* characters of the text, end exclusive */
    uint32_t first, count; /* its tokens, as places in the order of tagged_tokens */
};

/* Tokens of a text. Arrays of tokens are read at order[0], order[1], ... */
struct tagged_tokens {
    const char *const *labels; /* [label_count] */
    unsigned label_count;
    const unsigned *insides; /* [label_count] tag_insides, for path; NULL: none */
    const float *pairs;      /* tag_pairs' weights, for path; NULL: none */
    double temperature;      /* logits are divided by it */
    const float *logits;     /* [tokens][label_count], finite */
    const uint32_t *starts, *ends;
    const bool *continued; /* the token continues the word of the one before */
    const unsigned *order; /* [count] the text's tokens, in its order */
    unsigned count;
    bool keeps_outside; /* spans with the label "O", too */
};

/* The end of the word that begins with the text's token i. */
static inline unsigned tagged_word_end(const bool *continued, const unsigned *order, unsigned count,
                                       unsigned i)
{
    unsigned end = i + 1;
    while (end < count && continued[order[end]])
        end++;
    return end;
}

/* The place of the label I-X for B-X and for I-X itself; label_count for one without the other, and
 * for any other label. NULL: there is no memory. */
const unsigned *tag_insides(const char *const *labels, unsigned label_count, struct arena *arena);

/* Rows of the scratch that spans_make takes for so many tokens. */
static inline size_t spans_scratch_rows(const float *pairs, size_t tokens)
{
    return pairs == NULL ? 1 : 2 + (tokens + 3) / 4;
}

/* Writes the spans, at most one for each token, and returns their number. There are less than 2^24
 * tokens. scratch [spans_scratch_rows][label_count] is for average and path alone. */
unsigned spans_make(struct span *out, const struct tagged_tokens *tokens,
                    enum aggregation aggregation, float *scratch);

#endif
