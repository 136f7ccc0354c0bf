#include "engine/decide/class_prior.h"

#include "engine/base/doc.h"
#include "engine/decide/label_map.h"

#include <math.h>
#include <string.h>

enum { FILE_BYTES_MAX = 16 * 1024 * 1024 };

#define UNSEEN 0.5 /* of an input: Jeffreys' prior of a share */

const char *class_prior_name(const struct class_prior *prior)
{
    static const char *const names[] = {"natural", "equal", "counts"};
    return names[prior->kind];
}

/* ---- counts ---- */

struct reader {
    const char *path; /* of the object in error texts */
    const char *const *names;
    double *counts;
};

/* label_map_read's visitor. */
static enum err_code read_count(void *context, unsigned label, const struct json_t *value,
                                struct err *err)
{
    const struct reader *reader = context;
    double count;
    if (!doc_as_number(value, &count) || !(count >= 0 && count <= CLASS_PRIOR_COUNT_MAX))
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: the count of '%.60s' must be a number from 0 to %g", reader->path,
                       reader->names[label], CLASS_PRIOR_COUNT_MAX);
    reader->counts[label] = count;
    return ERR_OK;
}

static double sum_of(const double *counts, unsigned count)
{
    double sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum += counts[i];
    return sum;
}

static enum err_code read_counts(double *counts, const struct json_t *object, const char *path,
                                 const struct class_prior_labels *labels, struct err *err)
{
    struct reader reader = {.path = path, .names = labels->names, .counts = counts};
    if (label_map_read(object, path, labels->names, labels->count, read_count, &reader, err))
        return err->code;
    if (!(sum_of(counts, labels->count) > 0))
        return err_set(err, ERR_UNSUPPORTED, "%s: all counts are 0", path);
    return ERR_OK;
}

enum err_code class_prior_read_file(const char *path, const struct class_prior_labels *labels,
                                    double *counts, struct err *err)
{
    struct json_t *root = NULL;
    if (!doc_read_object(&root, path, FILE_BYTES_MAX, err))
        read_counts(counts, root, "$", labels, err);
    doc_free(root);
    if (err->code == ERR_UNSUPPORTED)
        err->code = ERR_UNUSABLE;
    return err->code != ERR_OK ? err_prefix(err, "%s: ", path) : ERR_OK;
}

/* ---- what follows from them ---- */

static double *take_array(unsigned count, struct arena *arena, struct err *err)
{
    double *numbers = arena_alloc_array(arena, count, sizeof *numbers);
    if (numbers == NULL)
        err_no_memory(err, count * sizeof *numbers);
    return numbers;
}

/* In place. */
static void divide_by_sum(double *counts, unsigned count)
{
    const double sum = sum_of(counts, count);
    for (unsigned i = 0; i < count; i++)
        counts[i] /= sum;
}

/* The inputs of a label that has this share of so many. */
static double inputs_of(double share, double fitted)
{
    return share * fitted + UNSEEN;
}

/* After kind, fitted and, of counts, expected. */
static enum err_code settle(struct class_prior *prior, unsigned count, struct arena *arena,
                            struct err *err)
{
    prior->shifts = NULL;
    if (prior->fitted == NULL && prior->kind == CLASS_PRIOR_NATURAL) {
        prior->expected = prior->assumed = NULL;
        return ERR_OK;
    }
    if (prior->fitted == NULL)
        return err_set(err, ERR_UNSUPPORTED,
                       "class_prior needs fitted_prior, the counts of the labels that the scores "
                       "were fitted for: attnd-eval --calibrate writes it");
    if (prior->kind != CLASS_PRIOR_COUNTS) {
        double *shares = take_array(count, arena, err);
        if (shares == NULL)
            return err->code;
        for (unsigned i = 0; i < count; i++)
            shares[i] = prior->kind == CLASS_PRIOR_EQUAL ? 1 : prior->fitted[i];
        divide_by_sum(shares, count);
        prior->expected = shares;
    }
    const double fitted = sum_of(prior->fitted, count);
    double *assumed = take_array(count, arena, err);
    if (assumed == NULL)
        return err->code;
    for (unsigned i = 0; i < count; i++)
        assumed[i] = inputs_of(prior->expected[i], fitted) / (fitted + UNSEEN * count);
    prior->assumed = assumed;
    if (prior->kind == CLASS_PRIOR_NATURAL)
        return ERR_OK;
    float *shifts = arena_alloc_array(arena, count, sizeof *shifts);
    if (shifts == NULL)
        return err_no_memory(err, count * sizeof *shifts);
    for (unsigned i = 0; i < count; i++)
        shifts[i] =
            (float)(log(inputs_of(prior->expected[i], fitted)) - log(prior->fitted[i] + UNSEEN));
    prior->shifts = shifts;
    return ERR_OK;
}

enum err_code class_prior_refit(struct class_prior *prior, const double *fitted, unsigned count,
                                struct arena *arena, struct err *err)
{
    prior->fitted = fitted;
    return settle(prior, count, arena, err);
}

/* ---- choosing ---- */

static bool find_kind(const char *word, enum class_prior_kind *out)
{
    *out = strcmp(word, "equal") == 0 ? CLASS_PRIOR_EQUAL : CLASS_PRIOR_NATURAL;
    return *out == CLASS_PRIOR_EQUAL || strcmp(word, "natural") == 0;
}

static enum err_code read_class_prior(struct class_prior *out, const struct json_t *value,
                                      const struct class_prior_labels *labels, struct arena *arena,
                                      struct err *err)
{
    const char *word = doc_as_string(value);
    if (word != NULL && find_kind(word, &out->kind))
        return ERR_OK;
    if (strcmp(doc_type_name(value), "an object") != 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "$.class_prior must be \"natural\", \"equal\" or {label: count}");
    double *counts = take_array(labels->count, arena, err);
    if (counts == NULL || read_counts(counts, value, "$.class_prior", labels, err))
        return err->code;
    divide_by_sum(counts, labels->count);
    out->kind = CLASS_PRIOR_COUNTS;
    out->expected = counts;
    return ERR_OK;
}

enum err_code class_prior_read(struct class_prior *out, const struct json_t *object,
                               const struct class_prior_labels *labels, struct arena *arena,
                               struct err *err)
{
    const struct json_t *fitted = doc_member(object, "fitted_prior");
    const struct json_t *chosen = doc_member(object, "class_prior");
    *out = (struct class_prior){0};
    if (fitted != NULL) {
        double *counts = take_array(labels->count, arena, err);
        if (counts == NULL || read_counts(counts, fitted, "$.fitted_prior", labels, err))
            return err->code;
        out->fitted = counts;
    }
    if (chosen != NULL && read_class_prior(out, chosen, labels, arena, err))
        return err->code;
    return settle(out, labels->count, arena, err) ? err_prefix(err, "$.") : ERR_OK;
}

enum err_code class_prior_choose(struct class_prior *prior, const char *choice,
                                 const struct class_prior_labels *labels, struct arena *arena,
                                 struct err *err)
{
    struct class_prior chosen = {.fitted = prior->fitted};
    if (!find_kind(choice, &chosen.kind)) {
        double *counts = take_array(labels->count, arena, err);
        if (counts == NULL || class_prior_read_file(choice, labels, counts, err))
            return err->code;
        divide_by_sum(counts, labels->count);
        chosen.kind = CLASS_PRIOR_COUNTS;
        chosen.expected = counts;
    }
    if (settle(&chosen, labels->count, arena, err) == ERR_OK)
        *prior = chosen;
    return err->code;
}
