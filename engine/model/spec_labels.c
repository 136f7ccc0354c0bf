#include "engine/model/spec_config.h"

#include "engine/base/doc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Whole numbers below it are exact in double precision. */
#define EXACT 9007199254740992.0

/* Reads id2label, whose keys are the integers 0 .. n-1 in decimal. */
static enum err_code read_named_labels(struct spec *spec, const struct json_t *names,
                                       struct arena *arena, struct err *err)
{
    for (unsigned i = 0; i < spec->label_count; i++) {
        char key[16];
        snprintf(key, sizeof key, "%u", i);
        const char *label = NULL;
        double number;
        if (doc_as_number(doc_member(names, key), &number) && number == floor(number) &&
            fabs(number) < EXACT) { /* then the label is the number as written */
            if ((spec->labels[i] = arena_format(arena, "%.0f", number)) == NULL)
                return err_no_memory(err, 24);
            continue;
        }
        if (doc_get_string(names, "$.id2label", key, &label, err))
            return err->code;
        if (label == NULL)
            return err_set(err, ERR_UNSUPPORTED, "$.id2label has %u members but none named '%s'",
                           spec->label_count, key);
        spec->labels[i] = arena_copy(arena, label, strlen(label));
        if (spec->labels[i] == NULL)
            return err_no_memory(err, strlen(label));
    }
    return ERR_OK;
}

static enum err_code read_labels(struct spec *spec, const struct json_t *config,
                                 struct arena *arena, struct err *err)
{
    const struct json_t *names = doc_member(config, "id2label");
    size_t named = doc_object_count(names);
    long long count = named > 0 ? (long long)named : 2;
    if (named > SPEC_LABELS_MAX)
        return err_set(err, ERR_UNSUPPORTED, "$.id2label has %zu labels; at most %d are supported",
                       named, SPEC_LABELS_MAX);
    if (named == 0 && doc_get_integer(config, "$", "num_labels", 1, SPEC_LABELS_MAX, &count, err))
        return err->code;
    spec->label_count = (unsigned)count;
    spec->labels = arena_alloc_array(arena, spec->label_count, sizeof *spec->labels);
    if (spec->labels == NULL)
        return err_no_memory(err, spec->label_count * sizeof *spec->labels);
    if (named > 0)
        return read_named_labels(spec, names, arena, err);
    for (unsigned i = 0; i < spec->label_count; i++)
        if ((spec->labels[i] = arena_format(arena, "LABEL_%u", i)) == NULL)
            return err_no_memory(err, 16);
    return ERR_OK;
}

/* Checks the activation that a cross-encoder of sentence-transformers applies to its logits. Scores
 * are those of transformers' pipeline, which ignores it: instead of the identity it uses a sigmoid,
 * which keeps the order of answers. Other activations could change order or bounds. */
static enum err_code check_activation(const struct json_t *config, struct err *err)
{
    static const char *const known[] = {"Identity", "Sigmoid", "Softmax"};
    const char *name = NULL;
    if (doc_get_string(config, "$", "sbert_ce_default_activation_function", &name, err) ||
        doc_get_string(doc_member(config, "sentence_transformers"), "$.sentence_transformers",
                       "activation_fn", &name, err) ||
        name == NULL)
        return err->code;
    const char *dot = strrchr(name, '.'), *last = dot != NULL ? dot + 1 : name;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(last, known[i]) == 0)
            return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED,
                   "the activation '%.100s' of sentence-transformers is not supported (supported: "
                   "Identity, Sigmoid, Softmax)",
                   name);
}

enum err_code spec_labels_read(struct spec *spec, const struct json_t *config, struct arena *arena,
                               struct err *err)
{
    if (read_labels(spec, config, arena, err) || check_activation(config, err))
        return err->code;
    const char *type =
        spec->label_count == 1 ? "multi_label_classification" : "single_label_classification";
    if (doc_get_string(config, "$", "problem_type", &type, err))
        return err->code;
    if (strcmp(type, "regression") == 0)
        spec->scores = SCORES_NONE;
    else if (strcmp(type, "multi_label_classification") == 0 || spec->label_count == 1)
        spec->scores = SCORES_SIGMOID;
    else if (strcmp(type, "single_label_classification") == 0)
        spec->scores = SCORES_SOFTMAX;
    else
        return err_set(err, ERR_UNSUPPORTED, "problem_type '%s' is not supported", type);
    return ERR_OK;
}
