#include "server/openapi/openapi.h"

#include "engine/decide/decision.h"
#include "engine/decide/extraction.h"
#include "engine/explain/explanation.h"
#include "server/json/codec_feedback.h"
#include "wire/codec_check.h"
#include "wire/codec_dump.h"
#include "wire/limits.h"
#include "wire/problem.h"

#include <jansson.h>

#include <stdio.h>
#include <string.h>

/* ---- lists of words ---- */

/* The word at an index; out is room for one that has to be made. */
typedef const char *word_at(const struct snapshot *snapshot, unsigned index,
                            char out[PROBLEM_TYPE_BYTES]);

static const char *method_at(const struct snapshot *snapshot, unsigned index,
                             char out[PROBLEM_TYPE_BYTES])
{
    (void)snapshot;
    (void)out;
    return method_name((enum explain_method)index);
}

static const char *decision_at(const struct snapshot *snapshot, unsigned index,
                               char out[PROBLEM_TYPE_BYTES])
{
    (void)snapshot;
    (void)out;
    return decision_name((enum decision)index);
}

static const char *model_at(const struct snapshot *snapshot, unsigned index,
                            char out[PROBLEM_TYPE_BYTES])
{
    (void)out;
    return snapshot->models[index]->name;
}

/* The first error code, ERR_OK, is not an error: it is left out. */
static const char *error_at(const struct snapshot *snapshot, unsigned index,
                            char out[PROBLEM_TYPE_BYTES])
{
    (void)snapshot;
    (void)out;
    return err_name((enum err_code)(index + 1));
}

static const char *title_at(const struct snapshot *snapshot, unsigned index,
                            char out[PROBLEM_TYPE_BYTES])
{
    (void)snapshot;
    (void)out;
    return problem_title((enum err_code)(index + 1));
}

static const char *type_at(const struct snapshot *snapshot, unsigned index,
                           char out[PROBLEM_TYPE_BYTES])
{
    (void)snapshot;
    problem_type((enum err_code)(index + 1), out);
    return out;
}

static json_t *words(const struct snapshot *snapshot, unsigned count, word_at *at)
{
    json_t *array = json_array();
    char room[PROBLEM_TYPE_BYTES];
    int failed = array == NULL;
    for (unsigned i = 0; i < count; i++)
        failed |= json_array_append_new(array, json_string(at(snapshot, i, room)));
    return codec_whole(array, failed);
}

/* ---- by name ---- */

static json_t *list_of(const char *name, const struct snapshot *snapshot)
{
    const struct {
        const char *name;
        unsigned count;
        word_at *at;
    } lists[] = {
        {"methods", EXPLAIN_METHODS, method_at},
        {"decisions", DECISION_COUNT, decision_at},
        {"models", snapshot->model_count, model_at},
        {"error_types", ERR_CODE_COUNT - 1, error_at},
        {"problem_titles", ERR_CODE_COUNT - 1, title_at},
        {"problem_types", ERR_CODE_COUNT - 1, type_at},
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        if (strcmp(name, lists[i].name) == 0)
            return words(snapshot, lists[i].count, lists[i].at);
    return NULL;
}

static json_t *number_of(const char *name, const struct config *config)
{
    const struct {
        const char *name;
        json_int_t value;
    } numbers[] = {
#define X(limit, value, unit, status, what) {#limit, limit},
        LIMITS(X)
#undef X
            {"CODEC_LAYER_MAX", CODEC_LAYER_MAX},
        {"CODEC_QUESTION_TOKENS_MAX", CODEC_QUESTION_TOKENS_MAX},
        {"EXTRACTION_TOP_MAX", EXTRACTION_TOP_MAX},
        {"ENGINE_LABELS_MAX", ENGINE_LABELS_MAX},
        {"CODEC_DEADLINE_MS_MAX", CODEC_DEADLINE_MS_MAX},
        {"ENGINE_TARGETS_MAX", ENGINE_TARGETS_MAX},
        {"GENERATION_BEAMS_MAX", GENERATION_BEAMS_MAX},
        {"GENERATION_NEW_MAX", GENERATION_NEW_MAX},
        {"ENGINE_PATTERN_BYTES_MAX", ENGINE_PATTERN_BYTES_MAX},
        {"ENGINE_ALLOWED_MAX", ENGINE_ALLOWED_MAX},
        {"GENERATION_NGRAM_MAX", GENERATION_NGRAM_MAX},
        {"GENERATION_PENALTY_MAX", GENERATION_PENALTY_MAX},
        {"INDEX_NEIGHBOURS_MAX", INDEX_NEIGHBOURS_MAX},
        {"CODEC_FEEDBACK_INDEX_MAX", CODEC_FEEDBACK_INDEX_MAX},
        {"OUTCOME_SET_LABELS", OUTCOME_SET_LABELS},
        {"EXPLANATION_SPANS", EXPLANATION_SPANS},
        {"EXPLANATION_BOXES", EXPLANATION_BOXES},
        {"inputs_max", config->inputs_max},
        {"body_bytes_max", (json_int_t)config->body_bytes_max},
        {"image_pixels_max", (json_int_t)config->image_pixels_max},
        {"request_pixels_max", (json_int_t)config->request_pixels_max},
        {"text_tokens_max", config->text_tokens_max},
        {"deadline_ms", config->deadline_ms},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (strcmp(name, numbers[i].name) == 0)
            return json_integer(numbers[i].value);
    return NULL;
}

/* ---- all of a tree ---- */

int openapi_values_fill(json_t *tree, const struct snapshot *snapshot)
{
    int failed = 0;
    for (void *at = json_object_iter(tree); at != NULL; at = json_object_iter_next(tree, at)) {
        json_t *value = json_object_iter_value(at);
        const char *text = json_string_value(value);
        if (text == NULL || text[0] != '@') {
            failed |= openapi_values_fill(value, snapshot);
            continue;
        }
        const bool is_version = strcmp(text, "@version") == 0;
        json_t *filled =
            is_version ? json_string(ATTND_VERSION) : number_of(text + 1, &snapshot->config);
        if (filled == NULL && !is_version)
            filled = list_of(text + 1, snapshot);
        failed |= json_object_iter_set_new(tree, at, filled);
    }
    for (size_t i = 0; i < json_array_size(tree); i++)
        failed |= openapi_values_fill(json_array_get(tree, i), snapshot);
    return failed;
}
