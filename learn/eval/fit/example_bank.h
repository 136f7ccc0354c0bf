/* example_bank.h - chooses the examples that a model carries (format/head_file.h): for each label
 * at most EXAMPLE_BANK_ROWS, those with the smallest digests. This choice is as good as random and
 * the same in every run. An input counts once.
 *
 *     struct example_rows rows = {.count = n, .features = features, ...};
 *     example_bank_choose(&bank, &rows, &arena, &err);
 *     head_file_write(dir, &bank, &err);
 *
 * Threads: no state.
 */
#ifndef ATTND_LEARN_EVAL_FIT_EXAMPLE_BANK_H
#define ATTND_LEARN_EVAL_FIT_EXAMPLE_BANK_H

#include "engine/format/head_file.h"

enum { EXAMPLE_BANK_ROWS = 400 }; /* of each label */

/* Inputs with their features, logits, classes and digests. */
struct example_rows {
    const size_t *items; /* [count]: which rows are meant; NULL: 0 .. count - 1 */
    size_t count;
    unsigned width, labels;
    const float *features;           /* [.., width] */
    const float *logits;             /* [.., labels] */
    const unsigned *classes;         /* [..] below labels */
    const uint64_t *digests;         /* [..] */
    const struct ngram_list *ngrams; /* [..] for a model with a table of n-grams; else NULL */
};

/* Chooses the examples, sorted by class and digest. The arena owns the numbers, which are copies.
 * ERR_NO_MEMORY. */
enum err_code example_bank_choose(struct head_bank *out, const struct example_rows *rows,
                                  struct arena *arena, struct err *err);

struct spec;

/* Reads the examples of a directory whose attnd.json names a head. The arena owns them. Errors as
 * head_file_open. */
enum err_code example_bank_read(struct head_bank *out, const char *dir, const struct spec *spec,
                                struct arena *arena, struct err *err);

/* Index of the example that is this input; SIZE_MAX: there is none. */
size_t example_bank_find(const struct head_bank *bank, uint64_t digest);

#endif
