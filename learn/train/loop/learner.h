/* learner.h - a model in training: parameters, network and optimiser together, for one image size
 * at a time.
 *
 *     learner_open(&learner, &setup, checkpoint, &err);
 *     learner_batch(...)     gradients of a prepared batch
 *     learner_step(...)      one step of the optimiser
 *     learner_resize(...)    the same model at another image size
 *
 * Threads: one at a time; the pool is the network's. */
#ifndef ATTND_LEARN_TRAIN_LOOP_LEARNER_H
#define ATTND_LEARN_TRAIN_LOOP_LEARNER_H

#include "engine/base/err.h"
#include "engine/base/thread_pool.h"
#include "engine/format/checkpoint.h"
#include "learn/train/loop/data_loader.h"
#include "learn/train/network/loss.h"
#include "learn/train/network/network.h"
#include "learn/train/network/parameters.h"
#include "learn/train/network/ranking_loss.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- optimizer ---- */

/* AdamW over the flat array of parameters, with options for fine-tuning: no weight decay on norms
 * and biases, a rate that falls with the distance from the head (layer-wise decay: Howard and Ruder
 * 2018; Clark et al. 2020), gradients clipped by their global norm (Pascanu et al. 2013), frozen
 * blocks, and a moving average of the weights.
 *
 *     optimizer_open(&optimizer, &parameters, &options, &err);
 *     optimizer_step(optimizer, pool, gradient, rate, frozen_depth);   also clears the gradient
 *
 * Threads: one at a time, with the pool of the caller; results do not depend on its size. */

struct optimizer_options {
    float beta1, beta2, eps;
    float weight_decay;
    float layer_decay;   /* a block's rate = layer_decay x the rate of the block above */
    float clip;          /* largest norm of the gradient; 0: not clipped */
    float average_decay; /* of the moving average; 0: there is none */
};

struct optimizer {
    struct parameters *parameters;
    struct optimizer_options options;
    uint64_t steps;   /* done */
    float *m, *v;     /* [numbers] first and second moments */
    float *average;   /* [numbers], starts as the values; NULL without average_decay */
    double *partials; /* one partial sum of the gradient's norm for each chunk */
};

/* Borrows the parameters, whose values it changes. ERR_NO_MEMORY. Close it in any case. */
enum err_code optimizer_open(struct optimizer *out, struct parameters *parameters,
                             const struct optimizer_options *options, struct err *err);
void optimizer_close(struct optimizer *optimizer);

/* The result of a step. */
struct optimizer_report {
    double norm;  /* of the gradient, before clipping */
    bool skipped; /* the gradient was not finite: it was cleared, nothing else changed */
};

/* Makes one step and sets the gradient [numbers] to zero; depths below frozen_depth are frozen. The
 * average's decay is min(average_decay, (1 + steps) / (10 + steps)), so that it forgets the start
 * (as TensorFlow's ExponentialMovingAverage does). */
struct optimizer_report optimizer_step(struct optimizer *optimizer, struct thread_pool *pool,
                                       float *gradient, float rate, unsigned frozen_depth);

/* The values to save or to evaluate: the average, else the values. */
const float *optimizer_best(const struct optimizer *optimizer);

/* ---- the learner ---- */

struct learner_setup {
    struct spec spec;          /* labels and sizes as they are to be learned */
    const struct spec *target; /* of a model that writes, whose encoder's is `spec`; else NULL */
    enum family_head head;
    struct network_options network;
    struct optimizer_options optimizer;
    uint64_t seed;
    bool structured; /* initialised by structured.h */
};

struct learner {
    struct learner_setup setup;
    struct parameters parameters;
    struct network *network;
    struct optimizer optimizer;
    float *best;    /* [numbers] values of the best epoch */
    float *dlogits; /* of a micro-batch */
    size_t dlogits_numbers;
    struct parameters_loaded loaded;
};

/* Loads the weights from the checkpoint; if that is NULL, initialises them. Close it in any case.
 */
enum err_code learner_open(struct learner *out, const struct learner_setup *setup,
                           const struct checkpoint *checkpoint, struct err *err);
void learner_close(struct learner *learner);

/* Converts weights, moments and averages to another image size: position embeddings are
 * interpolated. */
enum err_code learner_resize(struct learner *learner, unsigned image_size, struct err *err);
/* From now on freezes the depths below frozen_depth (network.h). */
enum err_code learner_freeze(struct learner *learner, unsigned frozen_depth, struct err *err);

/* Targets of a batch's rows. Not used for MLM, tags and texts, whose targets the loader has. */
struct learner_targets {
    const float *const *rows; /* [rows] of [labels] */
    const float *teacher;     /* [rows, labels] the teacher's logits; NULL: none */
};

/* Adds the gradient of the mean loss over a prepared batch; *value is that loss. `position` is the
 * batch's position in the run; it seeds dropout. */
enum err_code learner_batch(struct learner *learner, const struct data_loader *loader,
                            const struct loss *loss, const struct learner_targets *targets,
                            uint64_t position, double *value, struct err *err);

/* Adds the gradient of ranking_loss.h over a prepared batch of pairs, rows 2i and 2i + 1 being one,
 * of group groups[i]; *value is that loss. All vectors are computed first, since each pair is
 * compared with all others; then each micro-batch is computed once more for its gradient, unless
 * the batch is one (Gao et al. 2021, "Scaling Deep Contrastive Learning Batch Size under Memory
 * Limited Setup"). So memory does not grow with the batch. */
enum err_code learner_pairs(struct learner *learner, const struct data_loader *loader,
                            const unsigned *groups, double scale, uint64_t position, double *value,
                            struct err *err);
struct optimizer_report learner_step(struct learner *learner, float rate);

/* Scales the attention logits of a structured initialisation, on a prepared batch. */
void learner_sharpen(struct learner *learner, const struct data_loader *loader);

/* After a change of parameters.values by the caller, before the first step: packs them, and begins
 * best and moving average with them. */
void learner_renew(struct learner *learner);

/* ---- judging ---- */

/* Packs the moving average, if there is one, else the weights, until learner_resume. */
void learner_pause(struct learner *learner);
void learner_resume(struct learner *learner);
/* Logits of a prepared batch: classifier, [rows, labels]; of an embedding vectors, [rows,
 * parameters_outputs]. */
void learner_logits(struct learner *learner, const struct data_loader *loader, float *logits);
/* Adds to *loss the loss over the masked words, or the tags, of a prepared batch, to *words their
 * number, and to *hits how many of them were predicted correctly. logits (NULL: not wanted) <-
 * those of each of the loader's targets, row by row. */
enum err_code learner_words(struct learner *learner, const struct data_loader *loader, double *loss,
                            size_t *words, size_t *hits, float *logits, struct err *err);
/* Adds to *sum the loss over the tokens of a prepared batch's texts to write, to *words their
 * number, and to *hits how many of them were predicted correctly, each behind the right ones. */
enum err_code learner_texts(struct learner *learner, const struct data_loader *loader,
                            const struct loss *loss, double *sum, size_t *words, size_t *hits,
                            struct err *err);
/* best = the moving average, if there is one, else the weights. */
void learner_keep(struct learner *learner);

#endif
