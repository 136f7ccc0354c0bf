/* teachers.h - everything that a distillation (loss.h) learns from: checkpoints (teacher.h), which
 * read each input as the learner does, augmented alike, and files of logits
 * (learn/data/logit_list.h) of models of any kind, which are those of the input as it is listed,
 * whatever augmentation made of it (what Beyer et al. 2022, "Knowledge distillation: a good teacher
 * is patient and consistent", call a fixed teacher, and find worse than a consistent one).
 *
 *     teachers_open(&teachers, &setup, &err);
 *     teachers_run(&teachers, pool, items, count, &order, &logits, &err);
 *     teachers_close(&teachers);
 *
 * Several teach their mean: q = mean of softmax(t / T), T the run's temperature, which is handed on
 * as logits T log q, so that the loss's softmax(t / T) is q again. One alone is handed on as it is.
 * Threads: one at a time.
 */
#ifndef ATTND_LEARN_TRAIN_LOOP_TEACHERS_H
#define ATTND_LEARN_TRAIN_LOOP_TEACHERS_H

#include "engine/base/err.h"
#include "learn/data/logit_list.h"
#include "learn/train/loop/options.h"
#include "learn/train/loop/teacher.h"

/* What they teach, and to whom. */
struct teachers_setup {
    const struct train_options *options; /* teacher, teacher_logits and teacher_temperature */
    const struct corpus *corpus;
    const struct samples_view *view; /* the learner's */
    unsigned vocab_size, rows_max, threads;
};

struct teachers {
    struct teacher *models;   /* [model_count] */
    struct logit_list *lists; /* [list_count] of the corpus's first part */
    unsigned model_count, list_count, labels;
    double temperature;
    float *logits; /* [rows_max, labels] */
    double *mean;  /* [labels] */
};

/* ERR_UNSUPPORTED as teacher_open; ERR_UNUSABLE: a list lacks an input to learn, or is of another
 * one, or as logit_list_open. The text begins with the teacher. Close it in any case. */
enum err_code teachers_open(struct teachers *out, const struct teachers_setup *setup,
                            struct err *err);
void teachers_close(struct teachers *teachers);

/* The teachers' logits for the items of a batch, [count, labels], until the next call; NULL if
 * there is no teacher. */
enum err_code teachers_run(struct teachers *teachers, struct thread_pool *pool, const size_t *items,
                           unsigned count, const struct data_loader_order *order,
                           const float **logits, struct err *err);

#endif
