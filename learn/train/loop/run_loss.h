/* run_loss.h - the loss of a run (network/loss.h), from its options and the classes of its data.
 *
 *     run_loss_make(&loss, options, &spec, &corpus.train, &sampler, &arena, &err);
 *
 * Class weights are count^-power, scaled so that their mean over the inputs is 1. Logits are
 * adjusted by the prior that the loss sees, not by that of the list:
 *
 *     prior of a class ~ share of the drawn inputs x class weight
 *
 * Reason: weighted cross-entropy over inputs that are drawn with shares d is least where
 * softmax(z + b) ~ w(y) d(y) p(x | y). Only with this prior z has lost the prior at tau 1, however
 * inputs are drawn. So --balance 0.5 halves the adjustment. With --balance 1 or --class-weight 1
 * the prior is flat and nothing is adjusted: the options do not correct the same thing twice.
 *
 * Threads: no state.
 */
#ifndef ATTND_LEARN_TRAIN_LOOP_RUN_LOSS_H
#define ATTND_LEARN_TRAIN_LOOP_RUN_LOSS_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/model/spec.h"
#include "learn/train/loop/corpus.h"
#include "learn/train/loop/options.h"
#include "learn/train/loop/sampler.h"
#include "learn/train/network/loss.h"

/* `spec` has the labels to learn. With --task mlm there are no class weights and no adjustment.
 * Arrays live in the arena. ERR_NO_MEMORY. */
enum err_code run_loss_make(struct loss *out, const struct train_options *options,
                            const struct spec *spec, const struct corpus_items *train,
                            const struct sampler *sampler, struct arena *arena, struct err *err);

#endif
