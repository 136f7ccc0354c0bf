/* teachers.h - the teachers of a distillation (loss.h). Teachers are checkpoints, which read each
 * input with the learner's augmentation, at their own image size, and files of logits
 * (learn/data/logit_list.h) from models of any kind, whose logits are those of the input without
 * augmentation. Beyer et al. 2022, "Knowledge distillation: a good teacher is patient and
 * consistent", call the latter a fixed teacher and find it worse than the former, a consistent one.
 *
 *     teachers_open(&teachers, &setup, &err);
 *     teachers_run(&teachers, pool, items, count, &order, &logits, &err);
 *     teachers_close(&teachers);
 *
 * Several teachers teach their mean, q = mean of softmax(t / T), T the run's temperature. It is
 * passed on as logits T log q, so that the loss's softmax(t / T) is q again. The logits of a single
 * teacher are passed on unchanged. Threads: one at a time.
 */
#ifndef ATTND_LEARN_TRAIN_LOOP_TEACHERS_H
#define ATTND_LEARN_TRAIN_LOOP_TEACHERS_H

#include "engine/base/err.h"
#include "engine/engine.h"
#include "learn/data/logit_list.h"
#include "learn/train/loop/corpus.h"
#include "learn/train/loop/data_loader.h"
#include "learn/train/loop/options.h"

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

#endif
