/* run.h - the open objects of a training run, shared by trainer.c, which runs its epochs, and
 * run.c, which opens, restores and saves it. Threads: one at a time. */
#ifndef ATTND_LEARN_TRAIN_LOOP_RUN_H
#define ATTND_LEARN_TRAIN_LOOP_RUN_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/engine.h"
#include "learn/data/logit_list.h"
#include "learn/train/checkpoint/state.h"
#include "learn/train/loop/corpus.h"
#include "learn/train/loop/data_loader.h"
#include "learn/train/loop/judge.h"
#include "learn/train/loop/learner.h"
#include "learn/train/loop/options.h"
#include "learn/train/loop/plan.h"
#include "learn/train/network/loss.h"

#include <stddef.h>
#include <stdint.h>

/* ---- sampler ---- */

/* The inputs of an epoch and their order: a function of seed and epoch, so that a resumed run
 * continues with the same ones.
 *
 * With balance 0 the inputs are taken in shuffled passes: no input occurs twice before all have
 * occurred once, also if an epoch is shorter or longer than a pass. With a balance above 0 each
 * draw takes a class with probability ~ count^(1 - balance) and then one of its inputs.
 *
 * Threads: one at a time. Only sampler_epoch changes it, and only its scratch. */

struct sampler_options {
    const size_t *items;     /* [count] indices of the inputs in their data set, borrowed */
    const unsigned *classes; /* [count] class of each; NULL: one class */
    size_t count;            /* at least 1 */
    unsigned class_count;
    float balance; /* 0 to 1 */
    uint64_t seed;
};

struct sampler {
    struct sampler_options options;
    size_t *pass;         /* [count] the current pass's order */
    uint64_t pass_number; /* of the current pass; UINT64_MAX: none yet */
    size_t *by_class;     /* [count] items sorted by class */
    size_t *class_first;  /* [class_count + 1] into by_class */
    double *cumulative;   /* [class_count] cumulative probability of the classes */
    struct arena arena;
};

enum err_code sampler_open(struct sampler *out, const struct sampler_options *options,
                           struct err *err);
void sampler_close(struct sampler *sampler);

/* The items of an epoch of `count` inputs, in order. */
void sampler_epoch(struct sampler *sampler, uint64_t epoch, size_t *items, size_t count);

/* Draws another item of the class of `item`, which has one, by the seed and the position in the
 * run; classes must be given. */
size_t sampler_mate(const struct sampler *sampler, unsigned class, size_t item, uint64_t position);

/* How often class c is drawn: its share in an endless epoch. */
double sampler_share(const struct sampler *sampler, unsigned c);

/* ---- teachers ---- */

/* The teachers of a distillation (loss.h). Teachers are checkpoints, which read each input with the
 * learner's augmentation, at their own image size, and files of logits (learn/data/logit_list.h)
 * from models of any kind, whose logits are those of the input without augmentation. Beyer et al.
 * 2022, "Knowledge distillation: a good teacher is patient and consistent", call the latter a fixed
 * teacher and find it worse than the former, a consistent one.
 *
 *     teachers_open(&teachers, &setup, &err);
 *     teachers_run(&teachers, pool, items, count, &order, &logits, &err);
 *     teachers_close(&teachers);
 *
 * Several teachers teach their mean, q = mean of softmax(t / T), T the run's temperature. It is
 * passed on as logits T log q, so that the loss's softmax(t / T) is q again. The logits of a single
 * teacher are passed on unchanged. Threads: one at a time. */

/* The run that the teachers teach. */
struct teachers_setup {
    const struct train_options *options; /* teacher, teacher_logits and teacher_temperature */
    const struct corpus *corpus;
    const struct samples_view *view; /* the learner's */
    unsigned vocab_size, rows_max, threads;
};

enum { TEACHERS_TOKENS = 1024 }; /* least tokens_max, and most rows, of a teacher's batches */

/* A checkpoint that teaches. */
struct teacher {
    struct engine_model *model;
    struct engine_session *session;
    unsigned tokens_max;   /* of its batches */
    unsigned image_tokens; /* tokens of an image at the teacher's size; 0: texts */
    unsigned *label_of;    /* [labels] the teacher's index of each of the learner's labels */
    struct samples_view view;
    struct data_loader loader;
    float *logits, *own; /* [rows_max, labels] in the learner's order of labels; in its own */
    unsigned labels;
};

struct teachers {
    struct teacher *models;   /* [model_count] */
    struct logit_list *lists; /* [list_count] of the corpus's first part */
    unsigned model_count, list_count, labels;
    double temperature;
    float *logits; /* [rows_max, labels] */
    double *mean;  /* [labels] */
    struct arena arena;
};

/* ERR_UNSUPPORTED if a checkpoint's set of labels, kind of input or vocabulary size is another.
 * ERR_UNUSABLE if a list lacks a training input or has the digest of another input, and as
 * logit_list_open. The error begins with the teacher's path. Close it in any case. */
enum err_code teachers_open(struct teachers *out, const struct teachers_setup *setup,
                            struct err *err);
void teachers_close(struct teachers *teachers);

/* Computes the teachers' logits for the items of a batch, [count, labels]; valid until the next
 * call. *logits is NULL if there is no teacher. */
enum err_code teachers_run(struct teachers *teachers, struct thread_pool *pool, const size_t *items,
                           unsigned count, const struct data_loader_order *order,
                           const float **logits, struct err *err);

/* ---- the run ---- */

struct run {
    const struct train_options *options;
    struct spec spec;                 /* the source's, with the labels to learn */
    struct spec target;               /* of a model that writes: its decoder's */
    struct samples_writing writing;   /* likewise */
    struct judge_texts_options texts; /* likewise */
    struct plan plan;
    struct corpus corpus;
    struct sampler sampler;
    struct learner learner;
    struct teachers teachers; /* may be empty */
    struct data_loader loader;
    struct loss loss;
    size_t *order; /* [plan.epoch_inputs] items of the current epoch: indices in corpus.train */
    size_t *items; /* [batch] items of the current batch: indices in the data set; of an embedding
                      [2 batch], pair by pair */
    const float **targets; /* [batch] */
    unsigned *groups;      /* [batch] of an embedding's pairs */
    int output_fd;         /* of --out, locked; -1: none */
    char *state_path;
    char fingerprint[SHA256_HEX_BYTES];
    const char *lines;            /* options and a hash of the inputs, a "key=value" line each */
    const char *replaced_version; /* version of an attnd.json in --out that run_output_keep renames;
                                     NULL: none */
    struct state_counters at;
    struct history history;
    unsigned threads;
    enum train_task task;
    bool resumed;
    bool had_number;  /* the source's classifier answers a number in the data's unit */
    bool is_finished; /* an earlier process finished it: no model is open, nothing is to do */
    struct arena arena;
};

/* Opens data, model and teacher, and restores the state of an earlier run, if there is one. Close
 * it in any case. */
enum err_code run_open(struct run *out, const struct train_options *options,
                       const struct corpus_progress *progress, struct err *err);
void run_close(struct run *run);

/* Writes the state from which a run can be resumed. */
enum err_code run_save(const struct run *run, struct err *err);
/* Changes the model to the image size and frozen depth of `epoch`, counted from 0. */
enum err_code run_shape(struct run *run, unsigned epoch, struct err *err);

#endif
