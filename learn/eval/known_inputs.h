/* known_inputs.h - runs labelled inputs that a model has learnt through it. The OOD score compares
 * with them, and the examples that the model carries are chosen from them (calibrate.h).
 *
 *     known_inputs_open(&known, model, "train.jsonl", &fields, &err);
 *     known_inputs_run(&known, model, &how, &err);
 *     struct calibrate how = {.known = &known.evaluation, .known_classes = known.classes, ...};
 *     known_inputs_close(&known);
 *
 * Threads: as evaluation.h.
 */
#ifndef ATTND_LEARN_EVAL_KNOWN_INPUTS_H
#define ATTND_LEARN_EVAL_KNOWN_INPUTS_H

#include "learn/data/dataset.h"
#include "learn/eval/measure/evaluation.h"

struct known_inputs {
    struct dataset dataset;
    unsigned *classes;            /* [dataset.count] */
    struct evaluation evaluation; /* with features */
};

/* Errors begin with the path. ERR_UNUSABLE for a label that the model lacks. Close it in any case.
 */
enum err_code known_inputs_open(struct known_inputs *out, const struct engine_model *model,
                                const char *path, const struct dataset_options *fields,
                                struct err *err);
enum err_code known_inputs_run(struct known_inputs *known, const struct engine_model *model,
                               const struct evaluation_options *how, struct err *err);
void known_inputs_close(struct known_inputs *known);

#endif
