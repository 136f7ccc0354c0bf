/* selftest_file.c - attnd-selftest.json read strictly: what could be a mistake is one. See
 * selftest.h for its form. Whether the labels are the model's is known when it is run. */
#include "engine/selftest_state.h"

#include "engine/base/base64.h"
#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "engine/base/nearest.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PLACE_BYTES = 48 };

/* The widest that means anything: two scores of a classifier are never further apart. Logits of a
 * regression may be. */
#define TOLERANCE_MAX 1e6

struct reader {
    struct selftest *selftest;
    const char *dir;
    const struct selftest_case *item; /* whose scores are read */
};

/* ---- names ---- */

struct names {
    const char *const *list;
    size_t count;
    const char *place;
};

static enum err_code check_name(void *context, const char *key, const struct json_t *value,
                                struct err *err)
{
    const struct names *names = context;
    (void)value;
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->list[i], key) == 0)
            return ERR_OK;
    const char *near = nearest_name(key, names->list, names->count);
    if (near != NULL)
        return err_set(err, ERR_UNUSABLE, "%s: a member is unknown; did you mean \"%s\"?",
                       names->place, near);
    return err_set(err, ERR_UNUSABLE, "%s: a member is unknown; the first known is \"%s\"",
                   names->place, names->list[0]);
}

static enum err_code check_object(const struct json_t *value, const char *const *list, size_t count,
                                  const char *place, struct err *err)
{
    struct names names = {list, count, place};
    if (strcmp(doc_type_name(value), "an object") != 0)
        return err_set(err, ERR_UNUSABLE, "%s: expected an object, found %s", place,
                       doc_type_name(value));
    return doc_each_member(value, check_name, &names, err);
}

/* ---- the input of a case ---- */

/* A plain name, so that whoever watches the directory sees that the file changes. */
static bool is_plain_name(const char *name)
{
    return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL && strlen(name) <= 255;
}

static enum err_code read_image_file(struct reader *reader, struct selftest_case *item,
                                     const char *name, const char *place, struct err *err)
{
    if (!is_plain_name(name))
        return err_set(err, ERR_UNUSABLE,
                       "%s.image_file: must be the name of a file in the checkpoint's directory",
                       place);
    item->image_file = arena_format(&reader->selftest->arena, "%s/%s", reader->dir, name);
    return item->image_file != NULL ? ERR_OK : err_no_memory(err, strlen(name));
}

static enum err_code read_image(struct reader *reader, struct selftest_case *item, const char *text,
                                size_t len, const char *place, struct err *err)
{
    char *bytes = arena_alloc(&reader->selftest->arena, base64_decoded_size(len));
    if (bytes == NULL)
        return err_no_memory(err, len);
    if (base64_decode(bytes, &item->source.len, text, len, 0, err))
        return err_prefix(err, "%s.image: ", place);
    item->source.bytes = bytes;
    return ERR_OK;
}

static enum err_code read_text(struct reader *reader, struct selftest_case *item, const char *text,
                               size_t len, struct err *err)
{
    item->source.bytes = arena_copy(&reader->selftest->arena, text, len);
    item->source.len = len;
    return item->source.bytes != NULL ? ERR_OK : err_no_memory(err, len);
}

static enum err_code read_pair(struct reader *reader, struct selftest_case *item,
                               const struct json_t *object, const char *place, struct err *err)
{
    const struct json_t *value = doc_member(object, "text_pair");
    const char *text = doc_text(value, &item->source.pair_len);
    if (value == NULL)
        return ERR_OK;
    if (text == NULL || item->source.kind != ENGINE_TEXT)
        return err_set(err, ERR_UNUSABLE, "%s.text_pair: %s", place,
                       text == NULL ? "expected a string" : "it goes with \"text\"");
    item->source.pair = arena_copy(&reader->selftest->arena, text, item->source.pair_len);
    return item->source.pair != NULL ? ERR_OK : err_no_memory(err, item->source.pair_len);
}

static enum err_code read_input(struct reader *reader, struct selftest_case *item,
                                const struct json_t *object, const char *place, struct err *err)
{
    static const char *const keys[] = {"text", "image", "image_file"};
    const struct json_t *value = NULL;
    size_t found = 0, which = 0, len = 0;
    for (size_t i = 0; i < 3; i++)
        if (doc_member(object, keys[i]) != NULL) {
            value = doc_member(object, keys[i]);
            which = i;
            found++;
        }
    if (found != 1)
        return err_set(err, ERR_UNUSABLE,
                       "%s: expected one of \"text\", \"image\" and \"image_file\", found %zu",
                       place, found);
    const char *text = which == 2 ? doc_as_string(value) : doc_text(value, &len);
    if (text == NULL)
        return err_set(err, ERR_UNUSABLE, "%s.%s: expected a string", place, keys[which]);
    item->source.kind = which == 0 ? ENGINE_TEXT : ENGINE_IMAGE;
    item->source.pixels_max = SELFTEST_PIXELS_MAX;
    return which == 0   ? read_text(reader, item, text, len, err)
           : which == 1 ? read_image(reader, item, text, len, place, err)
                        : read_image_file(reader, item, text, place, err);
}

/* ---- what must come out ---- */

static enum err_code take_score(void *context, const char *key, const struct json_t *value,
                                struct err *err)
{
    struct reader *reader = context;
    struct selftest_case *item = (struct selftest_case *)(uintptr_t)reader->item;
    struct selftest_score *score = &item->scores[item->score_count];
    if (!doc_as_number(value, &score->value) || !isfinite(score->value))
        return err_set(err, ERR_UNUSABLE, ".scores: expected numbers, found %s",
                       doc_type_name(value));
    score->label = arena_copy(&reader->selftest->arena, key, strlen(key));
    if (score->label == NULL)
        return err_no_memory(err, strlen(key));
    item->score_count++;
    return ERR_OK;
}

static enum err_code read_expected(struct reader *reader, struct selftest_case *item,
                                   const struct json_t *object, const char *place, struct err *err)
{
    struct arena *arena = &reader->selftest->arena;
    const struct json_t *scores = doc_member(object, "scores");
    const char *label = NULL;
    size_t count = doc_object_count(scores);
    if (doc_get_string(object, place, "label", &label, err))
        return err->code;
    if (scores != NULL && count == 0)
        return err_set(err, ERR_UNUSABLE, "%s.scores: expected an object with at least one score",
                       place);
    if (scores == NULL && label == NULL)
        return err_set(err, ERR_UNUSABLE, "%s: expected \"scores\", \"label\" or both", place);
    item->scores = arena_alloc_array(arena, count + 1, sizeof *item->scores);
    item->label = label != NULL ? arena_copy(arena, label, strlen(label)) : NULL;
    if (item->scores == NULL || (label != NULL && item->label == NULL))
        return err_no_memory(err, count * sizeof *item->scores);
    reader->item = item;
    if (doc_each_member(scores, take_score, reader, err))
        return err_prefix(err, "%s", place);
    return ERR_OK;
}

static enum err_code read_case(struct reader *reader, unsigned index, const struct json_t *value,
                               struct err *err)
{
    static const char *const keys[] = {"text",       "text_pair", "image",
                                       "image_file", "scores",    "label"};
    char place[PLACE_BYTES];
    struct selftest_case *item = &reader->selftest->cases[index];
    snprintf(place, sizeof place, "$.cases[%u]", index);
    if (check_object(value, keys, sizeof keys / sizeof keys[0], place, err) ||
        read_input(reader, item, value, place, err) || read_pair(reader, item, value, place, err))
        return err->code;
    return read_expected(reader, item, value, place, err);
}

/* ---- the file ---- */

static enum err_code read_tolerance(const struct json_t *root, const char *key, double *out,
                                    struct err *err)
{
    if (doc_get_number(root, "$", key, out, err))
        return err->code;
    if (!(*out > 0 && *out <= TOLERANCE_MAX))
        return err_set(err, ERR_UNUSABLE, "$.%s: must be above 0, and at most %g", key,
                       TOLERANCE_MAX);
    return ERR_OK;
}

/* The other dtypes are never held to less than f32 is. Their defaults are about three times the
 * largest difference of a score from f32's among 136 right answers of the three shipped models:
 * 0.0073 in bf16, 0.028 in int8. */
static enum err_code read_tolerances(struct selftest *out, const struct json_t *root,
                                     struct err *err)
{
    out->tolerance = SELFTEST_TOLERANCE;
    if (read_tolerance(root, "tolerance", &out->tolerance, err))
        return err->code;
    out->tolerance_bf16 = fmax(out->tolerance, 0.02);
    out->tolerance_int8 = fmax(out->tolerance, 0.1);
    if (read_tolerance(root, "tolerance_bf16", &out->tolerance_bf16, err) ||
        read_tolerance(root, "tolerance_int8", &out->tolerance_int8, err))
        return err->code;
    return ERR_OK;
}

static enum err_code read_format(const struct json_t *root, struct err *err)
{
    long long format = 0;
    if (doc_get_integer(root, "$", "format", 0, 1000000, &format, err))
        return err->code;
    if (format != SELFTEST_FORMAT)
        return err_set(err, ERR_UNUSABLE, "$.format: found %lld; this program reads %d", format,
                       SELFTEST_FORMAT);
    return ERR_OK;
}

static enum err_code read_root(struct reader *reader, const struct json_t *root, struct err *err)
{
    static const char *const keys[] = {"format", "tolerance", "tolerance_bf16", "tolerance_int8",
                                       "cases"};
    struct selftest *out = reader->selftest;
    const struct json_t *cases = doc_member(root, "cases");
    size_t count = doc_array_count(cases);
    if (check_object(root, keys, sizeof keys / sizeof keys[0], "$", err) ||
        read_format(root, err) || read_tolerances(out, root, err))
        return err->code;
    if (count < 1 || count > SELFTEST_CASES_MAX)
        return err_set(err, ERR_UNUSABLE, "$.cases: expected a list of 1 to %d cases, found %zu",
                       SELFTEST_CASES_MAX, count);
    out->cases = arena_alloc_array(&out->arena, count, sizeof *out->cases);
    if (out->cases == NULL)
        return err_no_memory(err, count * sizeof *out->cases);
    out->count = (unsigned)count;
    for (unsigned i = 0; i < out->count && err->code == ERR_OK; i++)
        read_case(reader, i, doc_array_item(cases, i), err);
    return err->code;
}

enum err_code selftest_parse(struct selftest *out, const char *dir, const char *bytes, size_t len,
                             struct err *err)
{
    const struct doc_limits limits = {
        .depth_max = 4, .tokens_max = SELFTEST_TOKENS_MAX, .integers_as_reals = true};
    struct reader reader = {.selftest = out, .dir = dir};
    struct json_t *root;
    out->file_bytes = len;
    if (doc_parse(&root, bytes, len, &limits, err) == ERR_OK)
        read_root(&reader, root, err);
    doc_free(root);
    return err->code;
}
