/* teacher.h - a teacher of a distillation (loss.h): a checkpoint whose logits another one is
 * trained on. It reads the same inputs as the learner, with the same augmentation, at its own image
 * size. Threads: one at a time. */
#ifndef ATTND_LEARN_TRAIN_LOOP_TEACHER_H
#define ATTND_LEARN_TRAIN_LOOP_TEACHER_H

#include "engine/base/err.h"
#include "engine/engine.h"
#include "learn/train/loop/corpus.h"
#include "learn/train/loop/data_loader.h"

enum { TEACHER_TOKENS = 1024 }; /* of its batches, at least */

struct teacher {
    struct engine_model *model;
    struct engine_session *session;
    unsigned tokens_max;   /* of its batches */
    unsigned image_tokens; /* of an image as it reads them; 0: texts */
    unsigned *label_of;    /* [labels] of the learner's, the teacher's index */
    struct samples_view view;
    struct data_loader loader;
    float *logits, *own; /* [rows, labels] in the learner's order; one batch of its own */
    unsigned labels;
};

/* ERR_UNSUPPORTED if its labels are not the same, or it takes another kind of input or another
 * vocabulary. `view` and vocab_size are the learner's. Close it in any case. */
enum err_code teacher_open(struct teacher *out, const char *dir, const struct corpus *corpus,
                           const struct samples_view *view, unsigned vocab_size, unsigned rows_max,
                           unsigned threads, struct err *err);
void teacher_close(struct teacher *teacher);

/* Its logits for the items of a batch, [count, labels], until the next call. */
enum err_code teacher_run(struct teacher *teacher, struct thread_pool *pool, const size_t *items,
                          unsigned count, const struct data_loader_order *order,
                          const float **logits, struct err *err);

#endif
