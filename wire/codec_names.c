#include "wire/codec_names.h"

static const char *const call[] = {"text",
                                   "image",
                                   "inputs",
                                   "model",
                                   "top_k",
                                   "explain",
                                   "explain_layer",
                                   "overlay",
                                   "attention_stats",
                                   "deadline_ms",
                                   "id",
                                   "context",
                                   "long_text",
                                   "prompt_name",
                                   "aggregation",
                                   "dimensions",
                                   "encoding",
                                   "normalize",
                                   "chunks",
                                   "question",
                                   "doc_stride",
                                   "max_seq_len",
                                   "max_answer_len",
                                   "handle_impossible_answer",
                                   "align_to_words",
                                   "text_pair",
                                   "candidate_labels",
                                   "hypothesis_template",
                                   "max_new_tokens",
                                   "min_new_tokens",
                                   "num_beams",
                                   "num_return_sequences",
                                   "no_repeat_ngram_size",
                                   "length_penalty",
                                   "source_language",
                                   "target_language",
                                   "pattern",
                                   "allowed",
                                   "copy_numbers",
                                   "checksum",
                                   "stream",
                                   "keep",
                                   "similar"};
static const char *const search[] = {"text",      "image",       "inputs",   "model",
                                     "k",         "deadline_ms", "id",       "context",
                                     "long_text", "prompt_name", "text_pair"};
static const char *const item[] = {"text", "image", "id", "context", "text_pair", "question"};
static const char *const context[] = {"lot",  "wafer",   "die_x",  "die_y",
                                      "tool", "chamber", "recipe", "step"};
static const char *const query[] = {"model",
                                    "top_k",
                                    "id",
                                    "deadline_ms",
                                    "explain",
                                    "explain_layer",
                                    "overlay",
                                    "attention_stats",
                                    "long_text",
                                    "prompt_name",
                                    "aggregation",
                                    "dimensions",
                                    "encoding",
                                    "normalize",
                                    "chunks",
                                    "doc_stride",
                                    "max_seq_len",
                                    "max_answer_len",
                                    "handle_impossible_answer",
                                    "align_to_words",
                                    "candidate_labels",
                                    "hypothesis_template",
                                    "max_new_tokens",
                                    "min_new_tokens",
                                    "num_beams",
                                    "num_return_sequences",
                                    "no_repeat_ngram_size",
                                    "length_penalty",
                                    "source_language",
                                    "target_language",
                                    "pattern",
                                    "allowed",
                                    "copy_numbers",
                                    "checksum",
                                    "stream",
                                    "keep",
                                    "similar"};
static const char *const search_query[] = {"model",       "k",         "id",
                                           "deadline_ms", "long_text", "prompt_name"};
static const char *const feedback[] = {"id", "label", "labels", "index", "source", "new"};
static const char *const labels[] = {"feedback"};
static const char *const load[] = {"name", "dir", "dtype", "split", "shadow"};
static const char *const shares[] = {"split", "shadow"};
static const char *const promote[] = {"force", "reason"};
static const char *const fit[] = {"name",   "version", "loss_max", "prior", "target_precision",
                                  "shadow", "reason"};

#define NAMES(list)                                                                                \
    {                                                                                              \
        list, sizeof(list) / sizeof(list)[0]                                                       \
    }

const struct codec_names codec_names_call = NAMES(call);
const struct codec_names codec_names_search = NAMES(search);
const struct codec_names codec_names_search_query = NAMES(search_query);
const struct codec_names codec_names_item = NAMES(item);
const struct codec_names codec_names_context = NAMES(context);
const struct codec_names codec_names_query = NAMES(query);
const struct codec_names codec_names_feedback = NAMES(feedback);
const struct codec_names codec_names_labels = NAMES(labels);
const struct codec_names codec_names_load = NAMES(load);
const struct codec_names codec_names_shares = NAMES(shares);
const struct codec_names codec_names_promote = NAMES(promote);
const struct codec_names codec_names_fit = NAMES(fit);
