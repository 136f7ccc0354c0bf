#include "wire/codec_query.h"

#include "engine/base/doc.h"
#include "wire/codec.h"
#include "wire/codec_check.h"
#include "wire/codec_context.h"
#include "wire/codec_writing.h"

#include <string.h>

enum kind { TEXT, VALUE, EXPLAIN, LABELS };

#define PLACE(member)                                                                              \
    offsetof(struct predict_call, member), sizeof(((struct predict_call){0}).member)

/* The options of codec_names_query, and their places in a call. */
static const struct option {
    const char *name;
    enum kind kind;
    size_t at, size;
} options[] = {
    {"model", TEXT, PLACE(model)},
    {"id", TEXT, PLACE(id)},
    {"hypothesis_template", TEXT, PLACE(labels.hypothesis)},
    {"candidate_labels", LABELS, 0, 0},
    {"explain", EXPLAIN, 0, 0},
    {"explain_layer", VALUE, PLACE(how.layer)},
    {"attention_stats", VALUE, PLACE(how.statistics)},
    {"overlay", VALUE, PLACE(overlay)},
    {"top_k", VALUE, PLACE(top_k)},
    {"deadline_ms", VALUE, PLACE(deadline_ms)},
    {"long_text", VALUE, PLACE(long_text)},
    {"prompt_name", TEXT, PLACE(prompt_name)},
    {"aggregation", VALUE, PLACE(aggregation)},
    {"dimensions", VALUE, PLACE(vector.dimensions)},
    {"encoding", VALUE, PLACE(vector.encoding)},
    {"normalize", VALUE, PLACE(vector.is_scaled)},
    {"chunks", VALUE, PLACE(vector.chunks)},
    {"doc_stride", VALUE, PLACE(asking.overlap)},
    {"max_seq_len", VALUE, PLACE(asking.tokens_max)},
    {"max_answer_len", VALUE, PLACE(asking.length_max)},
    {"handle_impossible_answer", VALUE, PLACE(asking.may_be_empty)},
    {"align_to_words", VALUE, PLACE(asking.keeps_tokens)},
    {"keep", VALUE, PLACE(keep)},
    {"stream", VALUE, PLACE(stream)},
    {"similar", VALUE, PLACE(similar)},
    {"k", VALUE, PLACE(similar)},
};

enum { OPTIONS = sizeof options / sizeof options[0] };

void codec_query_init(struct codec_query *query)
{
    *query = (struct codec_query){.asked = {.top_k = 1, .keep = true}};
}

void codec_query_add(struct codec_query *query, const char *name, const char *value,
                     struct arena *arena)
{
    if (query->err.code != ERR_OK ||
        codec_parse_option(&query->asked, name, value, arena, &query->err))
        return;
    for (unsigned i = 0; i < OPTIONS; i++)
        if (strcmp(options[i].name, name) == 0)
            query->given |= 1u << i;
}

/* ---- one option ---- */

static const char *text_at(const struct predict_call *call, const struct option *option)
{
    const char *text;
    memcpy(&text, (const char *)call + option->at, sizeof text);
    return text;
}

static bool have_same_labels(const struct engine_labels *a, const struct engine_labels *b)
{
    unsigned i = 0;
    while (i < a->count && a->count == b->count && strcmp(a->texts[i], b->texts[i]) == 0)
        i++;
    return i == a->count && i == b->count;
}

static bool is_same(const struct predict_call *a, const struct predict_call *b,
                    const struct option *option)
{
    const char *text_a, *text_b;
    switch (option->kind) {
    case TEXT:
        text_a = text_at(a, option);
        text_b = text_at(b, option);
        return text_a == NULL || text_b == NULL ? text_a == text_b : strcmp(text_a, text_b) == 0;
    case LABELS:
        return have_same_labels(&a->labels, &b->labels);
    case EXPLAIN:
        return a->explain == b->explain && (!a->explain || a->how.method == b->how.method);
    default:
        return memcmp((const char *)a + option->at, (const char *)b + option->at, option->size) ==
               0;
    }
}

static void take(struct predict_call *call, const struct predict_call *asked,
                 const struct option *option)
{
    if (option->kind == LABELS) {
        call->labels.texts = asked->labels.texts;
        call->labels.count = asked->labels.count;
    } else if (option->kind == EXPLAIN) {
        call->explain = asked->explain;
        call->how.method = asked->how.method;
    } else {
        memcpy((char *)call + option->at, (const char *)asked + option->at, option->size);
    }
}

/* ---- all of them ---- */

enum err_code codec_query_merge(struct predict_call *call, const struct codec_query *query,
                                const struct json_t *body, struct arena *arena, struct err *err)
{
    if (query->err.code != ERR_OK) {
        *err = query->err;
        return err->code;
    }
    for (unsigned i = 0; i < OPTIONS; i++) {
        const struct option *option = &options[i];
        if ((query->given & 1u << i) == 0)
            continue;
        const bool is_in_body = strcmp(option->name, "id") == 0 /* an empty one counts as none */
                                    ? call->id != NULL
                                    : doc_member(body, option->name) != NULL;
        if (!is_in_body)
            take(call, &query->asked, option);
        else if (!is_same(call, &query->asked, option))
            return err_set(err, ERR_UNUSABLE, "?%s: the body has another value; send one of them",
                           option->name);
    }
    if (codec_writing_merge(&call->writing, query->asked.writing, arena, err))
        return err->code;
    call->refuses_unit |= query->asked.refuses_unit;
    if (query->asked.model != NULL && doc_member(body, "model") == NULL)
        call->model_place = "?model";
    return codec_context_merge(&call->context, &call->lot, query->asked.context, arena, err);
}

const char *codec_query_place_of_labels(const struct codec_query *query)
{
    bool is_asked =
        query != NULL && (query->asked.labels.count > 0 || query->asked.labels.hypothesis != NULL);
    return is_asked ? CODEC_CHECK_QUERY : "$";
}

const char *codec_query_place_of_explain(const struct codec_query *query)
{
    bool is_asked = query != NULL && (query->asked.overlay || query->asked.how.statistics ||
                                      query->asked.how.layer > 0);
    return is_asked ? CODEC_CHECK_QUERY : "$";
}
