#include "wire/codec_labels.h"

#include "engine/base/doc.h"
#include "wire/elide.h"

#include <jansson.h>

#include <stdint.h>
#include <string.h>

/* A copy that ends in NUL; *out stays NULL for a string that has one inside. */
static enum err_code copy_string(const char **out, const json_t *value, const struct elided *elided,
                                 struct arena *arena, struct err *err)
{
    const char *bytes = json_string_value(value);
    size_t len = json_string_length(value);
    const struct elided_span *span = elided != NULL ? elide_find(elided, bytes, len) : NULL;
    bytes = span != NULL ? span->bytes : bytes;
    len = span != NULL ? span->len : len;
    *out = NULL;
    if (memchr(bytes, '\0', len) != NULL)
        return ERR_OK;
    *out = arena_copy(arena, bytes, len);
    return *out != NULL ? ERR_OK : err_no_memory(err, len + 1);
}

static enum err_code read_list(struct engine_labels *out, const json_t *list,
                               const struct elided *elided, struct arena *arena, struct err *err)
{
    const size_t count = json_array_size(list);
    if (!json_is_array(list))
        return err_set(err, ERR_UNUSABLE, "candidate_labels: expected an array, found %s",
                       doc_type_name(list));
    if (count == 0)
        return err_set(err, ERR_UNUSABLE, "candidate_labels: empty");
    if (count > ENGINE_LABELS_MAX)
        return err_set(err, ERR_UNUSABLE, "candidate_labels: at most %d labels, found %zu",
                       ENGINE_LABELS_MAX, count);
    const char **texts = arena_alloc_array(arena, count, sizeof *texts);
    if (texts == NULL)
        return err_no_memory(err, count * sizeof *texts);
    for (size_t i = 0; i < count; i++) {
        char digits[DOC_NUMBER_BYTES];
        const json_t *value = json_array_get(list, i);
        if (doc_number_text(value, digits)) {
            if ((texts[i] = arena_copy(arena, digits, strlen(digits))) == NULL)
                return err_no_memory(err, sizeof digits);
            continue;
        }
        if (!json_is_string(value))
            return err_set(err, ERR_UNUSABLE, "candidate_labels[%zu]: expected a string, found %s",
                           i, doc_type_name(value));
        if (copy_string(&texts[i], value, elided, arena, err))
            return err->code;
        if (texts[i] == NULL)
            return err_set(err, ERR_UNUSABLE,
                           "candidate_labels[%zu]: must not contain control characters", i);
    }
    out->texts = texts;
    out->count = (unsigned)count;
    return ERR_OK;
}

static enum err_code read_hypothesis(struct engine_labels *out, const json_t *value,
                                     const struct elided *elided, struct arena *arena,
                                     struct err *err)
{
    if (!json_is_string(value))
        return err_set(err, ERR_UNUSABLE, "hypothesis_template: expected a string, found %s",
                       doc_type_name(value));
    if (copy_string(&out->hypothesis, value, elided, arena, err))
        return err->code;
    if (out->hypothesis == NULL)
        return err_set(err, ERR_UNUSABLE,
                       "hypothesis_template: must not contain control characters");
    return ERR_OK;
}

/* Puts the place of a mistake before its text: the JSON path of the member, or the option. */
static enum err_code in_place(const char *path, struct err *err)
{
    if (err->code != ERR_UNUSABLE)
        return err->code;
    return err_prefix(err, "%s%s", path, path[0] == '$' ? "." : "");
}

enum err_code codec_labels_read(struct engine_labels *out, const json_t *object,
                                const struct elided *elided, struct arena *arena, struct err *err)
{
    const json_t *list = doc_member(object, "candidate_labels");
    const json_t *hypothesis = doc_member(object, "hypothesis_template");
    if ((list != NULL && read_list(out, list, elided, arena, err)) ||
        (hypothesis != NULL && read_hypothesis(out, hypothesis, elided, arena, err)))
        return in_place("$", err);
    return ERR_OK;
}

/* ---- of a query ---- */

/* The array in which one more has its place: twice as long when it is full. */
static const char **make_room(const struct engine_labels *labels, struct arena *arena)
{
    const unsigned count = labels->count;
    if (count > 0 && (count & (count - 1)) != 0) /* no power of two: there is room */
        return (const char **)(uintptr_t)labels->texts;
    const char **texts = arena_alloc_array(arena, count > 0 ? 2 * (size_t)count : 1, sizeof *texts);
    for (unsigned i = 0; texts != NULL && i < count; i++)
        texts[i] = labels->texts[i];
    return texts;
}

enum err_code codec_labels_set(struct engine_labels *labels, const char *value, struct arena *arena,
                               struct err *err)
{
    if (value[0] == '[') {
        const struct doc_limits limits = {.depth_max = 1, .tokens_max = 2 * ENGINE_LABELS_MAX + 2};
        json_t *list;
        if (doc_parse(&list, value, strlen(value), &limits, err)) {
            err->code = err->code == ERR_NO_MEMORY ? ERR_NO_MEMORY : ERR_UNUSABLE;
            return err_prefix(err, "?candidate_labels: ");
        }
        if (read_list(labels, list, NULL, arena, err))
            in_place("?", err);
        doc_free(list);
        return err->code;
    }
    const char **texts = make_room(labels, arena);
    char *text = texts != NULL ? arena_copy(arena, value, strlen(value)) : NULL;
    if (text == NULL)
        return err_no_memory(err, strlen(value) + 1);
    texts[labels->count++] = text;
    labels->texts = texts;
    return ERR_OK;
}

enum err_code codec_labels_check(const struct engine_labels *labels, const char *path,
                                 struct err *err)
{
    if (labels->count == 0 && labels->hypothesis == NULL)
        return ERR_OK;
    if (labels->count == 0)
        err_set(err, ERR_UNUSABLE,
                "hypothesis_template: it goes with candidate_labels, which are missing");
    else
        engine_check_labels(labels, err);
    return in_place(path, err);
}
