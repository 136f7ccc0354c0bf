/* teacher.h - a teacher for distillation (loss.h): a checkpoint on whose logits the learner is
 * trained. It reads the same inputs as the learner, with the same augmentation, at its own image
 * size. Threads: one at a time. */
#ifndef ATTND_LEARN_TRAIN_LOOP_TEACHER_H
#define ATTND_LEARN_TRAIN_LOOP_TEACHER_H

#include "engine/base/err.h"
#include "engine/engine.h"
#include "learn/train/loop/corpus.h"
#include "learn/train/loop/data_loader.h"

enum { TEACHER_TOKENS = 1024 }; /* least tokens_max of the teacher's batches */

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

/* ERR_UNSUPPORTED if its set of labels, its kind of input or its vocabulary size is another.
 * `view` and vocab_size are the learner's. Close it in any case. */
enum err_code teacher_open(struct teacher *out, const char *dir, const struct corpus *corpus,
                           const struct samples_view *view, unsigned vocab_size, unsigned rows_max,
                           unsigned threads, struct err *err);
void teacher_close(struct teacher *teacher);

/* Computes the logits for the items of a batch, [count, labels]; valid until the next call. */
enum err_code teacher_run(struct teacher *teacher, struct thread_pool *pool, const size_t *items,
                          unsigned count, const struct data_loader_order *order,
                          const float **logits, struct err *err);

#endif
