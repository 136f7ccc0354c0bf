/* text_tower.h - the second encoder of a zero-shot model: label -> a point on the unit sphere that
 * images are compared with (Radford et al. 2021, section 2.4 and figure 3).
 *
 *     text_tower_open(&tower, dir, checkpoint, backend, kernels, threads, &err);
 *     text_tower_prepare(tower, sentence, &arena, &input, &err);
 *     text_tower_run(tower, &workspace, inputs, rows, embeddings);
 *     text_tower_close(tower);
 *
 * Attention looks back only, and what is read is the state of the token that ends the text. So the
 * input ends with that token: the first with the id eos_token_id or, where that is 2, as in most
 * published checkpoints, the first with the largest id (CLIPTextTransformer.forward).
 *
 * It computes in fp32 whatever the model's dtype is: every score of every image depends on these
 * few numbers, and they are computed once for a set of labels.
 *
 * Threads: immutable after open; a workspace belongs to one caller.
 */
#ifndef ATTND_ENGINE_TEXT_TOWER_H
#define ATTND_ENGINE_TEXT_TOWER_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/format/checkpoint.h"
#include "engine/model/weights.h"
#include "engine/model/workspace.h"
#include "engine/prepare/pipeline.h"

struct text_tower {
    struct spec spec;
    struct weights weights;
    struct pipeline pipeline;
    const struct linear_backend *backend; /* fp32 */
    float scale;                          /* exp(logit_scale) */
};

/* Opens the tower of a checkpoint whose family is_zero_shot. ERR_UNSUPPORTED and the errors of the
 * files. Yours to close. */
enum err_code text_tower_open(struct text_tower **out, const char *dir,
                              const struct checkpoint *checkpoint,
                              const struct linear_backend *backend, const struct kernels *kernels,
                              unsigned threads, struct err *err);
/* The same without reading a weight but the scale, and with the errors that are found before. */
enum err_code text_tower_check(const char *dir, const struct checkpoint *checkpoint,
                               struct err *err);
void text_tower_close(struct text_tower *tower); /* NULL is allowed */

/* UTF-8, NUL-terminated; what is longer than the encoder reads is cut before its last token.
 * ERR_UNUSABLE for a text without a token. */
enum err_code text_tower_prepare(const struct text_tower *tower, const char *sentence,
                                 struct arena *arena, struct engine_input *out, struct err *err);

/* rows inputs, whose tokens fit the workspace -> out [rows, P], each of length exp(logit_scale). */
void text_tower_run(const struct text_tower *tower, struct workspace *workspace,
                    const struct engine_input *inputs, unsigned rows, float *out);

/* True if the name is one of the tower's tensors, or the scale. */
bool text_tower_reads(const struct text_tower *tower, const char *name);

size_t text_tower_bytes(const struct text_tower *tower); /* of weights and tokenizer */

#endif
