/* head.h - last hidden states -> logits, and logits -> scores.
 *
 *     logits = W_c act(W_p pooling(norm(x))) + b_c
 *
 * A family may lack the final norm (most families of texts) or the pooler (ViT, DeiT). The pooling
 * is the [CLS] row, the mean of the patches' rows, both side by side (Oquab et al. 2023), or the
 * mean of all rows (Warner et al. 2024). A further norm may follow it (BEiT) or the pooler
 * (ModernBERT). A zero-shot model has
 *
 *     logits = W_c z / |z|,   z = W_p norm(x)[CLS]       (Radford et al. 2021, figure 3)
 *
 * where W_c are its encoded labels (engine/engine_labels.c). A distilled DeiT has a second
 * classifier on the second token; its logits are the mean of both (Touvron et al. 2021, section 4).
 *
 * A head of tokens answers with rows of numbers, spec_row_size each, and pools nothing:
 *
 * A row for each token, for each masked token (W_c the word embedding), or one for the text
 * (Formal et al. 2021, equation 1, and its maximum in place of the sum):
 *
 *     weight[v] = max or sum over t of log(1 + max(0, row[t][v]))
 *
 *     row[t] = W_c norm(x[t]) + b_c,    or, of ModernBERT, W_c norm(act(W_p norm(x[t]))) + b_c
 */
#ifndef ATTND_ENGINE_MODEL_HEAD_H
#define ATTND_ENGINE_MODEL_HEAD_H

#include "engine/model/spec.h"
#include "engine/model/weights.h"
#include "engine/model/workspace.h"

/* Reads workspace->x; pools the features of every sequence of the batch into its input's row of
 * workspace->read (spec->long_text), and writes the logits of windows that have a capture. The
 * windows of an input come in order, in one batch or several. A head of tokens writes the rows of
 * each sequence into its input's workspace->answers, from the row of its place on; one sequence at
 * a time, so that they do not depend on the rest of the batch. The head of an encoder that a
 * decoder reads (HEAD_STATES) writes norm(x) of a sequence's tokens there: [tokens, D]. */
void head_read(const struct spec *spec, const struct weights *weights, struct workspace *workspace);

/* read [spec_row]: its first numbers = the mean or the maximum of the windows so far and one more,
 * features [spec_features]. For an image's views it is the mean, which is the mean of their logits,
 * because the classifier is linear. */
void head_pool(const struct spec *spec, const struct window_place *place, float *read,
               const float *features);
/* workspace->read -> workspace->answers[i][0 .. label_count) of the first `inputs` inputs; none
 * where that is NULL. */
void head_logits(const struct spec *spec, const struct weights *weights,
                 struct workspace *workspace, unsigned inputs);

/* Returns the classifier's input for an input of the last head_logits, and behind it the mean of
 * the input's tokens (token_mean.h; zeros unless the workspace takes them): [spec_row], the
 * workspace's. For a distilled DeiT these are the class token's features. */
const float *head_features(const struct spec *spec, const struct workspace *workspace,
                           unsigned input);

/* Computes scores with the shifts of the class prior. scores may be logits. */
void head_scores(const struct spec *spec, const struct kernels *kernels, const float *logits,
                 float *scores);

/* The same without the shifts: the scores of the fitted checkpoint. */
void head_scores_as_fitted(const struct spec *spec, const struct kernels *kernels,
                           const float *logits, float *scores);

#endif
