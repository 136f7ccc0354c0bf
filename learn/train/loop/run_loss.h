/* run_loss.h - the loss of a run (network/loss.h), from its options and the classes of its data.
 *
 *     run_loss_make(&loss, options, &spec, &corpus.train, &sampler, &arena, &err);
 *
 * Class weights are count^-power, scaled so that their mean over the inputs is 1. The prior that
 * logits are adjusted by is that of what the loss sees, not that of the list:
 *
 *     prior of a class ~ its share of what is drawn x its class weight
 *
 * since weighted cross-entropy over inputs that are drawn with shares d is least where softmax(z +
 * b) ~ w(y) d(y) p(x | y): only with this prior z has none of it left at tau 1, whatever was drawn.
 * --balance 0.5 thus halves the adjustment by itself, and with --balance 1, or --class-weight 1,
 * the prior is flat and nothing is adjusted: what one of them has done, the other does not do
 * again.
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

/* `spec` has the labels to learn; for --task mlm the loss weighs and adjusts nothing. Arrays live
 * in the arena. ERR_NO_MEMORY. */
enum err_code run_loss_make(struct loss *out, const struct train_options *options,
                            const struct spec *spec, const struct corpus_items *train,
                            const struct sampler *sampler, struct arena *arena, struct err *err);

#endif
