/* answers.h - answers of a model in this process, for programs that have many inputs at hand: they
 * are prepared, run in packed batches on one thread, judged and explained, and each becomes the
 * object that POST /predict answers, or a problem document. Each thread has its own over one model:
 * offline, as many batches at once as there are cores take less time than one batch on all cores,
 * since nobody waits for anybody, and one thread prepares while another computes.
 *
 *     answers_model_open(&model, &options, &err);
 *     answers_open(&answers, &model, &err);
 *     answers_run(answers, first, count, &source, &err);
 *     answers_close(answers);
 *     answers_model_close(&model);
 *
 * Threads: a model is immutable after open; a struct answers belongs to one thread at a time.
 */
#ifndef ATTND_TOOLS_ANSWERS_ANSWERS_H
#define ATTND_TOOLS_ANSWERS_ANSWERS_H

#include "engine/engine.h"
#include "tools/answers/asking.h"

#include <limits.h>
#include <stdatomic.h>

struct json_t;

struct answers_options {
    const char *dir;
    struct engine_options engine;
    bool explain;
    struct explain_options how;
    unsigned top_k;          /* 0: all */
    const char *prompt_name; /* of an embedding's prompts; NULL: the default one */
    struct asking asking;
    const atomic_bool *stop; /* set by another thread: texts that are begun are given up; NULL */
};

struct answers_model {
    const struct answers_options *options;
    struct engine_model *engine;
    struct asking asking;    /* the options', with the number of answers to a question */
    char name[NAME_MAX + 1]; /* the last part of the directory's path */
    char digest[72];
};

/* Errors begin with the directory; ERR_UNUSABLE also for a model without labels of its own, without
 * the prompt, or whose task does not take what is asked. Close it in any case. */
enum err_code answers_model_open(struct answers_model *out, const struct answers_options *options,
                                 struct err *err);
void answers_model_close(struct answers_model *model);

/* One input of the batch that is being made. */
struct answers_row {
    unsigned index; /* which input */
    struct engine_input prepared;
    const char *text; /* [text_len], what engine_phrases reads */
    size_t text_len;
    struct arena arena; /* until it is taken */
    struct err err;
};

/* Callbacks that supply inputs and take the answers. */
struct answers_source {
    void *context;
    /* Makes input row->index an input of the encoder, in the row's arena, or sets row->err; of a
     * text also text and text_len. */
    void (*prepare)(void *context, struct answers_row *row);
    /* Takes the results in the order of the inputs. The object is the answer, or with row->err the
     * problem document; it is borrowed and may be changed. An error ends the run. */
    enum err_code (*take)(void *context, struct json_t *object, const struct answers_row *row,
                          struct err *err);
};

struct answers;
/* Close it in any case. */
enum err_code answers_open(struct answers **out, const struct answers_model *model,
                           struct err *err);
void answers_close(struct answers *answers);

/* Inputs [first, first + count). Only a failure of the system, or of take, is an error, and
 * ERR_NOT_READY if it was stopped: then some are not taken. */
enum err_code answers_run(struct answers *answers, unsigned first, unsigned count,
                          const struct answers_source *source, struct err *err);

#endif
