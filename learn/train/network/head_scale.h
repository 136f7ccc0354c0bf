/* head_scale.h - the unit of a regression's answers, in its classifier.
 *
 *     y = mean + deviation z,  z = W x + b    =>    y = W' x + b',
 *     W' = deviation W,  b' = mean + deviation b
 *
 * Training learns z, whose targets have mean 0 and deviation 1; a checkpoint has W' and b', and so
 * answers y wherever it is served.
 *
 *     head_scale_remove(&scale, &parameters, values);      a checkpoint's weights, to train them
 *     head_scale_fold(&scale, &parameters, values);        trained weights, to write them
 *
 * Threads: no state.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_HEAD_SCALE_H
#define ATTND_LEARN_TRAIN_NETWORK_HEAD_SCALE_H

#include "learn/train/network/parameters.h"

struct head_scale {
    unsigned outputs;
    double *mean, *deviation; /* [outputs] in the data's unit; deviation > 0 */
};

/* Changes the classifier, and a distilled DeiT's second one, in values [parameters->numbers]: z to
 * y. Its width is parameters->spec.label_count == outputs. */
void head_scale_fold(const struct head_scale *scale, const struct parameters *parameters,
                     float *values);
/* The inverse: y to z. */
void head_scale_remove(const struct head_scale *scale, const struct parameters *parameters,
                       float *values);

/* Sets the classifier to zero: the answer is then the mean. For a source whose classifier scores a
 * label, which says nothing of a number. */
void head_scale_clear(const struct parameters *parameters, float *values);

#endif
