/* corpus.h - the data of a run: training and validation part, with the model's labels, and every
 * input in memory (data/samples.h).
 *
 * Labels are those of the data, sorted by bytes. If the source model has exactly these labels, they
 * are in its order, so that its head fits. With --multi-label a label is split at '|'. Masked
 * language modelling takes texts with or without labels, also from a .txt or .log file with one
 * text a line. A regression takes labels that are numbers (number_label.h), from a list. An
 * embedding takes pairs of texts, or labels (struct groups). A model of tags takes spans
 * (tag_set.h). A model that writes takes texts to write (target). Without a validation list a share
 * of each class, drawn by the seed, is held back; of numbers a share of all, and of pairs whole
 * groups.
 *
 * Threads: immutable after open. */
#ifndef ATTND_LEARN_TRAIN_LOOP_CORPUS_H
#define ATTND_LEARN_TRAIN_LOOP_CORPUS_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/model/spec.h"
#include "learn/data/dataset.h"
#include "learn/data/samples.h"
#include "learn/train/loop/options.h"
#include "learn/train/network/head_scale.h"

#include <stdbool.h>

/* ---- labels ---- */

/* The labels of a model in training, and which of them an input has.
 *
 * Threads: immutable after labels_learn. */

struct labels {
    const char **name; /* [count] */
    unsigned count;
    bool several; /* an input may have more than one, written with '|' between them */
};

/* Collects the distinct labels of a data set, sorted by bytes. If `spec` has exactly these labels,
 * its order is kept, so that its head fits. ERR_UNUSABLE if there is only one (`several`: none), or
 * more than SPEC_LABELS_MAX. Names live in the arena. */
enum err_code labels_learn(struct labels *out, const struct dataset *dataset, bool several,
                           const struct spec *spec, struct arena *arena, struct err *err);

/* targets [count] = 1 for each label that `text` names, 0 for the others. *first is the first label
 * named; with `several` a text may name none: then it is count. ERR_UNUSABLE for a name that is
 * unknown or empty. */
enum err_code labels_match(const struct labels *labels, const char *text, float *targets,
                           unsigned *first, struct err *err);

/* How many labels are numbers, if that looks like measured values and not like classes: more than
 * LABELS_NUMBERS, and more than half of all labels; else 0. */
enum { LABELS_NUMBERS = 20 };
unsigned labels_measured(const struct labels *labels);

/* ---- numbers ---- */

/* The numbers that a regression learns: one or several outputs, and their scale.
 *
 * The network learns targets t = (y - mean) / deviation, both over the inputs to learn, so that a
 * learning rate suits numbers of any unit. The checkpoint answers y: head_scale.h folds the scale
 * into its classifier.
 *
 * Threads: immutable after numbers_fit. */

enum { NUMBERS_OUTPUTS_MAX = 1024 };

struct numbers {
    const char **name; /* [count] of the outputs, as config.json's id2label has them */
    unsigned count;
    struct head_scale scale; /* after numbers_fit */
};

/* Takes the number of outputs from the data set's first label. Names are those of the source, if it
 * is a regression with so many outputs; else a single output has the name `field`, and several
 * have `field` with their number. ERR_UNUSABLE; ERR_NO_MEMORY. */
enum err_code numbers_open(struct numbers *out, const struct dataset *dataset, const char *field,
                           const struct spec *source, struct arena *arena, struct err *err);

/* Reads an input's numbers into targets [count], as they stand in the data. ERR_UNUSABLE. */
enum err_code numbers_match(const struct numbers *numbers, const char *label, float *targets,
                            struct err *err);

/* Sets the scale from targets [inputs, count]. ERR_UNUSABLE if an output has one number for all
 * inputs, or numbers so close together that fp32 cannot tell them apart. */
enum err_code numbers_fit(struct numbers *numbers, const float *targets, size_t inputs,
                          struct arena *arena, struct err *err);

/* targets [inputs, count], in place: y to t. */
void numbers_standardise(const struct numbers *numbers, float *targets, size_t inputs);

/* ---- groups ---- */

/* Which texts belong together, for an embedding to learn: the two of a pair, or all of one label.
 *
 *     groups_open(&groups, datasets, 2, &arena, &err);         pairs become items of their own
 *     ... groups.of[part][item] ...
 *
 * A list with "text_pair" is of pairs: item 2i and item 2i + 1 are one (dataset_unpair). Pairs that
 * share a text, byte for byte, are of one group, however long the chain: none is a negative of
 * another. Other lists have labels, and a group is a label.
 *
 * Threads: immutable after open. */

enum { GROUPS_PARTS = 2 };

struct groups {
    bool are_pairs;
    unsigned count;             /* 0: nothing was opened */
    unsigned *of[GROUPS_PARTS]; /* [datasets[i]->count], in the arena */
    const char **name;          /* [count] the label of a group; of pairs NULL */
};

/* ERR_UNUSABLE: one list has pairs and the other has none, a pair has a label or a value, only some
 * items have a second text, an item has neither a label nor a second text. ERR_NO_MEMORY. A data
 * set that is NULL is not there; the first is. */
enum err_code groups_open(struct groups *out, struct dataset *const datasets[GROUPS_PARTS],
                          struct arena *arena, struct err *err);

/* ---- the corpus ---- */

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
