#include "server/feedback/feedback_line.h"

#include "engine/base/doc.h"
#include "server/observe/json_line.h"

#include <limits.h>
#include <string.h>

static const char *const types[] = {[FEEDBACK_LINE_PREDICTION] = "prediction",
                                    [FEEDBACK_LINE_GIVEN] = "feedback",
                                    [FEEDBACK_LINE_REMOVED] = "feedback_removed"};
enum { KINDS = sizeof types / sizeof types[0] };

/* Names of one label, of a text, and of a set of labels. */
struct names {
    const char *label, *output, *labels;
};
static const struct names predicted = {"predicted", "predicted_output", "predicted_labels"},
                          right = {"label", "output", "labels"},
                          replaced = {"replaced", "replaced_output", "replaced_labels"};

static void put(struct json_line *json, const struct names *names, bool is_text, const char *text,
                const struct feedback_labels *labels)
{
    if (labels->texts != NULL)
        json_line_list(json, names->labels, labels->texts, labels->count);
    else if (text != NULL)
        json_line_text(json, is_text ? names->output : names->label, text);
}

enum err_code feedback_line_write(struct audit_members *out, const struct feedback_line *line,
                                  struct arena *arena, struct err *err)
{
    char bytes[FEEDBACK_TEXT_LINE_BYTES];
    struct json_line json = {.bytes = bytes, .size = sizeof bytes, .is_inside = true};
    json_line_text(&json, "type", types[line->kind]);
    json_line_text(&json, "id", line->id);
    json_line_number(&json, "index", line->index);
    json_line_text(&json, "model", line->model);
    json_line_text(&json, "version", line->version);
    if (line->is_text && line->predicted == NULL)
        json_line_text(&json, predicted.output, NULL);
    put(&json, &predicted, line->is_text, line->predicted, &line->predicted_labels);
    put(&json, &right, line->is_text, line->is_text ? line->output : line->label, &line->labels);
    if (line->is_text && line->kind == FEEDBACK_LINE_GIVEN) {
        json_line_number(&json, "edits", line->edits.count);
        json_line_number(&json, "characters", line->edits.characters);
    }
    json_line_text(&json, "decision", decision_name(line->decision));
    if (line->is_new)
        json_line_json(&json, "new", "true");
    if (line->source != NULL)
        json_line_text(&json, "source", line->source);
    put(&json, &replaced, line->is_text, line->replaced, &line->replaced_labels);
    if (line->key != NULL)
        json_line_text(&json, "key", line->key);
    if (json.is_cut)
        json_line_json(&json, "cut", "true");
    out->text = arena_copy(arena, bytes, json.len);
    out->len = json.len;
    return out->text != NULL ? ERR_OK : err_no_memory(err, json.len);
}

/* ---- reading ---- */

/* The type is the third member, so it stands near the start. */
enum feedback_line_kind feedback_line_glance(const char *text, size_t len)
{
    enum { NEAR = 128 };
    static const char before[] = "\"type\":\"";
    const char *type = memmem(text, len < NEAR ? len : NEAR, before, sizeof before - 1);
    if (type == NULL)
        return FEEDBACK_LINE_OTHER;
    type += sizeof before - 1;
    for (unsigned kind = FEEDBACK_LINE_PREDICTION; kind < KINDS; kind++) {
        size_t word = strlen(types[kind]), room = len - (size_t)(type - text);
        if (room > word && memcmp(type, types[kind], word) == 0 && type[word] == '"')
            return (enum feedback_line_kind)kind;
    }
    return FEEDBACK_LINE_OTHER;
}

struct reader {
    const struct json_t *root;
    struct arena *arena;
    struct err *err;
};

/* A copy; NULL: the line lacks it. */
static const char *text_of(const struct reader *reader, const char *key)
{
    const char *text = doc_as_string(doc_member(reader->root, key));
    const char *copy = text != NULL ? arena_copy(reader->arena, text, strlen(text)) : NULL;
    if (text != NULL && copy == NULL)
        err_no_memory(reader->err, strlen(text));
    return copy;
}

/* Texts NULL: the line lacks the list, or it is none of so many texts. */
static struct feedback_labels labels_of(const struct reader *reader, const char *key)
{
    const struct json_t *list = doc_member(reader->root, key);
    const size_t count = doc_array_count(list);
    struct feedback_labels labels = {0};
    if (list == NULL || strcmp(doc_type_name(list), "an array") != 0 || count > OUTCOME_SET_LABELS)
        return labels;
    const char **texts = arena_alloc_array(reader->arena, count + 1, sizeof *texts);
    for (size_t i = 0; texts != NULL && i < count; i++) {
        const char *text = doc_as_string(doc_array_item(list, i));
        texts[i] = text != NULL ? arena_copy(reader->arena, text, strlen(text)) : NULL;
        if (text == NULL)
            return labels;
        if (texts[i] == NULL)
            texts = NULL;
    }
    if (texts == NULL)
        err_no_memory(reader->err, count * sizeof *texts);
    return (struct feedback_labels){texts, (unsigned)count};
}

static bool read_decision(const struct reader *reader, enum decision *out)
{
    const char *word = doc_as_string(doc_member(reader->root, "decision"));
    for (unsigned i = 0; word != NULL && i < DECISION_COUNT; i++)
        if (strcmp(word, decision_name((enum decision)i)) == 0) {
            *out = (enum decision)i;
            return true;
        }
    return false;
}

/* Reads the texts of a line that has some, and then no labels: a prediction's own is what was
 * predicted, and null if a rule was broken. False: a text was cut, or is missing. */
static bool read_text(const struct reader *reader, struct feedback_line *out)
{
    const bool is_prediction = out->kind == FEEDBACK_LINE_PREDICTION;
    long long edits = -1, characters = -1;
    out->is_text = doc_member(reader->root, "output") != NULL ||
                   (is_prediction && doc_member(reader->root, "broken_rule") != NULL);
    if (!out->is_text)
        return true;
    out->predicted = text_of(reader, is_prediction ? "output" : predicted.output);
    out->output = is_prediction ? NULL : text_of(reader, "output");
    out->label = NULL;
    out->predicted_labels = out->labels = (struct feedback_labels){0};
    doc_as_integer(doc_member(reader->root, "edits"), &edits);
    doc_as_integer(doc_member(reader->root, "characters"), &characters);
    out->edits = (struct edits){(unsigned)edits, (unsigned)characters};
    return doc_member(reader->root, "cut") == NULL &&
           (out->kind != FEEDBACK_LINE_GIVEN ||
            (out->output != NULL && edits >= 0 && edits <= UINT_MAX && characters >= 0 &&
             characters <= UINT_MAX));
}

static void read_members(const struct reader *reader, struct feedback_line *out)
{
    bool is_prediction = out->kind == FEEDBACK_LINE_PREDICTION;
    long long seq = 0, index = -1;
    bool has_numbers = doc_as_integer(doc_member(reader->root, "seq"), &seq) &&
                       doc_as_integer(doc_member(reader->root, "index"), &index) && seq > 0 &&
                       index >= 0 && index <= UINT_MAX;
    out->seq = (uint64_t)seq;
    out->index = (unsigned)index;
    out->id = text_of(reader, "id");
    out->model = text_of(reader, "model");
    out->version = text_of(reader, "version");
    out->predicted = text_of(reader, is_prediction ? "label" : "predicted");
    out->label = is_prediction ? NULL : text_of(reader, "label");
    out->predicted_labels = labels_of(reader, is_prediction ? "labels" : "predicted_labels");
    if (!is_prediction)
        out->labels = labels_of(reader, "labels");
    out->key = text_of(reader, "key");
    doc_get_bool(reader->root, "$", "new", &out->is_new, &(struct err){0});
    doc_get_bool(reader->root, "$", "sampled", &out->is_sampled, &(struct err){0});
    bool is_whole =
        read_text(reader, out) && has_numbers && read_decision(reader, &out->decision) &&
        out->id != NULL && out->model != NULL && out->version != NULL &&
        (out->is_text || out->predicted != NULL || out->labels.texts != NULL) &&
        (out->is_text || is_prediction || out->label != NULL || out->labels.texts != NULL);
    /* Answers in labels that came with the call are not remembered. */
    if (!is_whole || (is_prediction && doc_member(reader->root, "candidate_labels") != NULL))
        out->kind = FEEDBACK_LINE_OTHER;
}

enum err_code feedback_line_read(struct feedback_line *out, const char *text, size_t len,
                                 struct arena *arena, struct err *err)
{
    struct json_t *root;
    struct err ignored = {0};
    *out = (struct feedback_line){.kind = feedback_line_glance(text, len)};
    if (out->kind == FEEDBACK_LINE_OTHER)
        return ERR_OK;
    if (doc_parse(&root, text, len, &doc_limits_request, &ignored)) {
        out->kind = FEEDBACK_LINE_OTHER;
        return ignored.code == ERR_NO_MEMORY ? err_no_memory(err, len) : ERR_OK;
    }
    read_members(&(struct reader){root, arena, err}, out);
    doc_free(root);
    return err->code;
}
