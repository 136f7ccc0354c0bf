/* extraction.h - the start and end logits of tokens -> answers that stand in a text, as
 * transformers' QuestionAnsweringPipeline (4.57) finds them.
 *
 * In each window a softmax over the tokens of the text and the first token, [CLS], gives each the
 * probability to begin the answer, and another to end it; then those of [CLS] become nought. A
 * candidate's score is the product of its start and its end, which is not before the start and at
 * most length_max tokens on. The best 2 top + 10 candidates of a window, or the best `top` if
 * answers need not be whole words, are widened to whole words. Answers with the same text, whatever
 * its case, are one: their scores are added, across windows, and it stays where it was found first.
 * The empty answer's score is the least product of [CLS] over the windows.
 *
 *     extraction_begin(&extraction);
 *     extraction_add(&extraction, &window);                    for each window, in order
 *     count = extraction_end(&extraction);                    ... extraction.found[0 .. count)
 *
 * Threads: one at a time.
 */
#ifndef ATTND_ENGINE_DECIDE_EXTRACTION_H
#define ATTND_ENGINE_DECIDE_EXTRACTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXTRACTION_TOP_MAX = 100 };

/* Options of a question, with their names in transformers. Zeros are not the defaults. */
struct extraction_options {
    unsigned top;        /* top_k: answers, 1 to EXTRACTION_TOP_MAX */
    unsigned length_max; /* max_answer_len: tokens of an answer, at least 1 */
    bool may_be_empty;   /* handle_impossible_answer */
    bool keeps_tokens;   /* align_to_words false */
};

struct extract {
    float score;         /* 0 to 1, or more where scores of windows are added */
    uint32_t start, end; /* characters of the text, end exclusive */
};

/* One window: [CLS] question [SEP] text [SEP]. Arrays are of its tokens. */
struct extraction_window {
    const float *logits; /* [tokens][2] of start and end, finite */
    const uint32_t *starts, *ends;
    const bool *continued; /* the token continues the word of the one before */
    const bool *asked;     /* a token of the text, or one that is [CLS] */
    unsigned tokens;
    unsigned text, text_end; /* the text's first token, and the one behind its last */
};

struct extraction {
    struct extraction_options options;
    const uint32_t *letters; /* [characters] the text in lower case */
    struct extract *found;   /* [found_max + 1] */
    uint32_t *places;        /* [extraction_places(found_max)] a table of found by text */
    unsigned found_count, found_max;
    float *scratch; /* [extraction_scratch] */
    float least;    /* score of the empty answer */
};

/* Candidates of a window, at most. */
unsigned extraction_candidates(const struct extraction_options *options);
/* Slots of the table for so many answers: a power of two. */
size_t extraction_places(size_t found_max);
/* Numbers of scratch for windows of so many tokens. */
size_t extraction_scratch(const struct extraction_options *options, unsigned tokens);

/* Forgets what was found. */
void extraction_begin(struct extraction *extraction);
/* found_max: extraction_candidates for each window. */
void extraction_add(struct extraction *extraction, const struct extraction_window *window);

/* Sorts found, the best first, of equal ones the first; returns how many are asked for and there.
 * */
unsigned extraction_end(struct extraction *extraction);

#endif
