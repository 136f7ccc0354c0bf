#include "engine/model/config/candidates.h"

#include "engine/base/doc.h"
#include "engine/base/utf8.h"

#include <stdlib.h>
#include <string.h>

/* ---- checks ---- */

/* True for C0 controls (except tab, line feed and carriage return), DEL and C1 (U+0080 to
 * U+009F). */
static bool has_control(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++)
        if ((*c < 0x20 && *c != '\t' && *c != '\n' && *c != '\r') || *c == 0x7F ||
            (*c == 0xC2 && c[1] < 0xA0))
            return true;
    return false;
}

/* Checks a label or the hypothesis. */
static enum err_code check_text(const char *text, size_t bytes_max, struct err *err)
{
    const size_t len = strlen(text);
    if (text[strspn(text, " \t\r\n")] == '\0')
        return err_set(err, ERR_UNUSABLE, len == 0 ? "empty" : "blank");
    if (len > bytes_max)
        return err_set(err, ERR_UNUSABLE, "at most %zu bytes, found %zu", bytes_max, len);
    if (!utf8_is_valid(text, len))
        return err_set(err, ERR_UNUSABLE, "not valid UTF-8");
    if (has_control(text))
        return err_set(err, ERR_UNUSABLE, "must not contain control characters");
    return ERR_OK;
}

struct place {
    const char *label;
    unsigned index;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    int order = strcmp(a->label, b->label);
    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

static enum err_code check_distinct(const char *const *labels, unsigned count, struct err *err)
{
    struct place *places = calloc(count, sizeof *places);
    if (places == NULL)
        return err_no_memory(err, count * sizeof *places);
    for (unsigned i = 0; i < count; i++)
        places[i] = (struct place){labels[i], i};
    qsort(places, count, sizeof *places, compare_places);
    for (unsigned i = 1; i < count && err->code == ERR_OK; i++)
        if (strcmp(places[i].label, places[i - 1].label) == 0)
            err_set(err, ERR_UNUSABLE, "candidate_labels[%u]: the same as candidate_labels[%u]",
                    places[i].index, places[i - 1].index);
    free(places);
    return err->code;
}

static enum err_code check_hypothesis(const char *hypothesis, struct err *err)
{
    const char *place = strstr(hypothesis, "{}");
    if (check_text(hypothesis, CANDIDATES_HYPOTHESIS_BYTES, err))
        return err_prefix(err, "hypothesis_template: ");
    if (place == NULL || strstr(place + 2, "{}") != NULL)
        return err_set(err, ERR_UNUSABLE,
                       "hypothesis_template: must have \"{}\", where the label goes, exactly once");
    return ERR_OK;
}

enum err_code candidates_check(const char *const *labels, unsigned count, const char *hypothesis,
                               struct err *err)
{
    size_t bytes = 0;
    if (count == 0)
        return err_set(err, ERR_UNUSABLE, "candidate_labels: empty");
    if (count > CANDIDATES_MAX)
        return err_set(err, ERR_UNUSABLE, "candidate_labels: at most %d labels, found %u",
                       CANDIDATES_MAX, count);
    for (unsigned i = 0; i < count; i++) {
        if (check_text(labels[i], CANDIDATES_LABEL_BYTES, err))
            return err_prefix(err, "candidate_labels[%u]: ", i);
        bytes += strlen(labels[i]);
    }
    if (bytes > CANDIDATES_BYTES)
        return err_set(err, ERR_UNUSABLE, "candidate_labels: at most %d bytes in all, found %zu",
                       CANDIDATES_BYTES, bytes);
    if (check_hypothesis(hypothesis, err))
        return err->code;
    return check_distinct(labels, count, err);
}

/* ---- attnd.json ---- */

static enum err_code read_labels(struct candidates *out, const struct json_t *list,
                                 struct arena *arena, struct err *err)
{
    const size_t count = doc_array_count(list);
    if (strcmp(doc_type_name(list), "an array") != 0)
        return err_set(err, ERR_UNSUPPORTED, "$.candidate_labels: expected an array, found %s",
                       doc_type_name(list));
    if (count > CANDIDATES_MAX)
        return err_set(err, ERR_UNSUPPORTED, "$.candidate_labels: at most %d labels, found %zu",
                       CANDIDATES_MAX, count);
    out->labels = arena_alloc_array(arena, count + 1, sizeof *out->labels);
    if (out->labels == NULL)
        return err_no_memory(err, count * sizeof *out->labels);
    for (; out->count < count; out->count++) {
        const char *label = doc_as_string(doc_array_item(list, out->count));
        if (label == NULL)
            return err_set(err, ERR_UNSUPPORTED,
                           "$.candidate_labels[%u]: expected a string without NUL", out->count);
        out->labels[out->count] = arena_copy(arena, label, strlen(label));
        if (out->labels[out->count] == NULL)
            return err_no_memory(err, strlen(label));
    }
    return ERR_OK;
}

enum err_code candidates_read(struct candidates *out, const struct json_t *object,
                              bool is_zero_shot, struct arena *arena, struct err *err)
{
    const struct json_t *list = doc_member(object, "candidate_labels");
    const char *hypothesis = CANDIDATES_HYPOTHESIS;
    *out = (struct candidates){0};
    if (!is_zero_shot && (list != NULL || doc_member(object, "hypothesis_template") != NULL))
        return err_set(err, ERR_UNSUPPORTED,
                       "$.%s is for zero-shot models (clip); this one's labels are config.json's",
                       list != NULL ? "candidate_labels" : "hypothesis_template");
    if (doc_get_string(object, "$", "hypothesis_template", &hypothesis, err) ||
        (list != NULL && read_labels(out, list, arena, err)))
        return err->code;
    out->hypothesis = arena_copy(arena, hypothesis, strlen(hypothesis));
    if (out->hypothesis == NULL)
        return err_no_memory(err, strlen(hypothesis));
    if (list == NULL ? check_hypothesis(hypothesis, err)
                     : candidates_check(out->labels, out->count, hypothesis, err))
        return err_prefix(err, "$.");
    return ERR_OK;
}

/* ---- sentences ---- */

const char *candidates_sentence(const char *hypothesis, const char *label, struct arena *arena)
{
    const char *place = strstr(hypothesis, "{}");
    return arena_format(arena, "%.*s%s%s", (int)(place - hypothesis), hypothesis, label, place + 2);
}
