#include "wire/codec_names.h"

#include "engine/content/document.h"

static const char *const call[] = {DOCUMENT_NAMES_CALL};
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
                                    DOCUMENT_NAMES_TASK,
                                    DOCUMENT_NAMES_QUESTION,
                                    DOCUMENT_NAMES_OTHER};
static const char *const search_query[] = {"model",       "k",         "id",
                                           "deadline_ms", "long_text", "prompt_name"};
static const char *const feedback[] = {"id", "label", "labels", "output", "index", "source", "new"};
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
