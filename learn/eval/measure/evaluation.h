/* evaluation.h - a data set run through an open model with all threads: the logits of every item.
 *
 *     struct evaluation evaluation;
 *     struct evaluation_options options = {.threads = 2};
 *     if (evaluation_run(&evaluation, model, &dataset, &options, &err)) ...
 *     evaluation_argmax(&evaluation, i);
 *     evaluation_close(&evaluation);
 *
 * Confusion, agreement of two precisions and calibration are computed from the logits elsewhere.
 * Threads: the call uses options.threads of its own; the result is plain data.
 */
#ifndef ATTND_LEARN_EVAL_MEASURE_EVALUATION_H
#define ATTND_LEARN_EVAL_MEASURE_EVALUATION_H

#include "engine/engine.h"
#include "learn/data/dataset.h"
#include "learn/data/picture.h"
#include "learn/eval/measure/confusion.h"

#include <stdint.h>

/* An epoch of a training, as the reports of all tasks have it; NAN: not measured. */
struct report_epoch {
    double train_loss, validation_loss;
    double measure; /* of the task on the validation part: macro-F1, F1 of spans, nDCG@10, RMSE */
    double rate;    /* the learning rate at the epoch's end */
};

struct evaluation_options {
    unsigned threads; /* at least 1 */
    bool features;    /* also keep engine_features of each item, with the means of tokens */
    /* Called between batches with the number of items done; NULL: not called. */
    void (*progress)(void *context, size_t done);
    void *context;
    double usable_min; /* dataset_check_usable's; the run ends as soon as too many have failed */
    const struct engine_writing *writing; /* of a model that writes; NULL: as its checkpoint says */
    /* Called for each item that a model of tags has answered, with result->rows and result->spans,
     * or one that writes, with result->texts; NULL: only whether it can be answered is kept. */
    enum err_code (*answered)(void *context, size_t item, const struct engine_input *input,
                              const struct engine_result *result, struct err *err);
    void *answered_context;
};

struct evaluation {
    size_t count; /* the data set's */
    unsigned label_count;
    float *logits;  /* [count, label_count]; zeros where an item failed */
    float *shifted; /* [count, label_count] with the model's class prior; NULL: as the logits */
    unsigned vector_size;  /* engine_info's, of an embedding, which has neither labels nor logits */
    float *vectors;        /* [count, vector_size]; zeros where an item failed */
    unsigned feature_size; /* engine_info's */
    float *features;       /* [count, feature_size] if asked for, else NULL; zeros likewise */
    float *ood; /* [count] OOD scores that came with the logits; NULL: those of the features */
    uint64_t *digests; /* [count] digest.h; 0 where an image cannot be read */
    unsigned *sizes; /* [count] an image's larger side in pixels, a text's tokens as the model reads
                        it; 0 where it cannot be read. NULL, unless by a run: not known */
    struct contrast_count contrast; /* of the images */
    bool *truncated;                /* [count]: the model has not read all of the text */
    bool *coloured;                 /* [count]: an image that is not grey; NULL: not known */
    const char **problems;          /* [count]: why an item has no logits; NULL if it has them */
    size_t failed;                  /* how many have none */
    double seconds;                 /* preparing and computing */
    struct arena arena;             /* of all arrays but `shifted` */
};

/* An item that cannot be used or computed fails alone, with a problem; ERR_UNUSABLE, with the first
 * one's problem, if all do, or more than usable_min allows. ERR_NO_MEMORY and ERR_IO while an item
 * is read or prepared are not the item's fault and end the run. Close it in any case. */
enum err_code evaluation_run(struct evaluation *out, const struct engine_model *model,
                             const struct dataset *dataset,
                             const struct evaluation_options *options, struct err *err);
void evaluation_close(struct evaluation *evaluation);

/* Reads and prepares one item, as a run does. writing: as in evaluation_options. Any thread;
 * pictures and arena are the caller's. */
enum err_code evaluation_prepare(const struct engine_model *model, const struct dataset *dataset,
                                 size_t item, const struct engine_writing *writing,
                                 struct pictures *pictures, struct arena *arena,
                                 struct engine_input *out, struct err *err);

/* Sets `shifted`: to each label's logits its shift, times the temperature. NULL: none. A run does
 * so with those of the model's class prior. ERR_NO_MEMORY. */
enum err_code evaluation_shift(struct evaluation *evaluation, const float *shifts,
                               double temperature, struct err *err);

/* The logits of an item [label_count]. */
const float *evaluation_logits(const struct evaluation *evaluation, size_t item);
/* [count, label_count]: what the answers are the largest of, and, over the temperature, the scores
 * the softmax of: the logits, or the shifted ones. */
const float *evaluation_answers(const struct evaluation *evaluation);
/* The index of the largest of them, the first of equal ones. */
unsigned evaluation_argmax(const struct evaluation *evaluation, size_t item);
/* engine_features of an item [feature_size], if they were asked for. */
const float *evaluation_features(const struct evaluation *evaluation, size_t item);

/* Returns the reason why the item needs a person whatever its score. */
enum input_doubt evaluation_doubt(const struct evaluation *evaluation, size_t item);

/* By the model that was run, or another of its kind: its scores for the item's logits
 * [label_count], which are finite, and what it decides. The evaluation kept features. */
void evaluation_judge(const struct evaluation *evaluation, const struct engine_model *model,
                      size_t item, float *scores, struct judgement *out);

/* Opens a confusion and counts every item that has logits; classes as dataset_match gives them. */
enum err_code evaluation_measure(const struct evaluation *evaluation, const unsigned *classes,
                                 struct confusion *out, struct err *err);

#endif
