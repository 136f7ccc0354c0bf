/* plan.h - the plan of a run, made before it begins: number of steps, image sizes, learning rate,
 * and how inputs are prepared. Threads: immutable after plan_make. */
#ifndef ATTND_LEARN_TRAIN_LOOP_PLAN_H
#define ATTND_LEARN_TRAIN_LOOP_PLAN_H

#include "engine/base/err.h"
#include "engine/model/spec.h"
#include "learn/data/samples.h"
#include "learn/train/loop/options.h"

#include <stdint.h>

/* The learning rate rises linearly from 0 over the warm-up (Goyal et al. 2017) and falls along half
 * a cosine to its floor (Loshchilov and Hutter 2017, eq. 5, without restarts). */
struct plan_schedule {
    float peak, floor;    /* rates; floor <= peak */
    uint64_t warmup, end; /* steps; warmup < end */
};

struct plan {
    unsigned batch, epochs, epoch_steps, epoch_inputs;
    uint64_t steps;             /* of the run */
    struct train_stages stages; /* texts, images that are no squares, and images to write from: one
                                   stage of size 0 */
    struct plan_schedule schedule;
    struct samples_view learning, judging; /* image_size: see plan_image_size */
    unsigned freeze_epochs;
};

/* ERR_UNUSABLE for options that do not fit the model: stages for a text model or for images that
 * are no squares, sizes that are no multiple of the patch. ERR_UNSUPPORTED for images that are no
 * squares in a family that keeps its positions as a square. `inputs` is the number of training
 * inputs. */
enum err_code plan_make(struct plan *out, const struct train_options *options,
                        const struct spec *spec, size_t inputs, struct err *err);

/* The learning rate of `step`, counted from 0; the floor from step schedule->end on. */
float plan_rate(const struct plan_schedule *schedule, uint64_t step);

/* Side of the images in pixels in `epoch`, counted from 0; 0: texts, or images of the model's own
 * size. */
unsigned plan_image_size(const struct plan *plan, unsigned epoch);

/* The work of the first `step` steps, counted in tokens, so that image sizes are comparable. */
double plan_work(const struct plan *plan, const struct spec *spec, uint64_t step);

#endif
