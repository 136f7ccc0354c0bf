#include "wire/codec.h"

#include "engine/base/utf8.h"
#include "engine/index/index.h"
#include "wire/codec_check.h"
#include "wire/codec_context.h"
#include "wire/codec_labels.h"
#include "wire/codec_writing.h"
#include "wire/limits.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static enum err_code read_label(const char *name, const char *value, size_t bytes_max,
                                struct arena *arena, const char **out, struct err *err)
{
    size_t len = strlen(value);
    if (codec_check_label(value, len, bytes_max, CODEC_CHECK_QUERY, name, err))
        return err->code;
    if (!utf8_is_valid(value, len)) /* percent-decoding can yield any bytes */
        return err_set(err, ERR_UNUSABLE, "?%s: not valid UTF-8", name);
    *out = arena_copy(arena, value, len);
    return *out != NULL ? ERR_OK : err_no_memory(err, len + 1);
}

/* Digits only, from 1; what is above max is max. */
static enum err_code read_count(const char *name, const char *value, unsigned max, unsigned *out,
                                struct err *err)
{
    unsigned count = 0;
    size_t digits = strspn(value, "0123456789");
    if (digits == 0 || value[digits] != '\0')
        return err_set(err, ERR_UNUSABLE, "?%s: expected an integer", name);
    for (size_t i = 0; i < digits; i++) {
        unsigned digit = (unsigned)(value[i] - '0');
        count = count > (max - digit) / 10 ? max : count * 10 + digit;
    }
    if (count == 0)
        return err_set(err, ERR_UNUSABLE, "?%s: must be at least 1", name);
    *out = count;
    return ERR_OK;
}

static enum err_code read_explain(struct predict_call *call, const char *value, struct err *err)
{
    call->explain = strcmp(value, "false") != 0;
    call->how.method = EXPLAIN_DEFAULT;
    if (!call->explain || strcmp(value, "true") == 0)
        return ERR_OK;
    return codec_check_method(value, strlen(value), CODEC_CHECK_QUERY, &call->how.method, err);
}

static enum err_code read_up_to(const char *name, const char *value, unsigned max, unsigned *out,
                                struct err *err)
{
    unsigned count = 0;
    if (read_count(name, value, UINT_MAX, &count, err))
        return err->code;
    if (count > max)
        return err_set(err, ERR_UNUSABLE, "?%s: must be from 1 to %u", name, max);
    *out = count;
    return ERR_OK;
}

static enum err_code read_flag(const char *name, const char *value, bool *out, struct err *err)
{
    *out = strcmp(value, "true") == 0;
    if (*out || strcmp(value, "false") == 0)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE, "?%s: expected true or false", name);
}

static enum err_code read_id(struct predict_call *call, const char *value, struct arena *arena,
                             struct err *err)
{
    if (read_label("id", value, LIMIT_ID_BYTES, arena, &call->id, err))
        return err->code;
    if (call->id[0] == '\0')
        call->id = NULL;
    return ERR_OK;
}

static const char *const asking[] = {"doc_stride", "max_seq_len", "max_answer_len",
                                     "handle_impossible_answer", "align_to_words"};
static const struct codec_names asking_names = {asking, sizeof asking / sizeof *asking};
static const char *const words[] = {"encoding", "chunks", "long_text", "aggregation"};
static const struct codec_names word_names = {words, sizeof words / sizeof *words};

static enum err_code read_asking(struct engine_question *out, const char *name, const char *value,
                                 struct err *err)
{
    bool aligns = true;
    unsigned stride = 0;
    if (strcmp(name, "handle_impossible_answer") == 0)
        return read_flag(name, value, &out->may_be_empty, err);
    if (strcmp(name, "align_to_words") == 0 && !read_flag(name, value, &aligns, err))
        out->keeps_tokens = !aligns;
    else if (strcmp(name, "doc_stride") == 0 &&
             (strcmp(value, "0") == 0 ||
              !read_up_to(name, value, CODEC_QUESTION_TOKENS_MAX, &stride, err)))
        out->overlap = stride + 1;
    else if (strcmp(name, "max_seq_len") == 0)
        read_up_to(name, value, CODEC_QUESTION_TOKENS_MAX, &out->tokens_max, err);
    else if (strcmp(name, "max_answer_len") == 0)
        read_up_to(name, value, CODEC_QUESTION_TOKENS_MAX, &out->length_max, err);
    return err->code;
}

static enum err_code check_name(const struct predict_call *call, const char *name,
                                const char *value, struct err *err)
{
    const struct codec_names *known =
        call->wish == WISH_SIMILAR ? &codec_names_search_query : &codec_names_query;
    if (strcmp(name, "context") == 0)
        return err_set(err, ERR_UNUSABLE, "?context: name its members, as in ?context.lot=A1");
    if (!codec_check_listed(name, known))
        return codec_check_unknown(CODEC_CHECK_QUERY, name, "option", known, err);
    return value != NULL ? ERR_OK : err_set(err, ERR_UNUSABLE, "?%s: expected a value", name);
}

enum err_code codec_parse_option(struct predict_call *call, const char *name, const char *value,
                                 struct arena *arena, struct err *err)
{
    if (strncmp(name, "context.", strlen("context.")) == 0)
        return codec_context_set(&call->context, &call->lot, name + strlen("context."),
                                 value != NULL ? value : "", arena, err);
    if (check_name(call, name, value, err))
        return err->code;
    bool is_of_writing;
    if (codec_writing_set(&call->writing, name, value, &is_of_writing, arena, err) || is_of_writing)
        return err->code;
    if (strcmp(name, "model") == 0)
        return read_label(name, value, LIMIT_MODEL_NAME_BYTES, arena, &call->model, err);
    if (strcmp(name, "prompt_name") == 0)
        return read_label(name, value, LIMIT_ID_BYTES, arena, &call->prompt_name, err);
    if (strcmp(name, "id") == 0)
        return read_id(call, value, arena, err);
    if (strcmp(name, "top_k") == 0 && strcmp(value, "all") == 0) {
        call->top_k = TOP_K_ALL;
        return ERR_OK;
    }
    if (strcmp(name, "top_k") == 0)
        return read_count(name, value, UINT_MAX, &call->top_k, err);
    if (strcmp(name, "deadline_ms") == 0)
        return read_up_to(name, value, CODEC_DEADLINE_MS_MAX, &call->deadline_ms, err);
    if (strcmp(name, "similar") == 0 || strcmp(name, "k") == 0)
        return read_up_to(name, value, INDEX_NEIGHBOURS_MAX, &call->similar, err);
    if (strcmp(name, "explain") == 0)
        return read_explain(call, value, err);
    if (strcmp(name, "explain_layer") == 0)
        return read_up_to(name, value, CODEC_LAYER_MAX, &call->how.layer, err);
    if (strcmp(name, "candidate_labels") == 0)
        return codec_labels_set(&call->labels, value, arena, err);
    if (strcmp(name, "hypothesis_template") == 0) {
        call->labels.hypothesis = arena_copy(arena, value, strlen(value));
        return call->labels.hypothesis != NULL ? ERR_OK : err_no_memory(err, strlen(value) + 1);
    }
    if (strcmp(name, "dimensions") == 0)
        return read_up_to(name, value, INT_MAX, &call->vector.dimensions, err);
    if (strcmp(name, "normalize") == 0) {
        call->refuses_unit = strcmp(value, "false") == 0;
        return read_flag(name, value, &call->vector.is_scaled, err);
    }
    if (codec_check_listed(name, &word_names))
        return codec_check_word(call, name, value, strlen(value), CODEC_CHECK_QUERY, err);
    if (codec_check_listed(name, &asking_names))
        return read_asking(&call->asking, name, value, err);
    return read_flag(name, value,
                     strcmp(name, "overlay") == 0  ? &call->overlay
                     : strcmp(name, "keep") == 0   ? &call->keep
                     : strcmp(name, "stream") == 0 ? &call->stream
                                                   : &call->how.statistics,
                     err);
}

enum err_code codec_check_options(const struct predict_call *call, struct err *err)
{
    if (codec_labels_check(&call->labels, CODEC_CHECK_QUERY, err))
        return err->code;
    return codec_check_explain(call, CODEC_CHECK_QUERY, err);
}

static void place(const struct predict_call *call, unsigned index, char out[CALL_PLACE_BYTES])
{
    (void)call;
    (void)index;
    snprintf(out, CALL_PLACE_BYTES, "body");
}

enum err_code codec_parse_raw(struct predict_call *out, enum engine_kind kind, const char *body,
                              size_t len, struct arena *arena, struct err *err)
{
    *out = (struct predict_call){.top_k = 1, .model_place = "?model", .place = place, .keep = true};
    if (len == 0)
        return err_set(err, ERR_UNUSABLE, "the body is empty");
    out->items = arena_alloc_array(arena, 1, sizeof *out->items);
    if (out->items == NULL)
        return err_no_memory(err, sizeof *out->items);
    out->items[0] =
        (struct predict_item){.source = {.kind = kind, .bytes = body, .len = len, .is_utf8 = true}};
    out->item_count = 1;
    return ERR_OK;
}
