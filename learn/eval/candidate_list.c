#include "learn/eval/candidate_list.h"

#include "engine/base/doc.h"
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

enum err_code candidate_list_add(struct candidate_list *list, const char *text, struct err *err)
{
    if (list->count == ENGINE_LABELS_MAX)
        return err_set(err, ERR_UNUSABLE, "at most %d labels", ENGINE_LABELS_MAX);
    char **texts = reallocarray(list->texts, list->count + 1, sizeof *texts);
    if (texts == NULL)
        return err_no_memory(err, (list->count + 1) * sizeof *texts);
    list->texts = texts;
    texts[list->count] = strdup(text);
    if (texts[list->count] == NULL)
        return err_no_memory(err, strlen(text) + 1);
    list->count++;
    return ERR_OK;
}

enum err_code candidate_list_add_json(struct candidate_list *list, const char *json,
                                      struct err *err)
{
    struct json_t *array;
    if (doc_parse(&array, json, strlen(json), &doc_limits_file, err))
        return err->code;
    if (strcmp(doc_type_name(array), "an array") != 0)
        err_set(err, ERR_UNUSABLE, "expected an array of strings, found %s", doc_type_name(array));
    for (size_t i = 0; err->code == ERR_OK && i < doc_array_count(array); i++) {
        char digits[DOC_NUMBER_BYTES];
        const struct json_t *item = doc_array_item(array, i);
        const char *label = doc_number_text(item, digits) ? digits : doc_as_string(item);
        if (label != NULL)
            candidate_list_add(list, label, err);
        else
            err_set(err, ERR_UNUSABLE, "label %zu: expected a string without NUL", i);
    }
    doc_free(array);
    return err->code;
}

enum err_code candidate_list_open(struct engine_model **out, const struct engine_model *model,
                                  const struct candidate_list *list, unsigned threads,
                                  struct err *err)
{
    const struct engine_labels labels = {.texts = (const char *const *)list->texts,
                                         .count = list->count,
                                         .hypothesis = list->hypothesis};
    struct engine_labeller *labeller = NULL;
    unsigned left = 1;
    *out = NULL;
    if (list->count == 0 && engine_describe(model)->needs_labels)
        return err_set(err, ERR_UNUSABLE,
                       "the model is zero-shot and has no labels of its own: name them "
                       "(candidate labels)");
    if (list->count == 0 || engine_open_labelled(out, model, &labels, err))
        return err->code;
    if (!engine_labeller_open(&labeller, model, threads, err)) {
        while (left > 0 && err->code == ERR_OK)
            engine_encode_labels(labeller, *out, &left, err);
        engine_labeller_close(labeller);
    }
    if (err->code != ERR_OK) {
        engine_close(*out);
        *out = NULL;
    }
    return err->code;
}

void candidate_list_close(struct candidate_list *list)
{
    for (unsigned i = 0; i < list->count; i++)
        free(list->texts[i]);
    free(list->texts);
    *list = (struct candidate_list){0};
}
