/* encoder_model.h - the golden encoders of texts, asked by token ids: their own weights with a
 * vocabulary that stands in for their tokenizer, which other tests are about.
 *
 *     struct encoder_model model;
 *     encoder_model_open(&model, "mpnet-0");
 *     engine_open(&engine, model.dir.path, ...);
 *     for (unsigned i = 0; encoder_model_case(&model, i, &one); i++) ... one.input, one.logits ...
 *     encoder_model_close(&model);
 *
 * They lie in tests/data/encoders; ATTND_GOLDEN names a directory with the whole ones, where there
 * are any. Any failure
 * fails the test. Threads: one at a time.
 */
#ifndef ATTND_TESTS_SUPPORT_ENCODER_MODEL_H
#define ATTND_TESTS_SUPPORT_ENCODER_MODEL_H

#include "engine/model/input.h"
#include "tests/support/tempdir.h"

#include <stdbool.h>
#include <stddef.h>

struct json_t;

enum { ENCODER_TOKENS = 600, ENCODER_LABELS = 16, ENCODER_MODELS = 12 };

/* The models' names; with ATTND_GOLDEN there are more. */
extern const char *const encoder_models[ENCODER_MODELS];
int encoder_models_count(void);

struct encoder_model {
    struct tempdir dir; /* a checkpoint directory that engine_open takes */
    struct json_t *cases;
};

/* One input, with the answer of transformers. */
struct encoder_case {
    int32_t ids[ENCODER_TOKENS];
    uint8_t types[ENCODER_TOKENS];
    struct engine_input input; /* of the arrays above */
    size_t labels;
    double logits[ENCODER_LABELS], probs[ENCODER_LABELS];
    bool has_rollout; /* the whole ones have none where attention has windows */
    double rollout[ENCODER_TOKENS];
    double embedding_norm; /* Frobenius, of what the first layer reads */
};

void encoder_model_open(struct encoder_model *model, const char *name);
/* False behind the last one. */
bool encoder_model_case(const struct encoder_model *model, unsigned index,
                        struct encoder_case *out);
void encoder_model_close(struct encoder_model *model);

#endif
