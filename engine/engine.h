/* engine.h - the engine's public interface: open a checkpoint, prepare inputs, run packed batches.
 *
 *     struct engine_model *model;
 *     struct engine_session *session;
 *     engine_open(&model, "models/kernel-bert", &(struct engine_options){0}, &err);
 *     engine_session_open(&session, model, tokens_max, threads, &err);
 *     struct engine_source source = {.kind = ENGINE_TEXT, .bytes = text, .len = len};
 *     engine_prepare(model, &source, NULL, &arena, &input, &err);
 *     struct engine_result result = {.logits = logits, .scores = scores};
 *     engine_run(session, (const struct engine_input *[]){&input}, 1,
 *                (struct engine_result *[]){&result});
 *     ... result.is_finite, engine_describe(model)->labels[result.label], result.number,
 *         result.judgement.decision ...
 *
 * The engine knows nothing of HTTP, queues or configuration, and it never logs.
 */
#ifndef ATTND_ENGINE_ENGINE_H
#define ATTND_ENGINE_ENGINE_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/decide/decision.h"
#include "engine/decide/spans.h"
#include "engine/explain/explanation.h"
#include "engine/generate/generation_config.h"
#include "engine/model/input.h"
#include "engine/vision/region.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct engine_model;    /* immutable after open: any number of threads */
struct engine_session;  /* one worker's workspace for one model: one thread at a time */
struct thread_pool;     /* base/thread_pool.h */
struct interrupt;       /* base/interrupt.h */
struct extraction;      /* decide/extraction.h */
struct image;           /* vision/pixels.h */
struct drift_reference; /* decide/drift_reference.h */
struct class_prior;     /* decide/class_prior.h */
struct class_code;      /* decide/class_codes.h */

struct engine_options {
    const char *linear_backend; /* "auto" (also NULL), "native", "openblas" or "reference" */
    const char *dtype;          /* of the encoder: "f32" (also NULL), "bf16", "int8" or "auto";
                                   bf16 is measured and refused where it is not faster:
                                   tensor/linear/precision_speed.h; auto: dtype_choice.h */
    const char *class_prior;    /* "natural", "equal" or a file of {label: count}, in place of
                                   attnd.json's; NULL: that */
    const char *token_pruning;  /* "none" or "LAYERS:SHARE" (model/config/reading.h), in place
                                   of attnd.json's; NULL: that */
    bool takes_uncalibrated;    /* answers of a model without thresholds are automatic, where its
                                   attnd.json says nothing of it: decide/policy.h */
    bool writes_texts;          /* the caller answers models of ENGINE_GENERATE; else they are
                                   refused by name, with */
    const char *instead;        /* this advice; NULL: the programs that answer */
    unsigned load_threads;      /* that read the weights; 0: as many as the cgroup quota allows */
    const struct engine_model *copy_of; /* one that is open, of the same directory and options: its
                                           dtype is taken, and not measured again; NULL: none */
};

/* The kind of answer that a model gives: a label, a number (or several), a vector, labels of parts
 * of the text, the part that answers a question, words for its masked tokens, a weight for each
 * entry of the vocabulary, or a text that it writes. */
enum engine_task {
    ENGINE_CLASSIFY,
    ENGINE_REGRESS,
    ENGINE_EMBED,
    ENGINE_TAG,
    ENGINE_ANSWER,
    ENGINE_FILL,
    ENGINE_SPARSE,
    ENGINE_GENERATE
};

/* Masked tokens of a text that are filled in, and texts that are asked for in their place. */
enum { ENGINE_MASKS_MAX = 16, ENGINE_TARGETS_MAX = 100 };

/* The decoder of a model of ENGINE_GENERATE. Strings and arrays are the model's. */
struct engine_writes {
    const char *family;
    unsigned layers, heads, hidden_size, intermediate_size, vocab_size;
    unsigned new_tokens_max;                /* that a request may ask for */
    const struct generation_config *config; /* what counts where a request says nothing */
    size_t cache_token_bytes; /* keys and values: of a token of the input, and of one of a
                                 hypothesis */
    /* Codes for a request's source_language and target_language; counts 0: it takes none. */
    const char *const *source_languages, *const *target_languages;
    unsigned source_language_count, target_language_count;
};

/* Describes a checkpoint. Strings and arrays are the model's. */
struct engine_info {
    enum engine_kind kind;
    enum engine_task task;
    bool reads_both;    /* an embedding of images and of texts, in one space; kind is the images' */
    const char *family; /* "bert", "roberta", "vit", "deit-distilled", ...: model/family/family.c */
    const char *version; /* attnd.json's, else "1" */
    const char *dtype;
    const char *dtype_asked;   /* "auto", or dtype */
    const char *dtype_reason;  /* why auto took it, for a person; NULL: it was asked for */
    const char *stored_dtype;  /* of most numbers of the weight files: "F32", "F16", "BF16" */
    const char *preprocessing; /* what is done to an input, for a person */
    const char *linear_backend;
    const char *kernels; /* variant of the instruction set in use: "avx512", "avx2", ... */
    const char *scores;  /* "softmax", "sigmoid" or "none" (regression) */
    double temperature;  /* attnd.json's: logits are divided by it; else 1 */
    const char *const *labels;
    const struct class_code *class_codes;  /* [label_count] attnd.json's; NULL: none */
    const struct class_prior *class_prior; /* how often labels are expected; NULL: natural */
    unsigned label_count;
    bool is_zero_shot; /* labels are texts, which engine_open_labelled exchanges; may have none */
    bool needs_labels; /* of these it has none */
    bool has_given_labels;  /* this is what engine_open_labelled made */
    const char *hypothesis; /* zero-shot: what a label is put into, at its "{}"; else NULL */
    unsigned layers, heads, hidden_size, intermediate_size;
    const struct engine_writes *writes; /* NULL: the task is another */
    const char *const *prompts;         /* [prompt_count] of an embedding: their names */
    unsigned prompt_count;
    unsigned vector_size; /* numbers of an embedding; 0: the task is another */
    /* [vector_size] of an embedding: attnd.json's range of each number, for vectors in integers;
     * NULL: it has none */
    const float *vector_least, *vector_largest;
    bool normalizes;     /* embedding: its modules scale it to length 1 */
    const char *pooling; /* embedding: sentence-transformers' names of what pools its tokens, joined
                            by "+": "mean"; "pooler": the family's own; else NULL */
    const char *similarity; /* embedding: "cosine", "dot", "euclidean" or "manhattan"; else NULL */
    unsigned row_size;      /* numbers of a row of a result's rows: tags [label_count], fill and
                          sparse [vocab_size]; 0: has no rows */
    /* [vocab_size] of fill and sparse: a token's text, UTF-8; NULL: no token has the id */
    const char *const *token_texts;
    unsigned token_bytes_max;  /* of the longest of them */
    unsigned string_bytes_max; /* texts: of the longest engine_token, as JSON writes it */
    const char *mask_token;    /* of fill: what a text has for a masked token; NULL: nothing */
    unsigned feature_size;     /* of a result's features */
    unsigned classifier_size;  /* what the classifier reads of it, its first numbers: the hidden
                                 size, twice that, or a projection's; the rest is a mean */
    unsigned tokens_max;       /* longest sequence of any kind, special tokens included */
    unsigned vocab_size;       /* texts; 0: it reads none */
    unsigned image_height, image_width; /* images; 0 for texts */
    struct extent patch_size;           /* images; 0 x 0 for texts */
    unsigned views;                     /* images: that an answer is the mean over; 0 for texts */
    unsigned full_layers;       /* behind these not all tokens go on: token_pruning; 0: all do */
    double token_share;         /* how many of them do */
    bool reads_pairs;           /* of texts: a second one with the first */
    bool reads_windows;         /* of a text that is longer, all in windows; else its beginning */
    unsigned window_stride;     /* texts: tokens from one window to the next */
    const char *window_pooling; /* texts: "mean" or "max" */
    unsigned ngram_rows;        /* texts: of its table of n-grams (ngrams/ngram_table.h); 0: none */
    bool grey16_minmax;         /* 16-bit grey images are stretched to their own range */
    size_t parameters;          /* weights in use, of Dense too, counted as numbers */
    size_t weight_bytes;        /* as held in memory */
    size_t head_bytes;          /* so of the head's file (examples, n-grams) */
    const char *const *unbound; /* tensors of the checkpoint that the model does not use */
    unsigned unbound_count;
    const char *const *weight_files; /* paths, in the order in which digest hashes them */
    unsigned weight_file_count;
    bool is_calibrated;         /* it has thresholds, or is a regression, which needs none */
    bool accepts_truncated;     /* attnd.json: a text that is cut is no reason for a review */
    bool reviews_all;           /* all answers go to review, since it is not */
    double target_precision;    /* attnd.json's: what its thresholds were chosen for; 0: unknown */
    const float *thresholds;    /* [label_count] attnd.json's, NaN: never automatic; NULL: none */
    const char *ood_method;     /* as in attnd.json; NULL: no ood_score */
    const float *ood_threshold; /* above it an input is unknown; NULL: none is */
    const float *ood_label_thresholds; /* [label_count] in place of it, for an answer that gives the
                                          label; NaN: it; NULL: of all */
    const struct drift_reference *reference; /* attnd.json's; NULL: none */
    enum explain_method explain_default;
};

/* True if the model takes inputs of the kind. */
static inline bool engine_reads(const struct engine_info *info, enum engine_kind kind)
{
    return info->kind == kind || info->reads_both;
}

/* Opens a Hugging Face checkpoint directory. A feature that the engine lacks, a missing tensor or
 * one of the wrong shape is ERR_UNSUPPORTED, which names it. Yours to close. */
enum err_code engine_open(struct engine_model **out, const char *dir,
                          const struct engine_options *options, struct err *err);
void engine_close(struct engine_model *model);
const struct engine_info *engine_describe(const struct engine_model *model);

/* The errors of engine_open with the same arguments, but those of the weights' numbers: every file
 * is opened, and of the weights the headers alone. */
enum err_code engine_check(const char *dir, const struct engine_options *options, struct err *err);

/* Memory that a checkpoint will take: upper bounds from its headers, without loading it. */
struct engine_cost {
    size_t model_bytes;    /* weights and tokenizer, once */
    size_t session_bytes;  /* of one session for batches of batch_tokens_max */
    size_t labeller_bytes; /* zero-shot: of engine_labeller_open with one thread; else 0 */
    unsigned label_count;
};
/* Takes the arguments of engine_open and engine_session_open, and returns those of their errors
 * that follow from the headers. */
enum err_code engine_measure(struct engine_cost *out, const char *dir,
                             const struct engine_options *options, unsigned batch_tokens_max,
                             unsigned threads, struct err *err);

/* "sha256:<hex>" over the weight files; reads them whole, so call it off the request path. It gives
 * up with ERR_NOT_READY when another thread sets *stop (NULL: never). */
enum err_code engine_digest(const struct engine_model *model, const atomic_bool *stop, char out[72],
                            struct err *err);

/* ---- labels of a zero-shot model ----
 *
 *     engine_check_labels(&labels, &err);
 *     engine_open_labelled(&labelled, model, &labels, &err);
 *     do
 *         engine_encode_labels(labeller, labelled, &left, &err);
 *     while (err.code == ERR_OK && left > 0);
 *     engine_prepare(labelled, ...); engine_run(session of model, ...);
 *     engine_close(labelled);
 */
struct engine_labels {
    const char *const *texts; /* [count] */
    unsigned count;
    const char *hypothesis; /* with one "{}", where the label goes; NULL: the model's */
};

enum { ENGINE_LABELS_MAX = 1000, ENGINE_LABELS_BYTES_MAX = 1024 * 1024 };

/* ERR_UNUSABLE says what is wrong with which: model/config/candidates.h. ERR_NO_MEMORY. */
enum err_code engine_check_labels(const struct engine_labels *labels, struct err *err);

/* The model with other labels in place of its own: inputs prepared by it are answered in them, by
 * any session of `model`, which must outlive it; explain them by it. Thresholds,
 * OOD scores and class codes are of fixed labels, and it has none. Labels are copied. Immutable
 * once its labels are encoded; yours to engine_close. ERR_UNUSABLE for a model that is not
 * zero-shot, and as engine_check_labels; ERR_NO_MEMORY. */
enum err_code engine_open_labelled(struct engine_model **out, const struct engine_model *model,
                                   const struct engine_labels *labels, struct err *err);
/* Upper bound of what it takes. */
size_t engine_labelled_bytes(const struct engine_model *model, const struct engine_labels *labels);

/* Encodes labels of one zero-shot model, with so many threads. One thread at a time. Yours to
 * close, before the model. */
struct engine_labeller;
enum err_code engine_labeller_open(struct engine_labeller **out, const struct engine_model *model,
                                   unsigned threads, struct err *err);
void engine_labeller_close(struct engine_labeller *labeller); /* NULL is allowed */

/* Encodes the next few labels, some hundred tokens at a time; *left says how many are still to be.
 * ERR_UNUSABLE for a label without a token; ERR_NO_MEMORY. */
enum err_code engine_encode_labels(struct engine_labeller *labeller, struct engine_model *labelled,
                                   unsigned *left, struct err *err);

/* Options of a client for long texts, and their bounds. All zeros: the model's own way. */
enum engine_long_text { LONG_TEXT_OWN, LONG_TEXT_TRUNCATE, LONG_TEXT_WINDOWS };
/* Vectors of an embedding of texts, beside the text's own: */
enum engine_vectors {
    VECTORS_ONE,    /* none */
    VECTORS_TOKENS, /* the last states of all tokens, special ones included */
    VECTORS_LINES,  /* one of each line, of its tokens' states alone: prepare/lines.c */
};
struct engine_reading {
    enum engine_long_text long_text; /* of a text that is longer than tokens_max */
    unsigned text_tokens_max;        /* of a text in windows; 0: ENGINE_TEXT_TOKENS_MAX */
    enum aggregation aggregation;    /* tags: how they become spans; other models take none */
    bool keeps_outside;              /* tags: spans with the label "O", too */
    enum engine_vectors vectors;     /* embeddings; other models have none */
};
enum { ENGINE_TEXT_TOKENS_MAX = 65536 };

/* The question to a model that answers from a text, and how it is asked. Zeros: the defaults of
 * transformers' pipeline. Other models take none. */
struct engine_question {
    const char *text; /* [len] NULL: there is none */
    size_t len;
    unsigned top;        /* answers (top_k); 0: 1 */
    unsigned length_max; /* tokens of an answer (max_answer_len); 0: 15 */
    unsigned tokens_max; /* of a window (max_seq_len); 0: tokens_max of the model, at most 384 */
    unsigned overlap;    /* 1 + tokens that windows share (doc_stride); 0: prepare/question.h */
    unsigned asked_max;  /* tokens of the question (max_question_len); 0: half of a window */
    bool may_be_empty;   /* handle_impossible_answer */
    bool keeps_tokens;   /* align_to_words false */
};

/* Check characters at the end of a text. */
enum engine_checksum {
    ENGINE_CHECKSUM_OWN,      /* not said: attnd.json's, if it has one */
    ENGINE_CHECKSUM_SEMI_M13, /* of a wafer's mark: fab/semi_check.h */
    ENGINE_CHECKSUM_NONE
};
#define ENGINE_CHECKSUM_NAMES "semi-m13 or none"
bool engine_checksum_find(const char *name, size_t len, enum engine_checksum *out);
/* NULL for ENGINE_CHECKSUM_OWN. */
const char *engine_checksum_name(enum engine_checksum checksum);

enum { ENGINE_PATTERN_BYTES_MAX = 4096, ENGINE_ALLOWED_MAX = 1000 };

/* How a model of ENGINE_GENERATE writes, beside its generation_config.json. */
struct engine_writing {
    struct generation_request asked; /* begins as generation_request_empty */
    const char *source_language;     /* of the text: a code of the tokenizer's; NULL: the usual */
    const char *target_language;     /* to write in; NULL: the usual one */
    bool aligns;                     /* wanted: engine_text's alignment */

    /* Rules of the text. The search follows only hypotheses that may still obey all of them, and
     * answers only texts that do. Their limits are in generate/pattern.h and automaton.h. */
    const char *pattern; /* [pattern_len] a regular expression for the whole text; NULL: none */
    size_t pattern_len;
    const char *const *allowed; /* [allowed_count] texts, of which it is one; NULL: any */
    unsigned allowed_count;
    bool copies_numbers; /* each number, a longest run of 0 to 9, is one of the source text */
    bool says_numbers;   /* copies_numbers was given, perhaps as false; for who reads a request */
    enum engine_checksum checksum;
};

/* An input of a model: a text, two texts or a picture. Borrowed: it must outlive the call. */
struct engine_source {
    enum engine_kind kind;
    const void *bytes; /* [len] a text, which may hold NUL, or a picture's file */
    size_t len;
    const char *pair; /* [pair_len] a second text, read with the first; empty or NULL: none */
    size_t pair_len;
    const struct image *image; /* a picture that is decoded already; NULL: it is in bytes */
    struct engine_question question;
    const struct engine_writing *writing; /* NULL: as the checkpoint says */
    const char *const *targets; /* [target_count] texts that alone fill a masked token; NULL: any */
    unsigned target_count;
    const char *prompt_name;       /* of an embedding's prompts; NULL: the default one, if any */
    bool is_utf8;                  /* both texts are known to be; else they are checked */
    struct engine_reading reading; /* of a text alone. A pair is cut, its longer text first */
    size_t pixels_max;             /* of a picture's file; one with more is refused */
};

/* Client mistakes end here: ERR_UNUSABLE (a source of the model's other kind, a pair for a model
 * that reads one text, a prompt that the model does not have, no token, invalid UTF-8 with its byte
 * offset, not an image, too many pixels); ERR_TOO_LARGE for a text of more than text_tokens_max
 * tokens that is to be read in windows. Long preparation checks the interrupt (NULL: none) every
 * few milliseconds at least. Any thread; the arena is the caller's, and holds what *out has. */
enum err_code engine_prepare(const struct engine_model *model, const struct engine_source *source,
                             struct interrupt *interrupt, struct arena *arena,
                             struct engine_input *out, struct err *err);

/* ERR_UNUSABLE names an option that the model, one of ENGINE_GENERATE, does not take, as
 * engine_prepare does: before there is an input. ERR_NO_MEMORY. */
enum err_code engine_check_writing(const struct engine_model *model,
                                   const struct engine_writing *writing, struct err *err);

/* The tokens of all of a text, with an embedding's prompt in front; `text` is what was encoded.
 * Arrays lie in the arena. Special tokens that the tokenizer puts around a text end at 0.
 * ERR_UNUSABLE as engine_prepare; ERR_TOO_LARGE for more than text_tokens_max. */
struct engine_tokens {
    unsigned count;
    const int32_t *ids;            /* [count] */
    const uint32_t *starts, *ends; /* [count] characters of the text, end exclusive */
    const char *text;              /* [len] UTF-8 */
    size_t len;
};
enum err_code engine_tokenize(const struct engine_model *model, const struct engine_source *source,
                              struct interrupt *interrupt, struct arena *arena,
                              struct engine_tokens *out, struct err *err);
/* Upper bounds of the bytes that this takes, and, in *tokens, of the tokens. */
size_t engine_tokenize_bytes(const struct engine_model *model, const struct engine_source *source,
                             size_t *tokens);

/* The string of a token as tokenizer.json spells it: "##ing". NULL: no token has the id. Borrowed
 * from the model. */
const char *engine_token(const struct engine_model *model, int32_t id, size_t *len,
                         bool *is_special);
/* How such strings become a text; NULL: the model reads none. */
struct decoder;
const struct decoder *engine_decoder(const struct engine_model *model);
/* Ids of the token in place of unknown pieces, and of padding; negative: there is none. */
int32_t engine_unknown(const struct engine_model *model);
int32_t engine_padding(const struct engine_model *model);

/* Width x height that a picture's header declares, without decoding; 0 if it is of no format that
 * is read (vision/input_formats.h). */
size_t engine_image_pixels(const void *bytes, size_t len);

/* Upper bounds of the memory, in bytes, that engine_prepare takes of the source. They follow from
 * lengths and headers alone: nothing is decoded. All zeros: it is refused before it takes any, as a
 * source of the wrong kind or an image of more than pixels_max pixels is. Any thread. */
struct engine_need {
    size_t kept;      /* in the arena */
    size_t passing;   /* given back before engine_prepare returns */
    size_t answer;    /* that engine_result_rows takes of the arena for it, tags: at most */
    unsigned tokens;  /* of a text, special ones included and window behind window: at most */
    unsigned parts;   /* of a text that have a vector each, lines or tokens: at most */
    unsigned spans;   /* tags: at most so many; answers: as many as are asked for */
    unsigned windows; /* of a text, or views of an image, if it is more than one; else 0 */
    size_t written;   /* generate: bytes of all texts that are answered, at most */
    unsigned written_tokens; /* and tokens of each of them */
};
struct engine_need engine_need(const struct engine_model *model,
                               const struct engine_source *source);

/* A workspace for batches of up to batch_tokens_max tokens (raised to tokens_max if smaller), with
 * a pool of `threads` compute threads (the calling one included). All memory is taken here. */
enum err_code engine_session_open(struct engine_session **out, const struct engine_model *model,
                                  unsigned batch_tokens_max, unsigned threads, struct err *err);
/* The same on a pool that is borrowed. Sessions that do not run at the same time may share one. */
enum err_code engine_session_open_on(struct engine_session **out, const struct engine_model *model,
                                     unsigned batch_tokens_max, struct thread_pool *pool,
                                     struct err *err);
/* Replaces the session's pool, by one of at most the size of the pool that it was opened on. */
void engine_session_lend(struct engine_session *session, struct thread_pool *pool);
void engine_session_close(struct engine_session *session);
/* Has `between` called between two layers of each step, on the thread of engine_step, where other
 * sessions may run on the same pool: so inputs of other models need not wait for a whole step.
 * NULL: nothing is called. */
void engine_session_let_in(struct engine_session *session, void (*between)(void *context),
                           void *context);

/* A text that was written. */
struct engine_text {
    const char *text; /* [len] UTF-8, ended by a NUL */
    size_t len;
    const int32_t *ids; /* [count] without the start; the end, if there is one, is the last */
    bool has_start;     /* the text begins with the start, ids[-1], which is no special token */
    const float *probabilities; /* [count] natural logarithms; 0 where a token was forced */
    unsigned count;
    float log_probability;  /* of the whole text: the sum of the logarithms */
    float confidence;       /* its probability, calibrated: decide/policy.h */
    float score;            /* sum of the logarithms / count^length_penalty, as transformers */
    const float *alignment; /* [count][tokens of the input] attention of each token to the source,
                               mean over heads and layers; NULL: not wanted */
};

struct writer; /* engine_write.c */

/* The answer to an input, by the model that prepared it. logits, scores, vector, rows and spans are
 * the caller's room, the first two [label_count] each. Without room for scores only logits and
 * features are wanted.
 *
 * A head that answers each token, and not the whole text, writes rows of row_size numbers:
 *
 *     tags    engine_rows = the input's tokens, special ones included, and row_size = label_count:
 *             row t has the logits of token t of input->ids
 *     answers engine_rows = the input's tokens, and row_size = 2: the logits of start and end
 *     fill    engine_rows = input->mask_count: row i has the logits of the vocabulary at the masked
 *             token input->masks[i]; row_size = vocab_size
 *     sparse  one row: the weights of the vocabulary
 *     embed   with VECTORS_TOKENS engine_rows = the input's tokens; with VECTORS_LINES the lines of
 *             the text, of which those without a token are noughts
 *
 * with row_size numbers of the input.
 *
 * Rows follow the order of the input's arrays, window behind window; a step of engine_step fills
 * those of its windows, which later steps leave alone. There is one row more, which is scratch. */
struct engine_result {
    float *rows;        /* [engine_rows + 1][row_size] of a head of tokens; NULL: not wanted */
    unsigned row_count; /* engine_rows of the input; not of tags */
    struct span *spans; /* tags: [span_count] below, of room for one a token; NULL: not wanted */
    unsigned span_count;
    struct extraction
        *extraction; /* answers: room, and found[0 .. answer_count); NULL: not wanted */
    unsigned answer_count;
    struct writer *writer;              /* generate: the search; NULL: not wanted */
    const struct engine_text *texts;    /* generate: [text_count] the best first, made by
                                        engine_result_texts */
    unsigned text_count;                /* 0: no text was found that obeys the rules, and then: */
    const char *broken_rule;            /* "pattern", "allowed", "copy_numbers", "checksum", or what
                                           let none end: "min_new_tokens", "no_repeat_ngram_size",
                                           "generation_config.json" */
    const struct engine_text *rejected; /* the best text that broke it, or was cut before it obeyed;
                                           NULL: there is none */
    float *vector;                      /* [vector_size] of an embedding; NULL: not wanted */
    float *logits;                      /* NULL: not wanted, and no scores are */
    float *scores;         /* by the problem type (softmax, sigmoid, as is) and the class_prior */
    const float *features; /* [feature_size] below; the session's, until it runs again */

    /* With scores, a vector or rows: */
    enum engine_task task;
    bool is_finite; /* false: one of them is not, and nothing behind this may be used */
    unsigned label; /* the one with the highest score, the first of equal ones; regression: 0 */
    float number;   /* the label's score; regression: the answer */
    struct judgement judgement; /* by attnd.json (decide/policy.h); of an embedding nothing */
    bool truncated;             /* a text of which not all was read */
    unsigned windows;           /* of a text, or views of an image, if more than one; else 0 */
    unsigned tokens;            /* of the input, special ones included */
    unsigned kept_tokens;       /* that went through all layers: engine_kept_tokens */

    /* For engine_step; engine_run sets them. */
    unsigned step;         /* windows of the input that the next step computes; 0: all */
    unsigned windows_done; /* by the steps so far; 0 before the first */
    unsigned written;      /* generate: tokens of each open text so far */
    float *pooled;         /* [feature_size] what the steps so far have read, pooled; the caller's
                              room, for an input that takes more than one; not with rows */
    bool is_done;          /* the members above are filled; else a further step is wanted */
};

/* The numbers by which inputs are compared (index/index.h), [engine_compared_size]: the vector of
 * an embedding; of another model what its classifier reads, until the session runs again. */
static inline const float *engine_compared(const struct engine_info *info,
                                           const struct engine_result *result)
{
    return info->task == ENGINE_EMBED ? result->vector : result->features;
}
static inline unsigned engine_compared_size(const struct engine_info *info)
{
    return info->task == ENGINE_EMBED ? info->vector_size : info->classifier_size;
}

/* Room for logits and scores, or for the vector. ERR_NO_MEMORY. */
enum err_code engine_result_init(struct engine_result *out, const struct engine_model *model,
                                 struct arena *arena, struct err *err);
/* Room for what depends on the input: rows and spans. Of other models there is none, and nothing
 * happens. ERR_NO_MEMORY. */
enum err_code engine_result_rows(struct engine_result *out, const struct engine_model *model,
                                 const struct engine_input *input, struct arena *arena,
                                 struct err *err);
/* The texts of a result of ENGINE_GENERATE that is done and finite: result->texts, or, where no
 * text obeys the rules of request and checkpoint, broken_rule and rejected. A step allocates
 * nothing, so they are made here, by any thread; engine_need counts them in its answer.
 * ERR_NO_MEMORY. */
enum err_code engine_result_texts(struct engine_result *result, struct arena *arena,
                                  struct err *err);
/* True if the text has all the tokens that it may have: its length ended it, whatever is last. */
bool engine_text_is_longest(const struct engine_input *input, const struct engine_text *text);
/* The characters that a token adds to a text, whole ones, which go to the token that ends them. A
 * special token adds none, but the last of a text that ends within a character adds its U+FFFD, and
 * the last of a text that has nothing but its start adds that. */
struct engine_piece {
    unsigned index;
    int32_t id;
    const char *text; /* [len] UTF-8, the arena's */
    size_t len;
    float probability; /* as engine_text has it */
    bool is_special;
    const char *name; /* [name_len] of a special token: its string, the model's; else NULL */
    size_t name_len;
};
/* The place in a text up to which its pieces are taken; zeros at first. A start that the text has
 * is in the first piece that adds something. */
struct engine_pieces {
    unsigned first, told, next;
    size_t told_bytes; /* of the text of the tokens from `first` */
};
/* Takes the next token of a text that greedy search writes (num_beams 1), if there is one
 * (*is_there). Between two steps and after the last, when engine_result_texts was called; by the
 * owner of the result. engine_pieces_bytes bounds what all of a text take. ERR_NO_MEMORY. */
enum err_code engine_next_piece(const struct engine_result *result, struct engine_pieces *pieces,
                                struct arena *arena, struct engine_piece *out, bool *is_there,
                                struct err *err);
/* 0: the search of this input has several hypotheses, of which none is the text before its end. */
size_t engine_pieces_bytes(const struct engine_input *input);
/* Takes all of a text: *out [text->count]. The arena holds these, and no more bytes than the text.
 * ERR_NO_MEMORY. */
enum err_code engine_text_pieces(const struct engine_model *model, const struct engine_text *text,
                                 const struct engine_piece **out, struct arena *arena,
                                 struct err *err);

/* Rows that the model answers an input with; 0: its head answers the whole input. */
unsigned engine_rows(const struct engine_model *model, const struct engine_input *input);

/* vector [size] <- vector / max(|vector|, 1e-12), in place: of one that is cut. Any thread. */
void engine_normalize(float *vector, unsigned size);

/* Runs inputs[0..rows) as one packed batch and fills *results[0..rows). The sum of tokens must fit
 * the session, but for texts in windows and images in views: more of them than fit are run in
 * several passes. A row's logits do not depend on what shares its batch (to 1e-5). */
void engine_run(struct engine_session *session, const struct engine_input *const *inputs,
                unsigned rows, struct engine_result *const *results);

/* Advances each input by one step, results[r]->step windows of a text or views of an image, as one
 * packed batch whose tokens must fit the session; a text that is being written advances by one
 * token. A result with is_done is as engine_run fills it; another wants a further step, in any
 * session of the model, with the same pooled and writer. What else is in the batch, and how an
 * input is cut into steps, does not matter to it. */
void engine_step(struct engine_session *session, const struct engine_input *const *inputs,
                 unsigned rows, struct engine_result *const *results);

/* The logits of a given text (teacher forcing): *logits [count][*vocabulary], row i behind the
 * start and ids[0 .. i). The arrays are the arena's. ERR_UNUSABLE for an id beyond the vocabulary,
 * and for more tokens than the model has positions; ERR_NO_MEMORY. */
enum err_code engine_teach(struct engine_session *session, const struct engine_input *input,
                           const int32_t *ids, unsigned count, struct arena *arena,
                           const float **logits, unsigned *vocabulary, struct err *err);

/* Tokens of the packed batch that the next step of an input takes if it reads one window: those of
 * the window, or, of a text that is being written, one of each hypothesis that goes on. */
unsigned engine_step_tokens(const struct engine_input *input, const struct engine_result *result);

/* Features of a row: [classifier_size] what the classifier read, pooled over windows, and behind
 * that the means of its tokens (model/token_mean.h): [hidden_size], or of an image's four rings
 * [4 hidden_size]. */

/* Means are zeros unless the model's OOD score or its classifier is made from them, or this was
 * called: from the next run on they are computed. */
void engine_session_take_means(struct engine_session *session);

/* How many of an input's tokens go through all layers: input->tokens, unless the model leaves some
 * out. An input with a capture is run with all of them, too, which is what its explanation is of;
 * its logits are those of any other input. */
unsigned engine_kept_tokens(const struct engine_model *model, const struct engine_input *input);

/* ---- from logits that were kept: calibration, evaluation ---- */

/* logits -> scores [label_count]: the label that scores highest need not be that of the largest
 * logit. False: one of them is not finite, and the scores must not be used. */
bool engine_scores(const struct engine_model *model, const float *logits, float *scores);
/* The same as the checkpoint was fitted, whatever its class_prior: what its weights vouch for. */
bool engine_scores_as_fitted(const struct engine_model *model, const float *logits, float *scores);

static inline enum input_doubt engine_input_doubt(const struct engine_input *input)
{
    return input->truncated ? DOUBT_TRUNCATED : input->coloured ? DOUBT_COLOURED : DOUBT_NONE;
}

/* Fills result->scores, of which there is room, and the members behind them up to the judgement: by
 * result->features or, if `ood` is not NULL, by that OOD score. doubt is the input's. Allocates
 * nothing. */
void engine_conclude(const struct engine_model *model, const float *logits, const float *ood,
                     enum input_doubt doubt, struct engine_result *result);

/* Before engine_run, for an input that is to be explained: takes memory in the arena for the
 * attention of each layer. ERR_UNUSABLE for a layer that the model or the method does not have;
 * ERR_NO_MEMORY. */
enum err_code engine_capture(const struct engine_model *model, struct engine_input *input,
                             const struct explain_options *options, struct arena *arena,
                             struct err *err);
/* The bytes of it, and of what a gradient through all tokens takes beside; they grow with the
 * square of the tokens. */
size_t engine_capture_bytes(const struct engine_model *model, const struct engine_input *input,
                            const struct explain_options *options);

/* After engine_run, for an input with a capture: how relevant each token was, [input->tokens],
 * special ones included, each window or view weighted by what it alone scores for the label, views
 * one behind the other as they were turned; `label` is what a class-specific method explains. From
 * the arena; any thread. The capture is only read: an input may be explained again, by another
 * method. ERR_NO_MEMORY. */
enum err_code engine_relevance(const struct engine_model *model, const struct engine_input *input,
                               const struct explain_options *options, unsigned label,
                               struct arena *arena, const float **relevance, struct err *err);

/* The same as words and spans, or patches and boxes, the sum of views turned back; no overlay yet.
 * With the source of a text also the phrases that the model's table of n-grams counts for the
 * label, of a pair those of the first text. ERR_NO_MEMORY. */
enum err_code engine_explain(const struct engine_model *model, const struct engine_source *source,
                             const struct engine_input *input,
                             const struct explain_options *options, unsigned label,
                             struct arena *arena, struct explanation *out, struct err *err);

/* The same of a text that was written: where the model looked for each of its tokens
 * (EXPLAIN_ALIGNMENT). Bahdanau et al. 2015, section 5.2.1, whose alignment it draws. `text` is one
 * of the result's, with its alignment. ERR_NO_MEMORY. */
enum err_code engine_align(const struct engine_model *model, const struct engine_input *input,
                           const struct engine_text *text, struct arena *arena,
                           struct explanation *out, struct err *err);

/* Upper bound of what phrases take from the arena. */
size_t engine_phrases_bytes(const struct engine_model *model, size_t len);

/* A heat map over the image, a PNG of its size: patches_overlay. *png is yours to free.
 * ERR_TOO_LARGE, ERR_NO_MEMORY; what the interrupt (NULL: none) returns. */
enum err_code engine_overlay(const struct explanation *explanation, struct interrupt *interrupt,
                             char **png, size_t *len, struct err *err);

#endif
