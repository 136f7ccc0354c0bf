#include "server/json/codec_feedback.h"

#include "engine/base/doc.h"
#include "engine/statistics/statistics.h"
#include "server/feedback/feedback_line.h"
#include "wire/codec_check.h"
#include "wire/codec_dump.h"
#include "wire/limits.h"
#include "wire/problem.h"

#include <jansson.h>

#include <stdio.h>
#include <string.h>

enum {
    TOKENS_PER_ITEM = 16 + 2 * OUTCOME_SET_LABELS, /* all members take fifteen, and a set */
    TEXT_COPIES = 5
};

/* ---- reading ---- */

struct reader {
    const char *path; /* of the object that is read */
    struct arena *arena;
};

/* A printable string, or the text of a number that is an id or a label; *out stays NULL if there is
 * none. */
static enum err_code read_string(const struct reader *reader, const json_t *object, const char *key,
                                 size_t bytes_max, const char **out, struct err *err)
{
    char digits[DOC_NUMBER_BYTES];
    const char *text = NULL;
    bool may_be_number = strcmp(key, "id") == 0 || strcmp(key, "label") == 0;
    if (may_be_number && doc_number_text(doc_member(object, key), digits))
        text = digits;
    else if (doc_get_string(object, reader->path, key, &text, err) || text == NULL)
        return err->code;
    size_t len = strlen(text);
    if (codec_check_label(text, len, bytes_max, reader->path, key, err))
        return err->code;
    *out = arena_copy(reader->arena, text, len);
    return *out != NULL ? ERR_OK : err_no_memory(err, len);
}

static enum err_code read_needed(const struct reader *reader, const json_t *object, const char *key,
                                 size_t bytes_max, const char **out, struct err *err)
{
    if (read_string(reader, object, key, bytes_max, out, err))
        return err->code;
    if (*out == NULL)
        return err_set(err, ERR_UNUSABLE, "%s: expected \"%s\", found none", reader->path, key);
    return (*out)[0] != '\0' ? ERR_OK
                             : err_set(err, ERR_UNUSABLE, "%s.%s: empty", reader->path, key);
}

/* A right text, which may be empty and have lines; *out stays NULL if there is none. */
static enum err_code read_output(const struct reader *reader, const json_t *object,
                                 const char **out, struct err *err)
{
    const char *text = NULL;
    if (doc_get_string(object, reader->path, "output", &text, err) || text == NULL)
        return err->code;
    const size_t len = strlen(text);
    if (len > LIMIT_OUTPUT_BYTES)
        return err_set(err, ERR_UNUSABLE, "%s.output: at most %d bytes, found %zu", reader->path,
                       LIMIT_OUTPUT_BYTES, len);
    for (size_t at = 0, piece; at <= len; at += piece + 1) {
        piece = strcspn(text + at, "\t\n\r");
        if (codec_check_label(text + at, piece, LIMIT_OUTPUT_BYTES, reader->path, "output", err))
            return err->code;
    }
    *out = arena_copy(reader->arena, text, len);
    return *out != NULL ? ERR_OK : err_no_memory(err, len);
}

/* One of the three says what is right. */
static enum err_code check_right(const struct reader *reader, const json_t *object, struct err *err)
{
    static const char *const names[] = {"label", "labels", "output"};
    const char *first = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const json_t *value = json_object_get(object, names[i]);
        if (value == NULL || json_is_null(value))
            continue;
        if (first != NULL)
            return err_set(err, ERR_UNUSABLE, "%s: \"%s\" and \"%s\" exclude each other",
                           reader->path, first, names[i]);
        first = names[i];
    }
    if (first == NULL)
        return err_set(err, ERR_UNUSABLE,
                       "%s: expected \"label\", or of a text \"output\", found none", reader->path);
    return ERR_OK;
}

/* The set of right labels; *out stays empty if there is none. */
static enum err_code read_labels(const struct reader *reader, const json_t *object,
                                 struct feedback_labels *out, struct err *err)
{
    const json_t *list = json_object_get(object, "labels");
    const size_t count = json_array_size(list);
    if (list == NULL || json_is_null(list))
        return ERR_OK;
    if (!json_is_array(list))
        return err_set(err, ERR_UNUSABLE, "%s.labels: expected an array, found %s", reader->path,
                       doc_type_name(list));
    if (count > OUTCOME_SET_LABELS)
        return err_set(err, ERR_TOO_LARGE, "%s.labels: at most %d labels, found %zu", reader->path,
                       OUTCOME_SET_LABELS, count);
    out->texts = arena_alloc_array(reader->arena, count + 1, sizeof *out->texts);
    if (out->texts == NULL)
        return err_no_memory(err, count * sizeof *out->texts);
    for (unsigned i = 0; i < count; i++) {
        const json_t *text = json_array_get(list, i);
        char name[32];
        snprintf(name, sizeof name, "labels[%u]", i);
        if (!json_is_string(text))
            return err_set(err, ERR_UNUSABLE, "%s.%s: expected a string, found %s", reader->path,
                           name, doc_type_name(text));
        if (codec_check_label(json_string_value(text), json_string_length(text), LIMIT_LABEL_BYTES,
                              reader->path, name, err))
            return err->code;
        out->texts[i] =
            arena_copy(reader->arena, json_string_value(text), json_string_length(text));
        if (out->texts[i] == NULL)
            return err_no_memory(err, json_string_length(text));
    }
    out->count = (unsigned)count;
    return ERR_OK;
}

static enum err_code read_item(const struct reader *reader, const json_t *object,
                               struct feedback_item *item, struct err *err)
{
    long long index = 0;
    if (!json_is_object(object))
        return err_set(err, ERR_UNUSABLE, "%s: expected an object, found %s", reader->path,
                       doc_type_name(object));
    if (codec_check_members(object, reader->path, &codec_names_feedback, err) ||
        read_needed(reader, object, "id", LIMIT_ID_BYTES, &item->id, err) ||
        check_right(reader, object, err) || read_labels(reader, object, &item->labels, err) ||
        read_output(reader, object, &item->output, err) ||
        (item->labels.texts == NULL && item->output == NULL &&
         read_needed(reader, object, "label", LIMIT_LABEL_BYTES, &item->label, err)) ||
        doc_get_integer(object, reader->path, "index", 0, CODEC_FEEDBACK_INDEX_MAX, &index, err) ||
        read_string(reader, object, "source", LIMIT_SOURCE_BYTES, &item->source, err) ||
        doc_get_bool(object, reader->path, "new", &item->is_new, err))
        return err->code;
    item->index = (unsigned)index;
    return ERR_OK;
}

void codec_feedback_place(const struct feedback_call *call, unsigned index,
                          char out[CODEC_FEEDBACK_PLACE_BYTES])
{
    if (call->is_list)
        snprintf(out, CODEC_FEEDBACK_PLACE_BYTES, "$.feedback[%u]", index);
    else
        snprintf(out, CODEC_FEEDBACK_PLACE_BYTES, "$");
}

static enum err_code make_items(struct feedback_call *out, size_t count, struct arena *arena,
                                struct err *err)
{
    out->items = arena_alloc_array(arena, count, sizeof *out->items);
    if (out->items == NULL)
        return err_no_memory(err, count * sizeof *out->items);
    out->count = (unsigned)count;
    return ERR_OK;
}

static enum err_code read_list(struct feedback_call *out, const json_t *list, unsigned inputs_max,
                               struct arena *arena, struct err *err)
{
    size_t count = json_array_size(list);
    char path[CODEC_FEEDBACK_PLACE_BYTES];
    if (!json_is_array(list))
        return err_set(err, ERR_UNUSABLE, "$.feedback: expected an array, found %s",
                       doc_type_name(list));
    if (count == 0)
        return err_set(err, ERR_UNUSABLE, "$.feedback: empty");
    if (count > inputs_max)
        return err_set(err, ERR_TOO_LARGE, "$.feedback: at most %u labels (inputs_max), found %zu",
                       inputs_max, count);
    if (make_items(out, count, arena, err))
        return err->code;
    out->is_list = true;
    for (unsigned i = 0; i < count; i++) {
        codec_feedback_place(out, i, path);
        const struct reader reader = {.path = path, .arena = arena};
        if (read_item(&reader, json_array_get(list, i), &out->items[i], &out->items[i].err) ==
            ERR_NO_MEMORY)
            return err_set(err, ERR_NO_MEMORY, "%s", out->items[i].err.text);
    }
    return ERR_OK;
}

static struct doc_limits limits_of(unsigned inputs_max)
{
    struct doc_limits limits = doc_limits_request;
    limits.depth_max = LIMIT_JSON_DEPTH;
    limits.tokens_max += (size_t)inputs_max * TOKENS_PER_ITEM;
    limits.bytes_max = LIMIT_UNPOOLED_JSON_BYTES + (size_t)inputs_max * 4096;
    return limits;
}

enum err_code codec_feedback_parse(struct feedback_call *out, const char *body, size_t len,
                                   unsigned inputs_max, struct arena *arena, struct err *err)
{
    const struct doc_limits limits = limits_of(inputs_max);
    const struct reader reader = {.path = "$", .arena = arena};
    json_t *root = NULL;
    *out = (struct feedback_call){0};
    if (doc_parse(&root, body, len, &limits, err))
        goto out;
    const json_t *list = json_object_get(root, "feedback");
    if (!json_is_object(root))
        err_set(err, ERR_UNUSABLE, "$: expected an object, found %s", doc_type_name(root));
    else if (list == NULL && make_items(out, 1, arena, err) == ERR_OK)
        read_item(&reader, root, &out->items[0], err);
    else if (list != NULL && codec_check_members(root, "$", &codec_names_labels, err) == ERR_OK)
        read_list(out, list, inputs_max, arena, err);
out:
    doc_free(root);
    return err->code;
}

/* Memory of the parser as in codec_parse_bytes. Each item adds its audit line, its result once in
 * the tree of the reply and twice in its text, and perhaps a list of the model's labels. */
size_t codec_feedback_bytes(size_t len, unsigned inputs_max)
{
    enum { TOKEN_BYTES = 128, ITEM_BYTES_MIN = 8, RESULT_BYTES = 4096 };
    const struct doc_limits limits = limits_of(inputs_max);
    size_t tokens = len < limits.tokens_max ? len : limits.tokens_max;
    size_t seen = len < limits.bytes_max ? len : limits.bytes_max;
    size_t items = len / ITEM_BYTES_MIN + 1;
    items = items < inputs_max ? items : inputs_max;
    return tokens * TOKEN_BYTES + seen * TEXT_COPIES + CODEC_DUMP_BYTES_BESIDE +
           items * (sizeof(struct feedback_item) + FEEDBACK_LINE_BYTES + RESULT_BYTES);
}

/* Two texts more than the body has, the written one and the one of before: in the arena, in the
 * line and in the reply. */
size_t codec_feedback_texts_bytes(const struct feedback_item *items, unsigned count)
{
    size_t texts = 0;
    for (unsigned i = 0; i < count; i++)
        texts += items[i].output != NULL;
    return texts * (FEEDBACK_TEXT_LINE_BYTES + (size_t)TEXT_COPIES * 2 * LIMIT_OUTPUT_BYTES);
}

/* ---- answering ---- */

/* Names of one label, of a text, and of a set of labels. */
struct names {
    const char *label, *output, *labels;
};
static const struct names right = {"label", "output", "labels"},
                          predicted = {"predicted", "predicted_output", "predicted_labels"},
                          replaced = {"replaced", "replaced_output", "replaced_labels"},
                          removed = {"removed", "removed_output", "removed_labels"};

/* Adds a label or a text, or of a set the list; nothing if there is none of them. */
static int add_label(json_t *object, const struct names *names, bool is_text, const char *label,
                     const struct feedback_labels *labels)
{
    if (labels->texts == NULL)
        return label != NULL
                   ? codec_add(object, is_text ? names->output : names->label, json_string(label))
                   : 0;
    json_t *list = json_array();
    int failed = 0;
    for (unsigned i = 0; i < labels->count; i++)
        failed |= json_array_append_new(list, json_string(labels->texts[i]));
    return failed | codec_add(object, names->labels, list);
}

/* null: no text was written that obeys the rules. */
static int add_predicted(json_t *object, const struct feedback_item *item)
{
    if (item->is_text && item->predicted == NULL)
        return codec_add(object, predicted.output, json_null());
    return add_label(object, &predicted, item->is_text, item->predicted, &item->predicted_labels);
}

static json_t *result_json(const struct feedback_item *item)
{
    if (item->err.code != ERR_OK)
        return problem_document(&item->err, NULL);
    json_t *result = json_object();
    int failed = codec_add(result, "id", json_string(item->id));
    failed |= codec_add(result, "index", json_integer(item->index));
    failed |= add_label(result, &right, item->is_text, item->is_text ? item->output : item->label,
                        &item->labels);
    failed |= add_predicted(result, item);
    failed |= codec_add(result, "correct", json_boolean(item->is_correct));
    if (item->is_text)
        failed |= codec_add(result, "edits", json_integer(item->edits));
    failed |= add_label(result, &replaced, item->is_text, item->replaced, &item->replaced_labels);
    return codec_whole(result, failed);
}

const char *codec_feedback_encode(const struct feedback_call *call, struct arena *arena,
                                  size_t *len)
{
    json_t *reply = json_object(), *results = json_array();
    unsigned accepted = 0;
    int failed = 0;
    for (unsigned i = 0; i < call->count; i++) {
        accepted += call->items[i].err.code == ERR_OK;
        failed |= json_array_append_new(results, result_json(&call->items[i]));
    }
    failed |= codec_add(reply, "accepted", json_integer(accepted));
    failed |= codec_add(reply, "results", results);
    return codec_finish(codec_whole(reply, failed), "", arena, len);
}

const char *codec_feedback_encode_removed(const struct feedback_item *item, struct arena *arena,
                                          size_t *len)
{
    json_t *reply = json_object();
    int failed = codec_add(reply, "id", json_string(item->id));
    failed |= codec_add(reply, "index", json_integer(item->index));
    failed |= add_label(reply, &removed, item->is_text, item->replaced, &item->replaced_labels);
    failed |= add_predicted(reply, item);
    return codec_finish(codec_whole(reply, failed), "", arena, len);
}

/* ---- accuracy ---- */

/* null where there is nothing to divide by */
static json_t *ratio(uint64_t part, uint64_t all)
{
    return all > 0 ? json_real((double)part / (double)all) : json_null();
}

static json_t *share_json(const struct feedback_share *share, bool has_texts)
{
    const struct interval interval = wilson_interval(share->right, share->count);
    json_t *object = json_object();
    int failed = codec_add(object, "value", ratio(share->right, share->count));
    failed |= codec_add(object, "low", json_real(interval.low));
    failed |= codec_add(object, "high", json_real(interval.high));
    failed |= codec_add(object, "n", json_integer((json_int_t)share->count));
    if (has_texts)
        failed |= codec_add(object, "error_rate", ratio(share->edits, share->characters));
    return codec_whole(object, failed);
}

static json_t *classes_json(const struct feedback_accuracy *accuracy)
{
    json_t *object = json_object();
    int failed = 0;
    for (unsigned i = 0; i < accuracy->class_count; i++) {
        const struct feedback_class *class = &accuracy->classes[i];
        json_t *row = json_object();
        failed |= codec_add(row, "precision", ratio(class->right, class->predicted));
        failed |= codec_add(row, "recall", ratio(class->right, class->told));
        failed |= codec_add(row, "support", json_integer((json_int_t) class->told));
        failed |= json_object_set_new(object, class->label, row);
    }
    return codec_whole(object, failed);
}

static json_t *confusion_json(const struct feedback_accuracy *accuracy)
{
    json_t *array = json_array();
    int failed = 0;
    for (unsigned i = 0; i < accuracy->pair_count; i++) {
        const struct feedback_pair *pair = &accuracy->pairs[i];
        json_t *row = json_object();
        failed |= codec_add(row, "label", json_string(pair->label));
        failed |= codec_add(row, "predicted", json_string(pair->predicted));
        failed |= codec_add(row, "count", json_integer((json_int_t)pair->count));
        failed |= json_array_append_new(array, row);
    }
    return codec_whole(array, failed);
}

struct json_t *codec_feedback_accuracy(const struct feedback_accuracy *accuracy,
                                       bool with_confusion)
{
    const struct feedback_weighted *weighted = &accuracy->weighted;
    json_t *object = share_json(&accuracy->all, accuracy->has_texts), *decisions = json_object();
    json_t *estimate = weighted->is_known ? json_object() : json_null(); /* cannot be said: null */
    int failed = 0;
    for (unsigned i = 0; i < DECISION_COUNT; i++)
        failed |= codec_add(decisions, decision_name((enum decision)i),
                            share_json(&accuracy->by_decision[i], accuracy->has_texts));
    if (weighted->is_known) {
        failed |= codec_add(estimate, "value", json_real(weighted->value));
        failed |= codec_add(estimate, "low", json_real(weighted->interval.low));
        failed |= codec_add(estimate, "high", json_real(weighted->interval.high));
        failed |= codec_add(estimate, "n", json_integer((json_int_t)weighted->count));
    }
    failed |= codec_add(object, "by_decision", decisions);
    failed |= codec_add(object, "weighted", estimate);
    if (accuracy->classes != NULL)
        failed |= codec_add(object, "per_class", classes_json(accuracy));
    if (with_confusion)
        failed |= codec_add(object, "confusion", confusion_json(accuracy));
    return codec_whole(object, failed);
}
