/* labels_model.h - a tiny open BERT with labels of a test's choice, for what only reads labels and
 * scores of it. */
#ifndef ATTND_TESTS_SUPPORT_LABELS_MODEL_H
#define ATTND_TESTS_SUPPORT_LABELS_MODEL_H

#include "engine/engine.h"

/* A model with at most 64 labels, which have no quotes or backslashes. The caller closes it; any
 * failure fails the test. */
struct engine_model *labels_model_open(const char *const *labels, unsigned count);

#endif
