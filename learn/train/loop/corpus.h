/* corpus.h - the data of a run: training and validation part, with the model's labels, and every
 * input in memory (data/samples.h).
 *
 * Labels are those of the data, sorted by bytes. If the source model has exactly these labels, they
 * are in its order, so that its head fits. With --multi-label a label is split at '|'. Masked
 * language modelling takes texts with or without labels, also from a .txt or .log file with one
 * text a line. A regression takes labels that are numbers (number_label.h), from a list. An
 * embedding takes pairs of texts, or labels (groups.h). A model of tags takes spans (tag_set.h).
 * A model that writes takes texts to write (target).
 * Without a validation list a share of each
 * class, drawn by the seed, is held back; of numbers a share of all, and of pairs whole groups.
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
#include "learn/train/loop/groups.h"
#include "learn/train/loop/labels.h"
#include "learn/train/loop/numbers.h"
#include "learn/train/loop/options.h"

/* One list of inputs. */
struct corpus_part {
    struct dataset dataset;
    struct samples *samples;
    bool is_open;
};

/* The usable inputs of a part, in the order of their data set. */
struct corpus_items {
    const struct corpus_part *part;
    size_t *item;      /* [count] indices in the data set */
    unsigned *classes; /* [count]; the first label if there are several; labels.count: no label;
                          zeros for a regression; an embedding's groups; of tags the rarest label
                          of a text's spans */
    float *targets;    /* [count, outputs] 0 or 1 of each label, or standardised numbers */
    size_t count;
};

struct corpus {
    struct labels labels;   /* none for MLM, a regression, an embedding and tags */
    struct tag_set tags;    /* of a model of tags, else none */
    struct groups groups;   /* of an embedding, else none */
    struct numbers numbers; /* of a regression, else none */
    unsigned outputs;       /* of the head: labels or numbers; 0 for MLM, tags and an embedding */
    struct corpus_part parts[2];
    struct corpus_items train, validation; /* validation.part is parts[0] if it was split off */
    bool grey16_minmax;                    /* how 16-bit grey images were read */
    bool chose_minmax;                     /* --grey16 auto chose it, and the source does not */
    struct arena arena;
};

/* Called while inputs are read. */
struct corpus_progress {
    void (*call)(void *context, size_t done, size_t total); /* NULL: not called */
    void *context;
};

/* `spec` is the source's; `writing` says how a model that writes reads (NULL: it is another); `dir`
 * holds its tokenizer or preprocessor. ERR_UNUSABLE: data that a
 * model cannot learn from (only one label, a class without a training input, a validation label
 * without a training input, equal numbers, no two texts that belong together, a span's label that
 * only validation texts have); the error names it.
 * Close it in any case. */
enum err_code corpus_open(struct corpus *out, const struct train_options *options,
                          const struct spec *spec, const struct samples_writing *writing,
                          const char *dir, unsigned threads, const struct corpus_progress *progress,
                          struct err *err);
void corpus_close(struct corpus *corpus);

/* mates [items->count] <- the place of a text that belongs with each: of a pair's first text the
 * second; with labels the next one of the same label, the last one's being the first. SIZE_MAX:
 * none, or a pair's second text. ERR_NO_MEMORY. */
enum err_code corpus_mates(const struct groups *groups, const struct corpus_items *items,
                           size_t *mates, struct err *err);

/* Makes a data set of `items`. It lies in the corpus's memory: do not close it. ERR_NO_MEMORY. */
enum err_code corpus_view(struct corpus *corpus, const struct corpus_items *items,
                          struct dataset *out, struct err *err);

#endif
