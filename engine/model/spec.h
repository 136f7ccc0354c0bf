/* spec.h - config.json (and attnd.json) -> the model to build: sizes, labels, activation, scores.
 *
 * A feature of the checkpoint that the engine lacks is refused here by name: an unknown model_type,
 * hidden_act or position type, a size outside its bounds, a width that its heads do not divide.
 * Threads: immutable after spec_read; strings and tables live in the arena.
 */
#ifndef ATTND_ENGINE_MODEL_SPEC_H
#define ATTND_ENGINE_MODEL_SPEC_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/decide/class_codes.h"
#include "engine/decide/class_prior.h"
#include "engine/decide/drift_reference.h"
#include "engine/decide/policy.h"
#include "engine/decide/spans.h"
#include "engine/decide/tag_pairs.h"
#include "engine/model/bias/relative_bias.h"
#include "engine/model/bias/window_bias.h"
#include "engine/model/config/disentangled.h"
#include "engine/model/config/precision_record.h"
#include "engine/model/config/reading.h"
#include "engine/model/config/sentence_modules.h"
#include "engine/model/config/stage_config.h"
#include "engine/model/family/family.h"
#include "engine/vision/region.h"

enum { SPEC_RINGS = 4 };

/* In a family with stages, a field that differs by stage is the last stage's, which the head reads;
 * but patch and patches are the first stage's, into which an image is cut. spec_at gives the
 * others. */
struct spec {
    const struct family *family;
    enum family_head head;             /* served: any but the masked language model */
    struct sentence_modules *sentence; /* of an embedding, else NULL; modules.json's, or
                                          config/encoder_vector.h's */
    char architecture[64]; /* config.json's first, printable and cut; "" if there is none */
    unsigned layers, heads, hidden, intermediate;
    unsigned head_width;        /* 0: hidden / heads */
    unsigned source;            /* decoder: W, numbers of the encoder's states */
    bool projects_states;       /* decoder: which become D numbers before it reads them */
    const char *root;           /* in place of the family's in names of tensors; NULL: its own */
    struct pruned_heads pruned; /* heads removed from layers, of `heads`: spec_heads */
    unsigned groups, inner; /* ALBERT: blocks that layers share, spec_block; 0: each has its own */
    enum activation activation;
    float norm_eps;
    bool qkv_bias;
    bool unbiased[TENSOR_FIELDS]; /* the field has no bias, a norm no beta: they are zero */
    bool absent[TENSOR_FIELDS];   /* the checkpoint lacks the field, though the family has it */
    bool has_own_words;           /* encoder and decoder have each a word embedding */
    bool is_gated;                /* the MLP is gated; `intermediate` is the width of its value */
    const unsigned *reaches;      /* [layers] see spec_reach; NULL: all layers see all tokens */
    bool pools_tokens;            /* POOLING_TOKENS in place of the family's pooling */
    enum activation pooler_activation; /* if the family has a key for it */
    double rotary_base[2];             /* for global layers and for local ones; 0: not rotary */

    unsigned vocab_size, positions, token_types; /* texts */
    unsigned embedding;                          /* E; 0: the hidden size */
    const char *text_checksum; /* attnd.json's, of a model that writes; NULL: none */
    unsigned pad_id;           /* if positions are counted from it, or
                                                    its word is not learnt where it is read */
    float embedding_scale;     /* embeddings are multiplied by it; 0: by 1 */
    float output_scale;        /* decoder: states before its output; 0: 1 */
    unsigned buckets;          /* rows of the table of relative positions, at
                                                    least relative.count; 0: there is none */
    struct relative_buckets relative;
    struct disentangled disentangled; /* DeBERTa's relative places */
    struct extent image_size, patch;  /* images */
    unsigned channels;
    unsigned patches; /* of an image: extent_parts of both */
    unsigned registers;
    unsigned projection; /* P, numbers that the classifier reads; 0: it reads hidden states */
    struct extent position_grid; /* the checkpoint's grid of positions, in patches; height 0: the
                                    images' grid */
    const struct stage_config *stages; /* in the arena; NULL: all layers are alike */
    unsigned stage;                    /* number of the stage, in a spec from spec_at */

    /* [label_count], in the order of id2label's integer keys; in a zero-shot model attnd.json's
     * candidate_labels, or none. */
    const char **labels;
    unsigned label_count;
    const unsigned *insides; /* tags: tag_insides of decide/spans.h; else NULL */
    struct tag_pairs pairs;  /* tags: attnd.json's transitions */
    enum spec_scores scores;
    const char *hypothesis; /* zero-shot: the sentence with "{}" for a label; else NULL */
    unsigned end_id;        /* encoders of labels: the token that ends a text */

    /* attnd.json */
    const char *version; /* "1" if absent */
    double temperature;  /* logits are divided by it; 1 if absent */
    bool grey16_minmax;
    enum aggregation aggregation; /* tags: where a request names none */
    struct long_text long_text;
    struct image_reading image_reading;
    struct token_pruning token_pruning;
    const struct class_code *class_codes; /* [label_count]; NULL: none */
    struct class_prior class_prior;
    struct policy policy;
    const struct drift_reference *reference; /* NULL: none */
    struct precision_record precisions;
    const float *vector_ranges; /* [2][the vector's width] least and largest number; NULL: none */
    const char *head_file;      /* in the directory: format/head_file.h; NULL: none */
};

enum { SPEC_LABELS_MAX = 100000 };

/* Reads DIR/config.json and, if present, DIR/attnd.json. Error texts begin with the file's name. */
enum err_code spec_read(struct spec *out, const char *dir, struct arena *arena, struct err *err);

/* Reads DIR/config.json alone, with defaults for the members of attnd.json. */
enum err_code spec_read_config(struct spec *out, const char *dir, struct arena *arena,
                               struct err *err);

/* Reads the encoder of texts beside that of images, from the same config.json: it encodes labels
 * or, of an embedding, texts. */
enum err_code spec_read_texts(struct spec *out, const struct spec *images, const char *dir,
                              struct err *err);

/* Gives a spec that holds config.json's members the defaults of attnd.json's. */
void spec_set_defaults(struct spec *spec);

/* True if the decoder's word embedding is the encoder's: only the encoder's weights have it. */
bool spec_shares_words(const struct spec *target);

/* True if the labels are texts; the same checkpoint may give vectors instead. */
bool spec_is_zero_shot(const struct spec *spec);
/* True for an embedding whose vector is the family's own: its pooler's or its projection's. */
bool spec_has_own_vector(const struct spec *spec);
/* Returns the first tokens of a sequence that an embedding's mean and maximum leave out: an image's
 * learnt tokens. */
unsigned spec_unpooled_tokens(const struct spec *spec);

/* Changes the spec for images of another size, a multiple of the patch, with positions for that
 * size. */
void spec_set_image_size(struct spec *spec, struct extent image_size);

/* Changes the image size for the same checkpoint: its number of positions stays. ERR_UNSUPPORTED
 * for a size below the patch's or with too many patches. */
enum err_code spec_fit_image_size(struct spec *spec, struct extent image_size, struct err *err);

/* Returns the eps of the norms of an image's patches and of mergings, which may differ from
 * others'.
 */
float spec_embedding_eps(const struct spec *spec);

/* Returns what divides image sizes: the patch or, in a family with stages, a window of the last
 * stage, in pixels. */
struct extent spec_image_unit(const struct spec *spec);

/* Returns the spec of stage `stage`, as if an image were cut into its patches: hidden size, heads,
 * MLP, patch and patches are the stage's; layers keep their numbers. A family without stages has
 * one, the spec itself, and spec_stages is 1. */
struct spec spec_at(const struct spec *spec, unsigned stage);
unsigned spec_stages(const struct spec *spec);
/* Layers of a spec from spec_at. */
unsigned spec_first_layer(const struct spec *spec);
unsigned spec_end_layer(const struct spec *spec);
/* Returns the stage of a layer. */
unsigned spec_stage_of(const struct spec *spec, unsigned layer);

/* The grid of an image's patches, cut into windows. Without windows one is the whole grid. */
struct spec_grid {
    struct extent image, window; /* in patches; windows and what they are cut from are squares */
    unsigned across, windows;    /* windows on a side, and all */
};

/* Returns the grid of a spec from spec_at, of images. */
struct spec_grid spec_grid(const struct spec *spec);
/* Returns the shift of layer `layer`'s windows in patches, for a spec from spec_at. */
unsigned spec_shift(const struct spec *spec, unsigned layer);
/* Tokens that attend to each other: those of a window, or of the longest input. */
size_t spec_sequence(const struct spec *spec);
/* Returns the table that layer `layer` adds to its scores, for a spec from spec_at. */
struct window_bias spec_window_bias(const struct spec *spec, unsigned layer);

/* Reads attnd.json's object into a spec that holds config.json's; absent members get defaults. For
 * a writer that checks its output. */
enum err_code spec_read_attnd(struct spec *spec, const struct json_t *object, struct arena *arena,
                              struct err *err);

/* True if the views of an image are moved a little, not turned by quarters: it is read. */
static inline bool spec_reads_upright(const struct spec *spec)
{
    return spec->head == HEAD_STATES;
}

/* Checks that the family supports the spec's image_reading. ERR_UNSUPPORTED. */
enum err_code spec_check_image_reading(const struct spec *spec, struct err *err);

/* Replaces attnd.json's token_pruning; drops an OOD score of means over other layers.
 * ERR_UNSUPPORTED, which names the family, if it needs all tokens in all layers. */
enum err_code spec_choose_token_pruning(struct spec *spec, const char *choice, struct err *err);

/* Layers may share blocks, whose tensors are held once: the number of blocks, and the block of
 * layer `layer` (Lan et al. 2020, section 3.1; layers are divided among groups as in
 * AlbertTransformer). */
unsigned spec_blocks(const struct spec *spec);
unsigned spec_block(const struct spec *spec, unsigned layer);

/* Replaces attnd.json's class_prior: class_prior_choose. ERR_UNSUPPORTED also for scores that are
 * no softmax over fixed labels, unless the prior is natural. */
enum err_code spec_choose_prior(struct spec *spec, const char *choice, struct arena *arena,
                                struct err *err);

/* Numbers of a head; and of all heads side by side, before any were pruned: mostly the hidden
 * size. */
unsigned spec_head_width(const struct spec *spec);
unsigned spec_heads_width(const struct spec *spec);
/* Heads of layer `layer`, for a spec from spec_at, and the width of all their outputs side by side:
 * less than spec_heads_width if heads were pruned. */
unsigned spec_heads(const struct spec *spec, unsigned layer);
unsigned spec_attended(const struct spec *spec, unsigned layer);

/* Returns the reach of layer `layer`: its queries see the keys at most so many tokens away
 * (reach.h). 0: all tokens. */
unsigned spec_reach(const struct spec *spec, unsigned layer);
/* Returns true if a text's first token is global: it sees all others, and all see it
 * (global_token.h). In transformers only a classifier of whole texts asks for it. */
bool spec_has_global(const struct spec *spec);

/* Returns E, the numbers of a token's embedding; and true if they are projected to the hidden size.
 */
unsigned spec_embedding(const struct spec *spec);
bool spec_projects(const struct spec *spec);

/* Numbers of the states that a decoder's attention reads: W, or D if they are projected. */
unsigned spec_states(const struct spec *spec);

/* Tokens of the longest text for which there are positions; and of the longest that is read. */
unsigned spec_text_tokens(const struct spec *spec);
unsigned spec_tokens_max(const struct spec *spec);

/* Tokens of a prepared image: its patches and the learnt tokens in front. */
unsigned spec_image_tokens(const struct spec *spec);
/* Number of those learnt tokens: the family's and the registers. */
unsigned spec_image_specials(const struct spec *spec);
/* Rows of an image model's table of positions: specials that have one, and the grid. */
unsigned spec_places(const struct spec *spec);

/* Return the family's value or, if the family has a key for it, config.json's. */
enum activation spec_gate(const struct spec *spec);
enum activation spec_pooler_activation(const struct spec *spec);
enum family_pooling spec_pooling(const struct spec *spec);

/* Tokens of each sequence that the head reads: the first, [CLS], and a distilled DeiT's second, or
 * the last. */
unsigned spec_head_tokens(const struct spec *spec);
/* Returns true if the head reads all tokens instead, for their mean. */
bool spec_head_reads_all(const struct spec *spec);
/* Tokens that the head reads of a sequence of `tokens` tokens. */
unsigned spec_kept_tokens(const struct spec *spec, unsigned tokens);
/* Tokens of a sequence that stay behind the first layers (struct token_pruning); all, without
 * pruning. */
unsigned spec_pruned_tokens(const struct spec *spec, unsigned tokens);
/* Tokens in the pooled mean, the last ones of a sequence. */
unsigned spec_pooled_tokens(const struct spec *spec, unsigned tokens);
/* Numbers of a row of a head that answers each token (head.h); 0: it answers the input. */
unsigned spec_row_size(const struct spec *spec);
/* Numbers that the classifier reads: the hidden size, twice that if it reads two vectors, or the
 * size of a projection. */
unsigned spec_features(const struct spec *spec);
/* Number of parts of an input that have a mean of tokens (token_mean.h); width of all means
 * together. */
unsigned spec_mean_parts(const struct spec *spec);
unsigned spec_means(const struct spec *spec);
/* Numbers of an input behind the encoder: features, and the means of its tokens. */
unsigned spec_row(const struct spec *spec);

#endif
