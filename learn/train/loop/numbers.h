/* numbers.h - the numbers that a regression learns: one or several outputs, and their scale.
 *
 * The network learns targets t = (y - mean) / deviation, both over the inputs to learn, so that a
 * learning rate suits numbers of any unit. The checkpoint answers y: head_scale.h folds the scale
 * into its classifier.
 *
 * Threads: immutable after numbers_fit.
 */
#ifndef ATTND_LEARN_TRAIN_LOOP_NUMBERS_H
#define ATTND_LEARN_TRAIN_LOOP_NUMBERS_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/model/spec.h"
#include "learn/data/dataset.h"
#include "learn/train/network/head_scale.h"

enum { NUMBERS_OUTPUTS_MAX = 1024 };

struct numbers {
    const char **name; /* [count] of the outputs, as config.json's id2label has them */
    unsigned count;
    struct head_scale scale; /* after numbers_fit */
};

/* Takes the number of outputs from the data set's first label. Names are those of the source, if it
 * is a regression with so many outputs; else a single output has the name `field`, and several
 * have `field` with their number. ERR_UNUSABLE; ERR_NO_MEMORY. */
enum err_code numbers_open(struct numbers *out, const struct dataset *dataset, const char *field,
                           const struct spec *source, struct arena *arena, struct err *err);

/* Reads an input's numbers into targets [count], as they stand in the data. ERR_UNUSABLE. */
enum err_code numbers_match(const struct numbers *numbers, const char *label, float *targets,
                            struct err *err);

/* Sets the scale from targets [inputs, count]. ERR_UNUSABLE if an output has one number for all
 * inputs, or numbers so close together that fp32 cannot tell them apart. */
enum err_code numbers_fit(struct numbers *numbers, const float *targets, size_t inputs,
                          struct arena *arena, struct err *err);

/* targets [inputs, count], in place: y to t. */
void numbers_standardise(const struct numbers *numbers, float *targets, size_t inputs);

#endif
