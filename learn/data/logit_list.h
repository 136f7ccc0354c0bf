/* logit_list.h - the logits of a model, attnd's or another, for the inputs of a data set: a file of
 * JSON lines, one object for each input, in any order.
 *
 *     {"input": "maps/1.png", "digest": "90a2...", "logits": {"Center": 2.5, "none": -1},
 *      "ood_method": "neighbours", "ood_score": 0.12}
 *
 *     logit_list_open(&list, "cnn.jsonl", &dataset, labels, label_count, &err);
 *     logit_list_row(&list, i);
 *     logit_list_close(&list);
 *
 * `input` is the input's name in the data set (dataset.h): for an image the name in the list, for a
 * text "line 12". `digest` is optional: digest.h's in 16 hexadecimal digits. It reveals a data set
 * that has changed since. `logits` has every label by its name and no other. The OOD score
 * (engine/decide/ood.h) is optional; its method must be the same in the whole file. Other members,
 * and inputs that the data set lacks, are ignored.
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

#define LOGIT_LIST_MAX 1e6      /* largest absolute value of a logit */
#define LOGIT_LIST_OOD_MAX 1e30 /* largest absolute value of an OOD score */

enum { LOGIT_LIST_METHOD_BYTES = 16 };

/* The line that has an input's logits; all 0: no line has them. */
struct logit_list_entry {
    size_t line;     /* from 1 */
    uint64_t digest; /* 0: the line has none */
};

struct logit_list {
    size_t count; /* the data set's */
    unsigned label_count;
    struct logit_list_entry *entries; /* [count] */
    float *values;                    /* [count, label_count] logits; zeros without a line */
    float *ood;                       /* [count] OOD scores; NAN where there is none */
    char ood_method[LOGIT_LIST_METHOD_BYTES]; /* "": no line has an OOD score */
    struct arena arena;
};

/* Contents of a line to write. */
struct logit_list_line {
    const char *name;
    uint64_t digest;
    const float *logits;    /* [label_count] */
    const char *ood_method; /* NULL: there is no score */
    float ood;
};

/* Inputs with the same name share a line. ERR_IO. ERR_MALFORMED and ERR_UNUSABLE, with the line: a
 * missing or unknown label, a number beyond LOGIT_LIST_MAX, a second line of an input. Close it in
 * any case. */
enum err_code logit_list_open(struct logit_list *out, const char *path,
                              const struct dataset *dataset, const char *const *labels,
                              unsigned label_count, struct err *err);
/* The same for inputs that are given by their digests [count]. Names in the file are ignored and
 * each line needs a digest. If two lines have the same digest, the first one counts. */
enum err_code logit_list_open_digests(struct logit_list *out, const char *path,
                                      const uint64_t *digests, size_t count,
                                      const char *const *labels, unsigned label_count,
                                      struct err *err);
void logit_list_close(struct logit_list *list);

/* The item's logits [label_count], in the order of the labels; NULL: the file has none. */
const float *logit_list_row(const struct logit_list *list, size_t item);

/* Writes the line of an input. Returns false and writes nothing if the name or a label is not
 * UTF-8, since JSON cannot hold it. */
bool logit_list_write(FILE *file, const struct logit_list_line *line, const char *const *labels,
                      unsigned label_count);

#endif
