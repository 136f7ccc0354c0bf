/* parameters.h - the weights of a model in training: one flat array of numbers and the list of the
 * tensors in it, named as the family's checkpoints name them.
 *
 *     parameters_open(&parameters, &spec, HEAD_CLASSIFIER, &err);
 *     parameters_init(&parameters, seed);
 *     parameters_load(&parameters, checkpoint, &loaded, &err);     missing tensors stay initialised
 *
 * A model that writes texts is two (parameters_open_pair): the encoder's, whose list and array hold
 * all tensors, and in `target` the decoder's, a view of its part of both.
 *
 * Gradients, the optimiser's moments and moving averages are arrays of the same length, so that a
 * tensor lies at the same offset in all of them.
 *
 * Threads: the list is immutable after open; the values belong to the training thread.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_PARAMETERS_H
#define ATTND_LEARN_TRAIN_NETWORK_PARAMETERS_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/format/checkpoint.h"
#include "engine/model/family_tensors.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct parameter {
    struct tensor_row row; /* name, part, shape, depth */
    size_t offset; /* of its row.count numbers in the flat array; aligned to 16 floats, except what
                      is multiplied together: key and value follow the query without padding */
    bool is_constant; /* it is loaded and written, and not learnt: final_logits_bias */
};

struct parameters_linear {
    size_t weight, bias;
};

/* Offsets of one block's tensors. SIZE_MAX: the model has none. Query, key and value are adjacent,
 * so that their weights and biases are those of one [3 A, D] product; A is spec_attended. */
struct parameters_layer {
    size_t attention_gamma, attention_beta, mlp_gamma, mlp_beta;
    size_t qkv_weight, qkv_bias, out_weight, out_bias;
    size_t mlp_in_weight, mlp_in_bias, mlp_out_weight, mlp_out_bias; /* or the gated MLP's */
    size_t attention_scale, mlp_scale;                               /* of layer scale */
    size_t own_bias;                              /* of a window, or by distance */
    size_t merge_gamma, merge_beta, merge_weight; /* after a stage's last block */
    struct parameters_linear global_query, global_key, global_value;
    struct parameters_linear cross_query, cross_key_value, cross_out; /* of a decoder */
    size_t cross_gamma, cross_beta;
};

/* Offsets of the tensors outside the blocks. SIZE_MAX: the model has none. */
struct parameters_map {
    size_t word, position, token_type, embedding_gamma, embedding_beta;
    size_t project_weight, project_bias, relative_bias;
    size_t relative_places, relative_gamma, relative_beta;
    size_t states_weight, states_bias; /* of a decoder: the projection of the states */
    size_t cls_token, distillation_token, registers, patch_weight, patch_bias;
    size_t final_gamma, final_beta, pooled_gamma, pooled_beta;
    size_t pooler_weight, pooler_bias; /* MLM: the transform's */
    size_t head_gamma, head_beta;
    size_t mlm_gamma, mlm_beta, mlm_bias;
    size_t classifier_weight, classifier_bias;
    size_t distillation_weight, distillation_bias; /* the second classifier of a distilled DeiT */
    size_t output_weight, output_bias;             /* of a decoder; the weight may be the words' */
    struct parameters_layer *layers; /* [spec_blocks]; layers may share a block (spec_block) */
};

struct parameters {
    struct spec spec;
    enum family_head head;
    struct parameter *list;
    unsigned count;
    size_t numbers; /* length of the flat array, with padding, which stays zero */
    float *values;
    struct parameters_map map;
    struct parameters *target; /* the decoder's of a pair; NULL: the model is an encoder alone */
    struct arena arena;
};

/* Takes memory for every tensor of the spec; the values are zero. Strings of the spec are borrowed.
 * ERR_UNSUPPORTED for the MLM head of a family other than BERT. The caller closes `out`, also after
 * a failure. */
enum err_code parameters_open(struct parameters *out, const struct spec *spec,
                              enum family_head head, struct err *err);
/* The same for an encoder and the decoder that reads its states. Words that both sides share are
 * one tensor. Computed positions are no tensors (network_embed.c). */
enum err_code parameters_open_pair(struct parameters *out, const struct spec *source,
                                   const struct spec *target, struct err *err);
void parameters_close(struct parameters *parameters);

/* Numbers that the model in training gives for an input: its labels, or the numbers of an
 * embedding's pooled vector; 0 for MLM and tags, which answer tokens. */
unsigned parameters_outputs(const struct spec *spec, enum family_head head);

/* Initialises as Hugging Face does: weights and embeddings normal with standard deviation 0.02 (cut
 * at two deviations), biases and betas 0, gammas 1. T5, whose scores are not divided, has
 * deviations by the widths of its layers (T5PreTrainedModel._init_weights). Words that lookups do
 * not teach are 0. The same seed gives the same numbers. */
void parameters_init(struct parameters *parameters, uint64_t seed);

/* The result of loading a checkpoint. */
struct parameters_loaded {
    unsigned found, missing; /* tensors */
    const char *first_missing;
    unsigned classifiers;   /* found with this number of labels; 2: both of a distilled DeiT */
    bool positions_resized; /* an image model of another image size: interpolated bicubically */
    bool positions_cut;     /* a text model for longer texts: only the first positions are read */
};

/* Fills the values from a checkpoint. Names are those that the family writes; a bare encoder may
 * have them without the prefix ("bert.", "vit.", ...), and norms may be named gamma and beta
 * (weights.c). Tensors of the head that are missing, or a classifier for another number of labels,
 * leave the values as they are and are reported in `loaded`. Any other tensor that is missing or
 * has another shape is ERR_UNSUPPORTED, and the error names it. Position embeddings of an image
 * model are interpolated from the checkpoint's grid. */
enum err_code parameters_load(struct parameters *parameters, const struct checkpoint *checkpoint,
                              struct parameters_loaded *loaded, struct err *err);

/* Converts an array of one model's parameters to the same model at another image size: from_values
 * [from->numbers] -> to_values [to->numbers]. Position embeddings are interpolated between the two
 * grids, all else is copied; the lists must differ in positions only. */
enum err_code parameters_resize(const struct parameters *from, const float *from_values,
                                const struct parameters *to, float *to_values, struct err *err);

#endif
