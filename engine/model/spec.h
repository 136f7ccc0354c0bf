/* spec.h - config.json (and attnd.json) -> what to build: sizes, labels, activation, scores.
 *
 * What the checkpoint asks for and the engine lacks is refused here by name: an unknown model_type,
 * hidden_act or position type, a size outside its bounds, a width that its heads do not divide.
 * Threads: immutable after spec_read; strings live in the arena.
 */
#ifndef ATTND_ENGINE_MODEL_SPEC_H
#define ATTND_ENGINE_MODEL_SPEC_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/decide/class_codes.h"
#include "engine/decide/class_prior.h"
#include "engine/decide/drift_reference.h"
#include "engine/decide/policy.h"
#include "engine/model/bias/window_bias.h"
#include "engine/model/config/disentangled.h"
#include "engine/model/config/image_reading.h"
#include "engine/model/config/long_text.h"
#include "engine/model/config/precision_record.h"
#include "engine/model/config/pruned_heads.h"
#include "engine/model/config/token_pruning.h"
#include "engine/model/family/family.h"

enum { SPEC_STAGES_MAX = 8, SPEC_RINGS = 4 };

/* Layers of one width over one grid of patches: those of a stage are half as many across as those
 * of the stage before it, and twice as wide (Liu et al. 2021, section 3.1). */
struct spec_stage {
    unsigned first, end; /* its layers: first <= l < end */
    unsigned hidden, heads, intermediate;
};

/* Of a family with stages, what differs by stage is the last one's, but for patch and patches,
 * which are the first one's: what the head reads, and what an image is cut into. spec_at has the
 * others. */
struct spec {
    const struct family *family;
    char architecture[64]; /* config.json's first, printable and cut; "" if there is none */
    unsigned layers, heads, hidden, intermediate;
    struct pruned_heads pruned; /* heads that layers lack, of `heads`: spec_heads */
    unsigned groups, inner; /* ALBERT: blocks that layers share, spec_block; 0: each has its own */
    enum activation activation;
    float norm_eps;
    bool qkv_bias;
    bool unbiased[TENSOR_FIELDS]; /* the field has no bias, a norm no beta: they count as zero */
    bool is_gated;                /* the MLP: `intermediate` is the width of its value */
    const unsigned *reaches;      /* [layers] see spec_reach; NULL: all layers see all tokens */
    bool pools_tokens;            /* POOLING_TOKENS in place of the family's pooling */
    enum activation pooler_activation; /* of a family that has a key for it */
    double rotary_base[2];             /* of global layers and of local ones; 0: not rotary */

    unsigned vocab_size, positions, token_types; /* texts */
    unsigned embedding;                          /* E; 0: the hidden size */
    unsigned pad_id;                             /* where positions are counted from it */
    unsigned buckets;                            /* of relative positions; 0: none */
    struct disentangled disentangled;            /* DeBERTa's relative places */
    unsigned image_size, patch, channels;        /* images */
    unsigned patches;                            /* (image_size / patch)^2 */
    unsigned registers;
    unsigned projection; /* P, numbers of what the classifier reads; 0: the hidden states */
    struct spec_stage stages[SPEC_STAGES_MAX];
    unsigned stage_count;   /* 0: all layers are alike */
    unsigned stage;         /* of spec_at: which one this is */
    unsigned window;        /* patches on a side of what attention sees; 0: the whole grid */
    unsigned position_grid; /* patches on a side that the checkpoint has positions of; 0: as many as
                               images have */

    /* [label_count], in the order of id2label's integer keys; of a zero-shot model attnd.json's
     * candidate_labels, or none. */
    const char **labels;
    unsigned label_count;
    enum spec_scores scores;
    const char *hypothesis; /* zero-shot: what a label is put into, at its "{}"; else NULL */
    unsigned end_id;        /* encoders of labels: the token that ends a text */

    /* attnd.json */
    const char *version; /* "1" if absent */
    double temperature;  /* logits are divided by it; 1 if absent */
    bool grey16_minmax;
    struct long_text long_text;
    struct image_reading image_reading;
    struct token_pruning token_pruning;
    const struct class_code *class_codes; /* [label_count]; NULL: none */
    struct class_prior class_prior;
    struct policy policy;
    const struct drift_reference *reference; /* NULL: none */
    struct precision_record precisions;
    const char *head_file; /* of the directory: format/head_file.h; NULL: none */
};

enum { SPEC_LABELS_MAX = 100000 };

/* Reads DIR/config.json and, if present, DIR/attnd.json. Error texts begin with the file's name. */
enum err_code spec_read(struct spec *out, const char *dir, struct arena *arena, struct err *err);

/* DIR/config.json alone, with the defaults for the members of attnd.json. */
enum err_code spec_read_config(struct spec *out, const char *dir, struct arena *arena,
                               struct err *err);

/* The encoder of the labels of a zero-shot model, of the same config.json. */
enum err_code spec_read_labels(struct spec *out, const char *dir, struct err *err);

/* The same model for square images of another size, a multiple of the patch, with positions of its
 * own. */
void spec_set_image_size(struct spec *spec, unsigned image_size);

/* Images of another size for the same checkpoint, whose positions keep their number.
 * ERR_UNSUPPORTED for a size below the patch's or of too many patches. */
enum err_code spec_fit_image_size(struct spec *spec, unsigned image_size, struct err *err);

/* Of the norm of an image's patches and those of mergings, which may have an eps of their own. */
float spec_embedding_eps(const struct spec *spec);

/* Image sizes are multiples of this: the patch or, of a family with stages, as many as make a
 * window of the last one's. */
unsigned spec_image_unit(const struct spec *spec);

/* Stage `stage` by itself, as if an image were cut into its patches: hidden size, heads, MLP, patch
 * and patches are its own; layers keep their numbers. A family without stages has one, the spec
 * itself, and spec_stages is 1. */
struct spec spec_at(const struct spec *spec, unsigned stage);
unsigned spec_stages(const struct spec *spec);
/* Of what spec_at gave: its layers. */
unsigned spec_first_layer(const struct spec *spec);
unsigned spec_end_layer(const struct spec *spec);
/* The stage that a layer is in. */
unsigned spec_stage_of(const struct spec *spec, unsigned layer);

/* Of what spec_at gave: patches on a side of an image; those on a side of a window; windows on a
 * side, and all of them; and by how many patches layer `layer` shifts its windows. */
unsigned spec_grid(const struct spec *spec);
unsigned spec_window(const struct spec *spec);
unsigned spec_windows_across(const struct spec *spec);
unsigned spec_windows(const struct spec *spec);
unsigned spec_shift(const struct spec *spec, unsigned layer);
/* Tokens that attend to each other: of a window, or of the longest input. */
size_t spec_sequence(const struct spec *spec);
/* The table that layer `layer` adds to its scores, of what spec_at gave. */
struct window_bias spec_window_bias(const struct spec *spec, unsigned layer);

/* The second half: attnd.json's object over a spec that holds config.json's, with its defaults for
 * the rest. For a writer that checks what it wrote. */
enum err_code spec_read_attnd(struct spec *spec, const struct json_t *object, struct arena *arena,
                              struct err *err);

/* Whether the family's inputs can be read as image_reading says. ERR_UNSUPPORTED. */
enum err_code spec_check_image_reading(const struct spec *spec, struct err *err);

/* Another token_pruning than attnd.json's, without an OOD score of means over other layers.
 * ERR_UNSUPPORTED, which names the family, if it needs all tokens in all layers. */
enum err_code spec_choose_token_pruning(struct spec *spec, const char *choice, struct err *err);

/* Tensors of a block are held once: how many blocks there are, and which of them layer `layer` is
 * (Lan et al. 2020, section 3.1; as AlbertTransformer divides layers among groups). */
unsigned spec_blocks(const struct spec *spec);
unsigned spec_block(const struct spec *spec, unsigned layer);

/* Another class_prior than attnd.json's: class_prior_choose. ERR_UNSUPPORTED also for scores that
 * are no softmax over fixed labels, unless it is natural. */
enum err_code spec_choose_prior(struct spec *spec, const char *choice, struct arena *arena,
                                struct err *err);

/* Heads that layer `layer` has, of what spec_at gave, and the numbers of all their outputs side by
 * side: the hidden size, or less where heads were pruned. A head is hidden / heads wide. */
unsigned spec_heads(const struct spec *spec, unsigned layer);
unsigned spec_attended(const struct spec *spec, unsigned layer);

/* How far the queries of layer `layer` see: the keys at most so many tokens away (reach.h). 0: all
 * tokens. */
unsigned spec_reach(const struct spec *spec, unsigned layer);
/* Whether a text's first token sees all others, and all see it: global_token.h. */
bool spec_has_global(const struct spec *spec);

/* E, the numbers of a token's embedding, and whether they are projected to the hidden size. */
unsigned spec_embedding(const struct spec *spec);
bool spec_projects(const struct spec *spec);

/* Tokens of the longest text that there are positions for. */
unsigned spec_text_tokens(const struct spec *spec);

/* Tokens of a prepared image: its patches and the learnt tokens in front. */
unsigned spec_image_tokens(const struct spec *spec);
/* Those learnt tokens: the family's and the registers. */
unsigned spec_image_specials(const struct spec *spec);
/* Rows of an image model's table of positions: specials that have one, and the grid. */
unsigned spec_places(const struct spec *spec);

/* What the family says or, where it leaves it to config.json, that. */
enum activation spec_gate(const struct spec *spec);
enum activation spec_pooler_activation(const struct spec *spec);
enum family_pooling spec_pooling(const struct spec *spec);

/* Tokens of each sequence that the head reads: the first, [CLS], and a distilled DeiT's second, or
 * the last. */
unsigned spec_head_tokens(const struct spec *spec);
/* Whether the head reads all tokens instead, for a mean of them. */
bool spec_head_reads_all(const struct spec *spec);
/* How many the head reads of a sequence of so many. */
unsigned spec_kept_tokens(const struct spec *spec, unsigned tokens);
/* How many of a sequence's tokens go on behind the first layers (token_pruning.h); all of them, if
 * none are left out. */
unsigned spec_pruned_tokens(const struct spec *spec, unsigned tokens);
/* How many of them, the last ones, a mean is of. */
unsigned spec_pooled_tokens(const struct spec *spec, unsigned tokens);
/* Numbers that the classifier reads: the hidden size or, for two of a kind, twice that, or those of
 * a projection. */
unsigned spec_features(const struct spec *spec);
/* Of how many parts of an input there is a mean of tokens (token_mean.h); the width of all of them
 * together. */
unsigned spec_mean_parts(const struct spec *spec);
unsigned spec_means(const struct spec *spec);
/* All that is known of an input behind the encoder: features, and the means of its tokens. */
unsigned spec_row(const struct spec *spec);

#endif
