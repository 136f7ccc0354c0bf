/* ood.c - see ood.h. Sums are doubles: the residual is a small difference of large squares, and
 * bounded numbers (OOD_NUMBER_MAX) squared stay far from a double's end, so no score is infinite.
 */
#include "engine/decide/ood.h"

#include "engine/base/doc.h"
#include "engine/decide/label_map.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LANES = 8, PIECE = 256 };

static const char *const method_names[OOD_METHOD_COUNT] = {NULL, "energy", "mahalanobis",
                                                           "relative", "neighbours"};

const char *ood_method_name(enum ood_method method)
{
    return method_names[method];
}

/* ---- the score ---- */

static double energy(const struct ood *ood, const float *logits)
{
    double largest = (double)logits[0], sum = 0;
    for (unsigned i = 1; i < ood->label_count; i++)
        largest = fmax(largest, (double)logits[i]);
    for (unsigned i = 0; i < ood->label_count; i++)
        sum += exp((double)logits[i] - largest);
    return -largest - log(sum);
}

static double joint_energy(const struct ood *ood, const float *logits)
{
    double sum = 0;
    for (unsigned i = 0; i < ood->label_count; i++)
        sum += fmax((double)logits[i], 0) + log1p(exp(-fabs((double)logits[i])));
    return -sum;
}

/* Independent sums, which the compiler makes vectors of. */
static double dot(const float *row, const double *x, unsigned n)
{
    double sums[LANES] = {0}, sum = 0;
    unsigned i = 0;
    for (; i + LANES <= n; i += LANES)
        for (unsigned lane = 0; lane < LANES; lane++)
            sums[lane] += (double)row[i + lane] * x[i + lane];
    for (; i < n; i++)
        sum += (double)row[i] * x[i];
    for (unsigned lane = 0; lane < LANES; lane++)
        sum += sums[lane];
    return sum;
}

/* z = P (x - mean); returns |x - mean|^2. By pieces of the width, which is not bounded. */
static double project(const struct ood *ood, const float *x, double z[OOD_COMPONENTS_MAX])
{
    double square = 0, centred[PIECE];
    for (unsigned i = 0; i < ood->components; i++)
        z[i] = 0;
    for (unsigned at = 0; at < ood->hidden; at += PIECE) {
        unsigned n = ood->hidden - at < PIECE ? ood->hidden - at : PIECE;
        for (unsigned i = 0; i < n; i++) {
            centred[i] = (double)x[at + i] - (double)ood->mean[at + i];
            square += centred[i] * centred[i];
        }
        for (unsigned i = 0; i < ood->components; i++)
            z[i] += dot(ood->projection + (size_t)i * ood->hidden + at, centred, n);
    }
    return square;
}

/* Distance to the nearest class that has a mean. */
static double nearest(const struct ood *ood, const double *z)
{
    double least = DBL_MAX;
    for (unsigned c = 0; c < ood->label_count; c++) {
        const float *class_mean = ood->class_means + (size_t)c * ood->components;
        double sum = 0;
        if (isnan(class_mean[0]))
            continue;
        for (unsigned i = 0; i < ood->components; i++) {
            double difference = z[i] - (double)class_mean[i];
            sum += difference * difference / (double)ood->variances[i];
        }
        least = fmin(least, sum);
    }
    return least;
}

/* |x - mean - P' z|^2 / s. */
static double residual(const struct ood *ood, const double *z, double square)
{
    for (unsigned i = 0; i < ood->components; i++)
        square -= z[i] * z[i];
    return fmax(square, 0) / (double)ood->residual;
}

static double background(const struct ood *ood, const double *z)
{
    double sum = 0;
    for (unsigned i = 0; i < ood->components; i++)
        sum += z[i] * z[i] / (double)ood->background[i];
    return sum;
}

float ood_score(const struct ood *ood, const float *logits, const float *features)
{
    double score, z[OOD_COMPONENTS_MAX];
    if (ood->method == OOD_ENERGY) {
        score = ood->independent ? joint_energy(ood, logits) : energy(ood, logits);
    } else if (ood->method == OOD_NEIGHBOURS) {
        score = neighbours_score(&ood->neighbours, features + ood->hidden, SIZE_MAX);
    } else {
        const double square = project(ood, features, z);
        score = ood->method == OOD_RELATIVE ? nearest(ood, z) - background(ood, z)
                                            : nearest(ood, z) + residual(ood, z, square);
    }
    return (float)fmin(fmax(score, -(double)FLT_MAX), (double)FLT_MAX);
}

float ood_threshold(const struct ood *ood, unsigned label)
{
    const float *of_labels = ood->label_thresholds;
    return of_labels != NULL && !isnan(of_labels[label]) ? of_labels[label] : ood->threshold;
}

float ood_rank(const struct ood *ood, float score)
{
    unsigned last = ood->quantile_count - 1, low = 0, high = last;
    const float *at = ood->quantiles;
    if (score < at[0] || score >= at[last])
        return score < at[0] ? 0.0f : 1.0f;
    while (high - low > 1) { /* at[low] <= score < at[high] */
        unsigned middle = low + (high - low) / 2;
        *(score < at[middle] ? &high : &low) = middle;
    }
    double part = ((double)score - (double)at[low]) / ((double)at[high] - (double)at[low]);
    return (float)((low + part) / last);
}

/* ---- attnd.json ---- */

/* $.ood's members, and which methods read them. */
static const struct {
    const char *key;
    bool methods[OOD_METHOD_COUNT];
} members[] = {
    {"method", {false, true, true, true, true}},
    {"threshold", {false, true, true, true, true}},
    {"thresholds", {false, true, true, true, true}},
    {"quantiles", {false, true, true, true, true}},
    {"mean", {false, false, true, true, false}},
    {"projection", {false, false, true, true, false}},
    {"variances", {false, false, true, true, false}},
    {"class_means", {false, false, true, true, false}},
    {"residual_variance", {false, false, true, false, false}},
    {"background", {false, false, false, true, false}},
    {"neighbours", {false, false, false, false, true}},
};

static enum err_code check_member(void *context, const char *key, const struct json_t *value,
                                  struct err *err)
{
    const struct ood *ood = context;
    (void)value;
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if (strcmp(members[i].key, key) == 0 && members[i].methods[ood->method])
            return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED, "$.ood.%s is not supported with the method \"%s\"", key,
                   ood_method_name(ood->method));
}

static enum err_code read_method(struct ood *out, const struct json_t *object, struct err *err)
{
    const char *name = "";
    if (doc_get_string(object, "$.ood", "method", &name, err))
        return err->code;
    for (int i = OOD_ENERGY; i < OOD_METHOD_COUNT; i++)
        if (strcmp(method_names[i], name) == 0)
            out->method = (enum ood_method)i;
    if (out->method != OOD_NONE)
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED,
                   "$.ood.method must be \"energy\", \"mahalanobis\", \"relative\" or "
                   "\"neighbours\"");
}

/* From min to OOD_NUMBER_MAX, judged as the float that the number becomes: a float at a bound may
 * be spelled a little beyond it, and what was read must be written and read again. */
static bool is_in_range(double number, double min)
{
    return (float)number >= (float)min && (float)number <= (float)OOD_NUMBER_MAX;
}

/* An array of exactly `count` numbers from min to OOD_NUMBER_MAX. `path` names it. */
static enum err_code read_numbers(const struct json_t *array, const char *path, size_t count,
                                  double min, float *out, struct err *err)
{
    if (strcmp(doc_type_name(array), "an array") != 0)
        return err_set(err, ERR_UNSUPPORTED, "%s: expected an array, found %s", path,
                       doc_type_name(array));
    if (doc_array_count(array) != count)
        return err_set(err, ERR_UNSUPPORTED, "%s has %zu numbers instead of %zu", path,
                       doc_array_count(array), count);
    for (size_t i = 0; i < count; i++) {
        double number = 0;
        if (!doc_as_number(doc_array_item(array, i), &number))
            return err_set(err, ERR_UNSUPPORTED, "%s[%zu]: expected a number, found %s", path, i,
                           doc_type_name(doc_array_item(array, i)));
        if (!is_in_range(number, min))
            return err_set(err, ERR_UNSUPPORTED, "%s[%zu] must be from %g to %g", path, i, min,
                           OOD_NUMBER_MAX);
        out[i] = (float)number;
    }
    return ERR_OK;
}

/* The same into fresh memory. */
static enum err_code take_numbers(const struct json_t *object, const char *key, size_t count,
                                  double min, float **out, struct arena *arena, struct err *err)
{
    char path[64];
    snprintf(path, sizeof path, "$.ood.%s", key);
    *out = arena_alloc_array(arena, count, sizeof **out);
    if (*out == NULL)
        return err_no_memory(err, count * sizeof **out);
    return read_numbers(doc_member(object, key), path, count, min, *out, err);
}

/* A scalar that the float it becomes can hold; absent or null: *given is false. */
static enum err_code read_scalar(const struct json_t *object, const char *key, double min,
                                 float *out, bool *given, struct err *err)
{
    double number = 0;
    *given = doc_member(object, key) != NULL;
    if (doc_get_number(object, "$.ood", key, &number, err) || !*given)
        return err->code;
    if (!is_in_range(number, min))
        return err_set(err, ERR_UNSUPPORTED, "$.ood.%s must be from %g to %g", key, min,
                       OOD_NUMBER_MAX);
    *out = (float)number;
    return ERR_OK;
}

/* label_map_read's visitor. */
static enum err_code read_label_threshold(void *context, unsigned label, const struct json_t *value,
                                          struct err *err)
{
    const struct ood *ood = context;
    double number;
    ood->label_thresholds[label] = NAN;
    if (strcmp(doc_type_name(value), "null") == 0)
        return ERR_OK;
    if (!doc_as_number(value, &number))
        return err_set(err, ERR_UNSUPPORTED,
                       "$.ood.thresholds: expected a number or null for label %u, found %s", label,
                       doc_type_name(value));
    if (!is_in_range(number, -OOD_NUMBER_MAX))
        return err_set(err, ERR_UNSUPPORTED, "$.ood.thresholds: label %u must be from %g to %g",
                       label, -OOD_NUMBER_MAX, OOD_NUMBER_MAX);
    ood->label_thresholds[label] = (float)number;
    return ERR_OK;
}

static enum err_code read_thresholds(struct ood *out, const struct json_t *object,
                                     const char *const *labels, struct arena *arena,
                                     struct err *err)
{
    const struct json_t *thresholds = doc_member(object, "thresholds");
    if (read_scalar(object, "threshold", -OOD_NUMBER_MAX, &out->threshold, &out->has_threshold,
                    err) ||
        thresholds == NULL)
        return err->code;
    if (!out->has_threshold)
        return err_set(err, ERR_UNSUPPORTED,
                       "$.ood.thresholds is of no effect without "
                       "$.ood.threshold, which holds for all others");
    out->label_thresholds =
        arena_alloc_array(arena, out->label_count, sizeof *out->label_thresholds);
    if (out->label_thresholds == NULL)
        return err_no_memory(err, out->label_count * sizeof *out->label_thresholds);
    return label_map_read(thresholds, "$.ood.thresholds", labels, out->label_count,
                          read_label_threshold, out, err);
}

static enum err_code read_quantiles(struct ood *out, const struct json_t *object,
                                    struct arena *arena, struct err *err)
{
    const struct json_t *array = doc_member(object, "quantiles");
    size_t count = doc_array_count(array);
    if (array == NULL)
        return ERR_OK;
    if (count < 2 || count > OOD_QUANTILES_MAX)
        return err_set(err, ERR_UNSUPPORTED, "$.ood.quantiles must be an array of 2 to %d numbers",
                       OOD_QUANTILES_MAX);
    if (take_numbers(object, "quantiles", count, -OOD_NUMBER_MAX, &out->quantiles, arena, err))
        return err->code;
    for (size_t i = 1; i < count; i++)
        if (out->quantiles[i] < out->quantiles[i - 1])
            return err_set(err, ERR_UNSUPPORTED, "$.ood.quantiles[%zu] is below the one before", i);
    out->quantile_count = (unsigned)count;
    return ERR_OK;
}

static enum err_code read_projection(struct ood *out, const struct json_t *object,
                                     struct arena *arena, struct err *err)
{
    const struct json_t *rows = doc_member(object, "projection");
    size_t count = doc_array_count(rows);
    if (count == 0 || count > OOD_COMPONENTS_MAX || count > out->hidden)
        return err_set(err, ERR_UNSUPPORTED,
                       "$.ood.projection must be an array of 1 to %d rows, not above hidden_size",
                       OOD_COMPONENTS_MAX);
    out->components = (unsigned)count;
    out->projection = arena_alloc_array(arena, count * out->hidden, sizeof *out->projection);
    if (out->projection == NULL)
        return err_no_memory(err, count * out->hidden * sizeof *out->projection);
    for (size_t i = 0; i < count; i++) {
        char path[64];
        snprintf(path, sizeof path, "$.ood.projection[%zu]", i);
        if (read_numbers(doc_array_item(rows, i), path, out->hidden, -OOD_NUMBER_MAX,
                         out->projection + i * out->hidden, err))
            return err->code;
    }
    return ERR_OK;
}

/* label_map_read's visitor: an array of a class's mean, or null for a class without examples. */
static enum err_code read_class_mean(void *context, unsigned label, const struct json_t *value,
                                     struct err *err)
{
    struct ood *out = context;
    float *class_mean = out->class_means + (size_t)label * out->components;
    char path[64];
    if (strcmp(doc_type_name(value), "null") == 0) {
        class_mean[0] = NAN;
        return ERR_OK;
    }
    snprintf(path, sizeof path, "$.ood.class_means of label %u", label);
    return read_numbers(value, path, out->components, -OOD_NUMBER_MAX, class_mean, err);
}

static enum err_code read_class_means(struct ood *out, const struct json_t *object,
                                      const char *const *labels, struct arena *arena,
                                      struct err *err)
{
    size_t numbers = (size_t)out->label_count * out->components;
    out->class_means = arena_alloc_array(arena, numbers, sizeof *out->class_means);
    if (out->class_means == NULL)
        return err_no_memory(err, numbers * sizeof *out->class_means);
    if (label_map_read(doc_member(object, "class_means"), "$.ood.class_means", labels,
                       out->label_count, read_class_mean, out, err))
        return err->code;
    for (unsigned c = 0; c < out->label_count; c++)
        if (!isnan(out->class_means[(size_t)c * out->components]))
            return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED, "$.ood.class_means has no class with a mean");
}

static enum err_code read_statistics(struct ood *out, const struct json_t *object,
                                     const char *const *labels, struct arena *arena,
                                     struct err *err)
{
    bool given;
    if (take_numbers(object, "mean", out->hidden, -OOD_NUMBER_MAX, &out->mean, arena, err) ||
        read_projection(out, object, arena, err) ||
        take_numbers(object, "variances", out->components, OOD_VARIANCE_MIN, &out->variances, arena,
                     err) ||
        read_class_means(out, object, labels, arena, err))
        return err->code;
    if (out->method == OOD_RELATIVE)
        return take_numbers(object, "background", out->components, OOD_VARIANCE_MIN,
                            &out->background, arena, err);
    if (!read_scalar(object, "residual_variance", OOD_VARIANCE_MIN, &out->residual, &given, err) &&
        !given)
        err_set(err, ERR_UNSUPPORTED, "$.ood.residual_variance is missing");
    return err->code;
}

enum err_code ood_read(struct ood *out, const struct json_t *object, const char *const *labels,
                       struct arena *arena, struct err *err)
{
    if (strcmp(doc_type_name(object), "an object") != 0)
        return err_set(err, ERR_UNSUPPORTED, "$.ood: expected an object, found %s",
                       doc_type_name(object));
    out->method = OOD_NONE;
    if (read_method(out, object, err) || doc_each_member(object, check_member, out, err) ||
        read_thresholds(out, object, labels, arena, err) || read_quantiles(out, object, arena, err))
        return err->code;
    if (out->method != OOD_NEIGHBOURS)
        return out->method == OOD_ENERGY ? ERR_OK
                                         : read_statistics(out, object, labels, arena, err);
    double k = 0;
    if (doc_get_number(object, "$.ood", "neighbours", &k, err))
        return err->code;
    if (!(k >= 1 && k <= NEIGHBOURS_MAX) || k != floor(k))
        return err_set(err, ERR_UNSUPPORTED, "$.ood.neighbours must be an integer from 1 to %d",
                       NEIGHBOURS_MAX);
    out->neighbours = (struct neighbours){.nearest = (unsigned)k};
    return ERR_OK;
}
