/* corpus.h - the data of a run: training and validation part, with the model's labels, and every
 * input in memory (data/samples.h).
 *
 * Labels are those of the data in the order of their bytes, unless the model that training starts
 * from has exactly these: then in its order, so that its head fits. With --multi-label a label is
 * split at '|'. Masked language modelling takes texts with or without labels, also from a .txt or
 * .log with a text a line. Without a validation list a share of each class is held back, drawn by
 * the seed.
 *
 * Threads: immutable after open.
 */
#ifndef ATTND_LEARN_TRAIN_LOOP_CORPUS_H
#define ATTND_LEARN_TRAIN_LOOP_CORPUS_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/model/spec.h"
#include "learn/data/dataset.h"
#include "learn/data/samples.h"
#include "learn/train/loop/labels.h"
#include "learn/train/loop/options.h"

/* One list of inputs. */
struct corpus_part {
    struct dataset dataset;
    struct samples *samples;
    bool is_open;
};

/* Inputs of a part, in the order of their data set; those that cannot be used are left out. */
struct corpus_items {
    const struct corpus_part *part;
    size_t *item;      /* [count] places in the data set */
    unsigned *classes; /* [count]; with several labels the first; as many as labels: none */
    float *targets;    /* [count, labels] 0 or 1 */
    size_t count;
};

struct corpus {
    struct labels labels; /* none for MLM */
    struct corpus_part parts[2];
    struct corpus_items train, validation; /* validation.part is parts[0] if it was split off */
    bool grey16_minmax;                    /* how 16-bit grey images were read */
    bool chose_minmax;                     /* by --grey16 auto, against the source */
    struct arena arena;
};

/* Called while inputs are read. */
struct corpus_progress {
    void (*call)(void *context, size_t done, size_t total); /* NULL: not called */
    void *context;
};

/* `spec` is the source's; `dir` holds its tokenizer or preprocessor. ERR_UNUSABLE: data that cannot
 * be learned from (one label only, a class without an input to learn, a validation label that is
 * never learned), by name. Close it in any case. */
enum err_code corpus_open(struct corpus *out, const struct train_options *options,
                          const struct spec *spec, const char *dir, unsigned threads,
                          const struct corpus_progress *progress, struct err *err);
void corpus_close(struct corpus *corpus);

/* Items as a data set of their own, in the corpus's memory: not to be closed. ERR_NO_MEMORY. */
enum err_code corpus_view(struct corpus *corpus, const struct corpus_items *items,
                          struct dataset *out, struct err *err);

#endif
