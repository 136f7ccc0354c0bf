/* generation_config.h - how a model writes text: the checkpoint's generation_config.json or, if it
 * has none, the generation members of its config.json, as generate() of transformers 4.57 reads
 * them; and what a request asks on top.
 *
 *     generation_config_read(&config, dir, &model, &arena, &err)            at load
 *     generation_config_ask(&config, &request, &model, &err)                a request's copy
 *
 * Members that would change the answer and are not implemented are refused by name, unless their
 * value changes nothing: sampling, groups and constraints of beams, penalties of repetition and
 * others (`refused` in generation_config.c). temperature, top_k and top_p count for sampling alone;
 * pad_token_id fills short hypotheses of a batch, and here each has its own length; other members
 * are not read.
 *
 * transformers makes up a length of 20 new tokens where nothing is said; here it is
 * GENERATION_NEW_DEFAULT. Threads: plain data, pure functions.
 */
#ifndef ATTND_ENGINE_GENERATE_GENERATION_CONFIG_H
#define ATTND_ENGINE_GENERATE_GENERATION_CONFIG_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_t;

enum {
    GENERATION_BEAMS_MAX = 8,
    GENERATION_ENDS_MAX = 8,       /* end tokens, repeated ones too */
    GENERATION_NEW_MAX = 4096,     /* new tokens */
    GENERATION_NEW_DEFAULT = 64,   /* where neither checkpoint nor request says */
    GENERATION_BANNED_MAX = 65536, /* tokens of bad_words_ids, and of suppress_tokens */
    GENERATION_NGRAM_MAX = 1024,
    GENERATION_PENALTY_MAX = 10, /* of length_penalty; at least minus 2 */
};

static const uint32_t generation_no_token = UINT32_MAX;

enum early_stopping { STOPPING_ESTIMATED, STOPPING_EARLY, STOPPING_NEVER };

/* Token ids, borrowed. */
struct token_ids {
    const uint32_t *at;
    unsigned count;
};

struct generation_config {
    uint32_t start;                    /* decoder_start_token_id, else bos_token_id */
    uint32_t first;                    /* forced_bos_token_id, or generation_no_token */
    struct token_ids ends;             /* eos_token_id */
    struct token_ids last;             /* forced_eos_token_id: one of these ends the longest */
    struct token_ids suppressed;       /* suppress_tokens */
    struct token_ids suppressed_first; /* begin_suppress_tokens */
    const struct token_ids *bad_words; /* bad_words_ids [bad_word_count], none empty */
    unsigned bad_word_count;
    unsigned new_min, new_max; /* new tokens: all but the start, the end included */
    unsigned no_repeat;        /* no_repeat_ngram_size; 0: none */
    unsigned beams, sequences; /* num_beams; num_return_sequences <= beams */
    double length_penalty;
    enum early_stopping early_stopping; /* false, true, "never" */
    bool renormalizes;                  /* renormalize_logits */
};

/* Sizes of the checkpoint's decoder. */
struct generation_model {
    unsigned vocabulary; /* logits of a row */
    unsigned positions;  /* tokens that a decoder's input may have, the start included; 0: any */
};

/* A request's options; generation_request_empty for what it does not say. */
struct generation_request {
    long long max_new_tokens, min_new_tokens, num_beams, num_return_sequences,
        no_repeat_ngram_size; /* LLONG_MIN: not said */
    double length_penalty;    /* NaN: not said */
    uint32_t first;           /* the target language's token, or generation_no_token */
};
extern const struct generation_request generation_request_empty;

/* Reads the checkpoint's files; lists are in the arena. ERR_UNSUPPORTED names file, member and
 * limit, also where members leave each text without a token somewhere. ERR_IO, ERR_MALFORMED and
 * ERR_NO_MEMORY. */
enum err_code generation_config_read(struct generation_config *out, const char *dir,
                                     const struct generation_model *model, struct arena *arena,
                                     struct err *err);

/* The same for an object with the members of generation_config.json. */
enum err_code generation_config_parse(struct generation_config *out, const struct json_t *object,
                                      const struct generation_model *model, struct arena *arena,
                                      struct err *err);

/* Changes the checkpoint's options to the request's. ERR_UNUSABLE names the option and its limit,
 * or the checkpoint's members that leave no text with it. ERR_NO_MEMORY. */
enum err_code generation_config_ask(struct generation_config *config,
                                    const struct generation_request *request,
                                    const struct generation_model *model, struct err *err);

/* Most new tokens that a request may ask for. */
static inline unsigned generation_new_max(const struct generation_model *model)
{
    return model->positions > 0 && model->positions < GENERATION_NEW_MAX ? model->positions
                                                                         : GENERATION_NEW_MAX;
}

/* Candidates of a step: as many for each beam as it has end tokens, and one more. */
static inline unsigned generation_candidates(const struct generation_config *config)
{
    return (config->ends.count > 1 ? config->ends.count + 1 : 2) * config->beams;
}

#endif
