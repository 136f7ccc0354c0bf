/* codec.c - JSON request bodies -> struct predict_call. codec_raw.c has the raw bodies,
 * codec_reply.c the replies, codec_check.c the checks of values in both kinds of request.
 *
 * Checks are made in three places. codec_check_members: an object has only known members, and an
 * error names the nearest one. The read_* functions: one member each, its type and its bounds, the
 * error starting with its JSON path. read_input: exactly one of text and image.
 *
 * Errors of the envelope stop the call; those of an element of `inputs` are kept in its item and do
 * not affect the others. The only input of a call without `inputs` is read through the same
 * functions with the call's own error.
 *
 * Long strings are cut out before the parser runs (elide.h). Every string is therefore read through
 * string_of, which returns the original and not its placeholder. What is left of a body is bounded,
 * and with it the parser's memory.
 *
 * The tree belongs to codec_parse_json and is freed there. What the call keeps of it is copied
 * (kept_string) or serialised again (context_text), so no pointer into the tree can survive it. */
#include "wire/codec.h"

#include "engine/base/base64.h"
#include "engine/base/doc.h"
#include "engine/content/file_kind.h"
#include "engine/index/index.h"
#include "engine/vision/input_formats.h"
#include "wire/codec_check.h"
#include "wire/codec_context.h"
#include "wire/codec_labels.h"
#include "wire/codec_query.h"
#include "wire/codec_writing.h"
#include "wire/elide.h"
#include "wire/limits.h"

#include <jansson.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    TOKENS_PER_INPUT = 16, /* {"image": "..."}, counts five; the rest is room to report errors */
    CONTEXT_DIGITS_MIN = 15,
    CONTEXT_DIGITS_MAX = 17, /* every double survives this many */
};
/* The largest integer that a JSON number of any spelling holds exactly. */
static const long long integer_max = 9007199254740992;

/* One JSON body being read. */
struct reader {
    json_t *tree;
    struct predict_call *call;
    struct arena *arena;
    const struct elided *elided;
    struct interrupt *interrupt;     /* NULL: none */
    const struct codec_query *query; /* likewise */
};

struct string {
    const char *bytes;
    size_t len;
};

static enum err_code wrong_type(const char *path, const char *key, const char *expected,
                                const json_t *value, struct err *err)
{
    return err_set(err, ERR_UNUSABLE, "%s.%s: expected %s, found %s", path, key, expected,
                   doc_type_name(value));
}

/* ---- values ---- */

static struct string string_of(const struct reader *reader, const json_t *value)
{
    const char *bytes = json_string_value(value);
    size_t len = json_string_length(value);
    const struct elided_span *span = elide_find(reader->elided, bytes, len);
    if (span != NULL)
        return (struct string){.bytes = span->bytes, .len = span->len};
    return (struct string){.bytes = bytes, .len = len};
}

/* For the call: what lies in the tree is copied, NUL-terminated. bytes is NULL without memory. */
static struct string kept_string(const struct reader *reader, const json_t *value)
{
    struct string string = string_of(reader, value);
    if (string.bytes == json_string_value(value))
        string.bytes = arena_copy(reader->arena, string.bytes, string.len);
    return string;
}

/* A printable string, or a number of which the text is taken; *out stays as it is if there is none.
 */
static enum err_code read_label(const struct reader *reader, const json_t *object, const char *path,
                                const char *key, size_t bytes_max, const char **out,
                                struct err *err)
{
    char digits[DOC_NUMBER_BYTES];
    const json_t *value = doc_member(object, key);
    if (value == NULL)
        return ERR_OK;
    bool is_number = strcmp(key, "id") == 0 && doc_number_text(value, digits);
    if (!json_is_string(value) && !is_number)
        return wrong_type(path, key, "a string", value, err);
    struct string label =
        is_number ? (struct string){digits, strlen(digits)} : string_of(reader, value);
    if (codec_check_label(label.bytes, label.len, bytes_max, path, key, err))
        return err->code;
    const char *kept =
        is_number ? arena_copy(reader->arena, digits, label.len) : kept_string(reader, value).bytes;
    if (kept == NULL)
        return err_no_memory(err, label.len + 1);
    *out = kept;
    return ERR_OK;
}

/* ---- options ---- */

static enum err_code read_top_k(const struct reader *reader, struct err *err)
{
    const json_t *value = doc_member(reader->tree, "top_k");
    long long top_k = 1;
    if (value == NULL)
        return ERR_OK;
    if (json_is_string(value)) {
        struct string word = string_of(reader, value);
        if (word.len != 3 || memcmp(word.bytes, "all", 3) != 0)
            return err_set(err, ERR_UNUSABLE,
                           "$.top_k: expected an integer or \"all\", found another string");
        reader->call->top_k = TOP_K_ALL;
        return ERR_OK;
    }
    if (!json_is_number(value))
        return wrong_type("$", "top_k", "an integer or \"all\"", value, err);
    if (doc_get_integer(reader->tree, "$", "top_k", 1, integer_max, &top_k, err))
        return err->code;
    reader->call->top_k = top_k > (long long)UINT_MAX ? UINT_MAX : (unsigned)top_k;
    return ERR_OK;
}

static enum err_code read_explanation(const struct reader *reader, struct err *err)
{
    const json_t *value = doc_member(reader->tree, "explain");
    struct predict_call *call = reader->call;
    long long layer = 0;
    call->explain = value != NULL && !json_is_false(value);
    if (call->explain)
        call->how.method = EXPLAIN_DEFAULT;
    if (call->explain && !json_is_true(value)) {
        if (!json_is_string(value))
            return wrong_type("$", "explain", "true, false or a method's name", value, err);
        struct string word = string_of(reader, value);
        if (codec_check_method(word.bytes, word.len, "$", &call->how.method, err))
            return err->code;
    }
    if (doc_get_bool(reader->tree, "$", "overlay", &call->overlay, err) ||
        doc_get_bool(reader->tree, "$", "attention_stats", &call->how.statistics, err) ||
        doc_get_integer(reader->tree, "$", "explain_layer", 1, CODEC_LAYER_MAX, &layer, err))
        return err->code;
    call->how.layer = (unsigned)layer;
    return ERR_OK;
}

static enum err_code read_word(const struct reader *reader, const char *key, struct err *err)
{
    const json_t *value = doc_member(reader->tree, key);
    if (value == NULL)
        return ERR_OK;
    if (!json_is_string(value))
        return wrong_type("$", key, "a string", value, err);
    struct string word = string_of(reader, value);
    return codec_check_word(reader->call, key, word.bytes, word.len, "$", err);
}

static enum err_code read_vector(const struct reader *reader, struct err *err)
{
    struct predict_call *call = reader->call;
    long long dimensions = 0;
    if (doc_get_integer(reader->tree, "$", "dimensions", 1, INT_MAX, &dimensions, err) ||
        doc_get_bool(reader->tree, "$", "normalize", &call->vector.is_scaled, err))
        return err->code;
    call->vector.dimensions = (unsigned)dimensions;
    call->refuses_unit = json_is_false(doc_member(reader->tree, "normalize"));
    return read_word(reader, "encoding", err) ? err->code : read_word(reader, "chunks", err);
}

/* Options of a question, by the names of transformers. */
static enum err_code read_asking(const struct reader *reader, struct err *err)
{
    struct engine_question *asking = &reader->call->asking;
    json_t *tree = reader->tree;
    long long stride = -1, tokens = 0, length = 0;
    bool aligns = true;
    if (doc_get_integer(tree, "$", "doc_stride", 0, CODEC_QUESTION_TOKENS_MAX, &stride, err) ||
        doc_get_integer(tree, "$", "max_seq_len", 1, CODEC_QUESTION_TOKENS_MAX, &tokens, err) ||
        doc_get_integer(tree, "$", "max_answer_len", 1, CODEC_QUESTION_TOKENS_MAX, &length, err) ||
        doc_get_bool(tree, "$", "handle_impossible_answer", &asking->may_be_empty, err) ||
        doc_get_bool(tree, "$", "align_to_words", &aligns, err))
        return err->code;
    asking->overlap = (unsigned)(stride + 1);
    asking->tokens_max = (unsigned)tokens;
    asking->length_max = (unsigned)length;
    asking->keeps_tokens = !aligns;
    return ERR_OK;
}

static enum err_code read_options(const struct reader *reader, struct err *err)
{
    struct predict_call *call = reader->call;
    json_t *tree = reader->tree;
    long long deadline_ms = 0;
    if (read_label(reader, tree, "$", "model", LIMIT_MODEL_NAME_BYTES, &call->model, err) ||
        read_label(reader, tree, "$", "prompt_name", LIMIT_ID_BYTES, &call->prompt_name, err) ||
        read_top_k(reader, err) ||
        doc_get_integer(tree, "$", "deadline_ms", 1, CODEC_DEADLINE_MS_MAX, &deadline_ms, err) ||
        read_explanation(reader, err) || read_word(reader, "long_text", err) ||
        read_word(reader, "aggregation", err) || read_vector(reader, err) ||
        read_asking(reader, err) || doc_get_bool(tree, "$", "stream", &call->stream, err) ||
        codec_writing_read(&call->writing, tree, "$", reader->elided, reader->arena, err) ||
        doc_get_bool(tree, "$", "keep", &call->keep, err) ||
        codec_labels_read(&call->labels, tree, reader->elided, reader->arena, err) ||
        codec_context_read(json_object_get(tree, "context"), "$", reader->elided,
                           CODEC_CONTEXT_OF_CALL, reader->arena, &call->context, &call->lot, err))
        return err->code;
    call->deadline_ms = (unsigned)deadline_ms;
    long long similar = call->similar;
    if (doc_get_integer(tree, "$", call->wish == WISH_SIMILAR ? "k" : "similar", 1,
                        INDEX_NEIGHBOURS_MAX, &similar, err))
        return err->code;
    call->similar = (unsigned)similar;
    if (reader->query != NULL && codec_query_merge(call, reader->query, tree, reader->arena, err))
        return err->code;
    if (codec_check_explain(call, codec_query_place_of_explain(reader->query), err))
        return err->code;
    return codec_labels_check(&call->labels, codec_query_place_of_labels(reader->query), err);
}

/* ---- inputs ---- */

/* The value of a member, for the call. */
static enum err_code read_string(const struct reader *reader, const json_t *value, const char *path,
                                 const char *key, struct string *out, struct err *err)
{
    if (!json_is_string(value))
        return wrong_type(path, key, "a string", value, err);
    *out = kept_string(reader, value);
    return out->bytes != NULL ? ERR_OK : err_no_memory(err, out->len + 1);
}

static enum err_code read_text(const struct reader *reader, const json_t *value, const char *path,
                               struct predict_item *item, struct err *err)
{
    struct string text = {NULL, 0};
    if (read_string(reader, value, path, "text", &text, err))
        return err->code;
    if (text.len == 0)
        return err_set(err, ERR_UNUSABLE, "%s.text: empty", path);
    *item = (struct predict_item){
        .source = {.kind = ENGINE_TEXT, .bytes = text.bytes, .len = text.len, .is_utf8 = true}};
    return ERR_OK;
}

/* The second text of a pair, and a question. An empty pair is none, as for the tokenizers of
 * record. */
static enum err_code read_seconds(const struct reader *reader, const json_t *object,
                                  const char *path, struct predict_item *item, struct err *err)
{
    static const char *const keys[] = {"text_pair", "question"};
    struct string texts[2] = {{NULL, 0}, {NULL, 0}};
    for (int i = 0; i < 2; i++) {
        const json_t *value = doc_member(object, keys[i]);
        if (value == NULL)
            continue;
        if (doc_member(object, "text") == NULL)
            return err_set(err, ERR_UNUSABLE, "%s.%s: it goes with \"text\", which is missing",
                           path, keys[i]);
        if (read_string(reader, value, path, keys[i], &texts[i], err))
            return err->code;
    }
    item->source.pair = texts[0].len > 0 ? texts[0].bytes : NULL;
    item->source.pair_len = texts[0].len;
    item->source.question.text = texts[1].bytes;
    item->source.question.len = texts[1].len;
    return ERR_OK;
}

/* Nothing is fetched for a client. */
static bool names_a_file(struct string text)
{
    static const char *const begins[] = {"/", "./", "../", "~", "file:", "data:"};
    if (memmem(text.bytes, text.len < 32 ? text.len : 32, "://", 3) != NULL ||
        (text.len > 2 && text.bytes[1] == ':' && text.bytes[2] == '\\'))
        return true;
    if (text.len >= 4 && memcmp(text.bytes, "/9j/", 4) == 0) /* a JPEG that is damaged */
        return false;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (text.len >= strlen(begins[i]) &&
            strncasecmp(text.bytes, begins[i], strlen(begins[i])) == 0 && text.len < PATH_MAX)
            return true;
    return input_format_of_name(text.bytes, text.len) != NULL ||
           file_kind_names_picture(text.bytes, text.len);
}

static enum err_code refuse_base64(struct string text, const char *path, struct err *err)
{
    if (err->code != ERR_UNUSABLE)
        return err->code;
    if (elide_data_prefix(text.bytes, text.len) > 0 || !names_a_file(text))
        return err_prefix(err, "%s.image: not base64: ", path);
    *err = (struct err){0};
    return err_set(err, ERR_UNUSABLE,
                   "%s.image: this is a URL or a path, not a picture: send the picture's bytes in "
                   "base64",
                   path);
}

static enum err_code read_image(const struct reader *reader, const json_t *value, const char *path,
                                struct predict_item *item, struct err *err)
{
    if (!json_is_string(value))
        return wrong_type(path, "image", "a string", value, err);
    struct string text = string_of(reader, value);
    size_t prefix = elide_data_prefix(text.bytes, text.len), len = 0;
    size_t size = base64_sent_size(text.len - prefix);
    char *bytes = arena_alloc(reader->arena, size);
    if (bytes == NULL)
        return err_no_memory(err, size);
    if (base64_decode_sent(bytes, &len, text.bytes + prefix, text.len - prefix, prefix,
                           reader->interrupt, err))
        return refuse_base64(text, path, err);
    if (len == 0)
        return err_set(err, ERR_UNUSABLE, "%s.image: empty", path);
    *item = (struct predict_item){.source = {.kind = ENGINE_IMAGE, .bytes = bytes, .len = len}};
    return ERR_OK;
}

/* Exactly one of text and image, of the call or of an element of inputs. */
static enum err_code read_input(const struct reader *reader, const json_t *object, const char *path,
                                struct predict_item *item, struct err *err)
{
    const json_t *text = doc_member(object, "text"), *image = doc_member(object, "image");
    if (text != NULL && image != NULL)
        return err_set(err, ERR_UNUSABLE, "%s: expected one of \"text\" and \"image\", found both",
                       path);
    if (text != NULL && read_text(reader, text, path, item, err))
        return err->code;
    if (text != NULL || doc_member(object, "text_pair") != NULL ||
        doc_member(object, "question") != NULL)
        return read_seconds(reader, object, path, item, err);
    if (image != NULL)
        return read_image(reader, image, path, item, err);
    return err_set(err, ERR_UNUSABLE, "%s: expected \"text\" or \"image\", found neither", path);
}

/* An element of inputs, or a line: then the path is "$", and options stand in the query. */
static enum err_code check_item_members(json_t *object, const char *path, struct err *err)
{
    const bool is_line = strcmp(path, "$") == 0;
    for (void *at = json_object_iter(object); at != NULL; at = json_object_iter_next(object, at)) {
        const char *name = json_object_iter_key(at);
        if (strcmp(name, "inputs") != 0 && !codec_check_listed(name, &codec_names_item) &&
            (codec_check_listed(name, &codec_names_call) || strcmp(name, "k") == 0))
            return err_set(err, ERR_UNUSABLE,
                           is_line ? "%s.%s: options are for all lines; put it into the query"
                                   : "%s.%s: options are for the whole call; put it beside "
                                     "\"inputs\"",
                           path, name);
    }
    return codec_check_members(object, path, &codec_names_item, err);
}

static void read_item(const struct reader *reader, json_t *object, const char *path,
                      struct predict_item *item)
{
    struct predict_item names = {0};
    struct err err = {0};
    if (!json_is_object(object)) {
        err_set(&err, ERR_UNUSABLE, "%s: expected an object, found %s", path,
                doc_type_name(object));
        goto out;
    }
    if (check_item_members(object, path, &err) ||
        read_label(reader, object, path, "id", LIMIT_ID_BYTES, &names.id, &err))
        goto out;
    if (names.id != NULL && names.id[0] == '\0') /* as if absent, as the call's */
        names.id = NULL;
    /* The context names the lot, wafer or tool, for a person who reads the answers. */
    if (codec_context_read(json_object_get(object, "context"), path, reader->elided,
                           CODEC_CONTEXT_OF_ITEM, reader->arena, &names.context, &names.lot, &err))
        goto out;
    read_input(reader, object, path, item, &err);
out:
    item->id = names.id;
    item->context = names.context;
    item->lot = names.lot;
    item->err = err;
}

static enum err_code refuse_inputs(size_t count, unsigned inputs_max, struct err *err)
{
    return err_set(err, ERR_TOO_LARGE, "$.inputs: at most %u inputs, found %zu", inputs_max, count);
}

static enum err_code items_create(const struct reader *reader, size_t count, struct err *err)
{
    struct predict_call *call = reader->call;
    call->items = arena_alloc_array(reader->arena, count, sizeof *call->items);
    if (call->items == NULL)
        return err_no_memory(err, count * sizeof *call->items);
    call->item_count = (unsigned)count;
    return ERR_OK;
}

static enum err_code read_inputs(const struct reader *reader, const json_t *inputs,
                                 unsigned inputs_max, struct err *err)
{
    const struct predict_call *call = reader->call;
    if (doc_member(reader->tree, "text") != NULL || doc_member(reader->tree, "image") != NULL ||
        doc_member(reader->tree, "text_pair") != NULL ||
        doc_member(reader->tree, "question") != NULL)
        return err_set(err, ERR_UNUSABLE,
                       "$: \"inputs\" stands alone; put \"text\" and \"image\" into its elements");
    if (!json_is_array(inputs))
        return wrong_type("$", "inputs", "an array", inputs, err);
    const size_t count = json_array_size(inputs);
    if (count == 0)
        return err_set(err, ERR_UNUSABLE, "$.inputs: empty");
    if (count > inputs_max)
        return refuse_inputs(count, inputs_max, err);
    if (items_create(reader, count, err))
        return err->code;
    reader->call->envelope = true;
    for (unsigned i = 0; i < call->item_count; i++) {
        char path[32];
        snprintf(path, sizeof path, "$.inputs[%u]", i);
        read_item(reader, json_array_get(inputs, i), path, &call->items[i]);
        if (call->items[i].err.code == ERR_NO_MEMORY)
            return err_set(err, ERR_NO_MEMORY, "%s", call->items[i].err.text);
    }
    return ERR_OK;
}

/* The id comes first, so that it is known whatever is wrong with the rest. */
static enum err_code read_call(const struct reader *reader, const struct codec_limits *limits,
                               struct err *err)
{
    json_t *root = reader->tree;
    struct predict_call *call = reader->call;
    if (!json_is_object(root))
        return err_set(err, ERR_UNUSABLE, "$: expected an object, found %s", doc_type_name(root));
    const struct codec_names *members = limits->members != NULL ? limits->members
                                        : limits->is_search     ? &codec_names_search
                                                                : &codec_names_call;
    read_label(reader, root, "$", "id", LIMIT_ID_BYTES, &call->id, err);
    if (call->id != NULL && call->id[0] == '\0')
        call->id = NULL;
    if (err->code != ERR_OK || codec_check_members(root, "$", members, err) ||
        read_options(reader, err))
        return err->code;
    const json_t *inputs = doc_member(root, "inputs");
    if (inputs != NULL)
        return read_inputs(reader, inputs, limits->inputs_max, err);
    if (limits->members == NULL && doc_member(root, "text") == NULL &&
        doc_member(root, "image") == NULL && doc_member(root, "text_pair") == NULL &&
        doc_member(root, "question") == NULL)
        return err_set(err, ERR_UNUSABLE,
                       "$: expected one of \"text\", \"image\" and \"inputs\", found none");
    if (items_create(reader, 1, err))
        return err->code;
    return read_input(reader, root, "$", &reader->call->items[0], err);
}

static void place(const struct predict_call *call, unsigned index, char out[CALL_PLACE_BYTES])
{
    const char *member = call->items[index].source.kind == ENGINE_TEXT ? "text" : "image";
    if (call->envelope && !call->is_lines)
        snprintf(out, CALL_PLACE_BYTES, "$.inputs[%u].%s", index, member);
    else
        snprintf(out, CALL_PLACE_BYTES, "$.%s", member);
}

/* ---- the interface ---- */

static struct doc_limits json_limits_of(const struct codec_limits *limits)
{
    struct doc_limits json = doc_limits_request;
    json.depth_max = LIMIT_JSON_DEPTH;
    json.tokens_max += (size_t)limits->inputs_max * TOKENS_PER_INPUT;
    json.bytes_max = LIMIT_JSON_BYTES + (size_t)limits->inputs_max * ELIDE_BYTES_MIN;
    return json;
}

static size_t lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* jansson: an empty object, the most expensive value, takes 240 bytes for its two tokens; a string
 * lies there once, and up to twice more in the lexer's buffer. It sees the body without its long
 * strings, shortened in a copy; those are decoded, from escapes and from base64. The shortest input
 * has eight bytes, the shortest string that is cut nine with the comma behind it. */
size_t codec_parse_bytes(size_t len, const struct codec_limits *limits)
{
    enum { TOKEN_BYTES = 128, TEXT_COPIES = 5, ITEM_BYTES_MIN = 8, STRING_BYTES_MIN = 9 };
    const struct doc_limits json = json_limits_of(limits);
    const size_t tokens = lesser(len, json.tokens_max), seen = lesser(len, json.bytes_max);
    const size_t items = lesser(len / ITEM_BYTES_MIN + 1, limits->inputs_max);
    const size_t strings = lesser(len / STRING_BYTES_MIN, json.tokens_max / 2);
    return tokens * TOKEN_BYTES + seen * TEXT_COPIES + 2 * len +
           items * sizeof(struct predict_item) +
           strings * (4 * sizeof(struct elided_span) + ARENA_ALIGNMENT);
}

void codec_lines_init(struct predict_call *out)
{
    *out = (struct predict_call){.top_k = 1,
                                 .model_place = "?model",
                                 .place = place,
                                 .keep = true,
                                 .envelope = true,
                                 .is_lines = true};
}

/* The tree lives as long as the line's call of codec_parse_line. */
size_t codec_line_bytes(size_t len, size_t *tree)
{
    enum { COPIES = 3, STRING_BYTES_MIN = 9 };
    const struct codec_limits limits = {.inputs_max = 1};
    const size_t most = json_limits_of(&limits).tokens_max / 2;
    const size_t strings = lesser(len / STRING_BYTES_MIN, most);
    *tree = codec_parse_bytes(len, &limits);
    return memory_sum(memory_product(len, COPIES),
                      strings * (4 * sizeof(struct elided_span) + ARENA_ALIGNMENT) +
                          2 * ARENA_ALIGNMENT);
}

void codec_parse_line(struct predict_item *out, const char *line, size_t len,
                      struct interrupt *interrupt, struct arena *arena)
{
    const struct doc_limits json = json_limits_of(&(struct codec_limits){.inputs_max = 1});
    struct elided elided;
    struct err err = {0};
    struct reader reader = {.arena = arena, .elided = &elided, .interrupt = interrupt};
    *out = (struct predict_item){.err = {0}};
    if (!elide_strings(&elided, line, len, json.tokens_max, arena, &err) &&
        !doc_parse_mapped(&reader.tree, elided.text, elided.len, &json, elide_origin, &elided,
                          &err))
        read_item(&reader, reader.tree, "$", out);
    if (err.code != ERR_OK)
        out->err = err;
    doc_free(reader.tree);
}

enum err_code codec_parse_json(struct predict_call *out, const char *body, size_t len,
                               const struct codec_limits *limits, struct arena *arena,
                               struct err *err)
{
    *out = (struct predict_call){.top_k = 1,
                                 .model_place = "$.model",
                                 .place = place,
                                 .keep = !limits->is_search,
                                 .wish = limits->is_search ? WISH_SIMILAR : WISH_ANY,
                                 .similar = limits->is_search ? CODEC_SIMILAR_DEFAULT : 0};
    const struct doc_limits json = json_limits_of(limits);
    struct elided elided;
    size_t inputs;
    if (elide_strings(&elided, body, len, json.tokens_max, arena, err))
        return err->code;
    if (elided.fault != ERR_OK && elided.len > json.bytes_max) /* because of this string */
        return err_set(err, elided.fault, "%s at byte %zu",
                       elided.fault == ERR_UNUSABLE ? "invalid UTF-8" : "not valid JSON",
                       elided.fault_at);
    struct reader reader = {.call = out,
                            .arena = arena,
                            .elided = &elided,
                            .interrupt = limits->interrupt,
                            .query = limits->query};
    if (!doc_parse_mapped(&reader.tree, elided.text, elided.len, &json, elide_origin, &elided, err))
        read_call(&reader, limits, err);
    else if (err->code == ERR_TOO_LARGE &&
             (inputs = codec_inputs_count(elided.text, elided.len)) > limits->inputs_max) {
        /* Whoever sent too many tokens has most likely sent too many inputs. */
        *err = (struct err){0};
        refuse_inputs(inputs, limits->inputs_max, err);
    }
    doc_free(reader.tree);
    if (out->id == NULL && limits->query != NULL)
        out->id = limits->query->asked.id;
    return err->code;
}
