/* logit_list.h - what some model, of attnd or of another kind, answers to the inputs of a data set:
 * a file of JSON lines, an object an input, in any order.
 *
 *     {"input": "maps/1.png", "digest": "90a2...", "logits": {"Center": 2.5, "none": -1},
 *      "ood_method": "neighbours", "ood_score": 0.12}
 *
 *     logit_list_open(&list, "cnn.jsonl", &dataset, labels, label_count, &err);
 *     logit_list_row(&list, i);
 *     logit_list_close(&list);
 *
 * `input` is the input's name in the data set (dataset.h): an image as the list names it, a text
 * "line 12". `digest`, which may be left out, is digest.h's in 16 hexadecimal digits: of a list
 * that has changed since, it tells. `logits` has every label by its name and no other. The OOD
 * score (engine/decide/ood.h), which may be left out, is by one method in all of the file. Other
 * members, and inputs that the data set lacks, are passed over.
 *
 * Threads: immutable after open.
 */
#ifndef ATTND_LEARN_DATA_LOGIT_LIST_H
#define ATTND_LEARN_DATA_LOGIT_LIST_H

#include "engine/base/err.h"
#include "learn/data/dataset.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define LOGIT_LIST_MAX 1e6      /* of a logit, either sign */
#define LOGIT_LIST_OOD_MAX 1e30 /* of an OOD score, either sign */

enum { LOGIT_LIST_METHOD_BYTES = 16 };

/* Of one input: where it was found; all 0: nowhere. */
struct logit_list_entry {
    size_t line;
    uint64_t digest; /* 0: the line has none */
};

struct logit_list {
    size_t count; /* the data set's */
    unsigned label_count;
    struct logit_list_entry *entries; /* [count] */
    float *values;                    /* [count, label_count]; zeros where nothing was found */
    float *ood;                       /* [count] OOD scores; NAN where there is none */
    char ood_method[LOGIT_LIST_METHOD_BYTES]; /* "": no line has an OOD score */
};

/* What a line has. */
struct logit_list_line {
    const char *name;
    uint64_t digest;
    const float *logits;    /* [label_count] */
    const char *ood_method; /* NULL: there is no score */
    float ood;
};

/* Inputs of the same name share a line. ERR_IO; ERR_MALFORMED and ERR_UNUSABLE say the line: a
 * label that is missing or unknown, a number beyond LOGIT_LIST_MAX, a second line of an input.
 * Close it in any case. */
enum err_code logit_list_open(struct logit_list *out, const char *path,
                              const struct dataset *dataset, const char *const *labels,
                              unsigned label_count, struct err *err);
/* The same for inputs that are known by their digests [count], whatever the file calls them: each
 * line needs a digest. Of two lines of a digest the first counts. */
enum err_code logit_list_open_digests(struct logit_list *out, const char *path,
                                      const uint64_t *digests, size_t count,
                                      const char *const *labels, unsigned label_count,
                                      struct err *err);
void logit_list_close(struct logit_list *list);

/* [label_count], in the order of the labels; NULL: the file has none for this item. */
const float *logit_list_row(const struct logit_list *list, size_t item);

/* Writes the line of an input. False, and nothing is written: the name or a label is not UTF-8,
 * which JSON cannot hold. */
bool logit_list_write(FILE *file, const struct logit_list_line *line, const char *const *labels,
                      unsigned label_count);

#endif
