#include "engine/decide/drift_reference.h"

#include "engine/base/doc.h"
#include "engine/base/rng.h"
#include "engine/decide/label_map.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EDGE_MAX 1e30
#define SUM_TOLERANCE 1e-3 /* of shares that a person has rounded */

static const char *const kind_names[DRIFT_KINDS] = {"label", "score", "ood", "value"};

const char *drift_kind_name(enum drift_kind kind)
{
    return kind_names[kind];
}

unsigned drift_reference_bin(const struct drift_reference *reference, enum drift_kind kind,
                             float value)
{
    unsigned low = 0, high = reference->psi[kind].bin_count - 1; /* edges */
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (value < reference->edges[kind][middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* ---- reading ---- */

struct reader {
    struct drift_reference *out;
    const char *const *labels;
    struct arena *arena;
};

static enum err_code read_number(const struct json_t *value, const char *path, size_t index,
                                 double least, double most, float *out, struct err *err)
{
    double number = 0;
    if (!doc_as_number(value, &number))
        return err_set(err, ERR_UNSUPPORTED, "%s[%zu]: expected a number, found %s", path, index,
                       doc_type_name(value));
    *out = (float)number; /* judged as what it becomes, so that it can be written and read again */
    if (!(*out >= (float)least && *out <= (float)most))
        return err_set(err, ERR_UNSUPPORTED, "%s[%zu] must be from %g to %g", path, index, least,
                       most);
    return ERR_OK;
}

static enum err_code check_sum(double sum, const char *path, struct err *err)
{
    if (fabs(sum - 1) <= SUM_TOLERANCE)
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED, "%s must add up to 1, to within %g; they are %g", path,
                   SUM_TOLERANCE, sum);
}

static enum err_code read_edges(const struct json_t *array, const char *path, float *edges,
                                size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        if (read_number(doc_array_item(array, i), path, i, -EDGE_MAX, EDGE_MAX, &edges[i], err))
            return err->code;
        if (i > 0 && !(edges[i] > edges[i - 1]))
            return err_set(err, ERR_UNSUPPORTED, "%s[%zu] must be above the one before", path, i);
    }
    return ERR_OK;
}

static enum err_code read_shares(const struct json_t *array, const char *path, float *shares,
                                 size_t count, struct err *err)
{
    double sum = 0;
    if (doc_array_count(array) != count)
        return err_set(err, ERR_UNSUPPORTED, "%s must be %zu numbers, one more than edges", path,
                       count);
    for (size_t i = 0; i < count; i++) {
        if (read_number(doc_array_item(array, i), path, i, 0, 1, &shares[i], err))
            return err->code;
        sum += (double)shares[i];
    }
    return check_sum(sum, path, err);
}

/* {"edges": [...], "shares": [...]} */
static enum err_code read_bins(const struct reader *reader, const struct json_t *object,
                               enum drift_kind kind, struct err *err)
{
    char path[32], edges_path[48], shares_path[48];
    const struct json_t *bins = doc_member(object, kind_names[kind]);
    const struct json_t *array = doc_member(bins, "edges");
    size_t count = doc_array_count(array);
    snprintf(path, sizeof path, "$.reference.%s", kind_names[kind]);
    snprintf(edges_path, sizeof edges_path, "%s.edges", path);
    snprintf(shares_path, sizeof shares_path, "%s.shares", path);
    if (bins == NULL || strcmp(doc_type_name(bins), "an object") != 0)
        return err_set(err, ERR_UNSUPPORTED, "%s: expected an object, found %s", path,
                       bins == NULL ? "none" : doc_type_name(bins));
    if (doc_check_members(bins, path, "edges, shares", err))
        return err->code;
    if (count < 1 || count >= DRIFT_BINS_MAX)
        return err_set(err, ERR_UNSUPPORTED, "%s must be an array of 1 to %d numbers", edges_path,
                       DRIFT_BINS_MAX - 1);
    float *edges = arena_alloc_array(reader->arena, count, sizeof *edges);
    float *shares = arena_alloc_array(reader->arena, count + 1, sizeof *shares);
    if (edges == NULL || shares == NULL)
        return err_no_memory(err, (2 * count + 1) * sizeof *edges);
    reader->out->edges[kind] = edges;
    reader->out->psi[kind] =
        (struct psi_reference){(unsigned)count + 1, shares, reader->out->count};
    if (read_edges(array, edges_path, edges, count, err))
        return err->code;
    return read_shares(doc_member(bins, "shares"), shares_path, shares, count + 1, err);
}

/* label_map_read's visitor. */
static enum err_code read_label_share(void *context, unsigned label, const struct json_t *value,
                                      struct err *err)
{
    const struct reader *reader = context;
    double share = 0;
    if (!doc_as_number(value, &share) || !(share >= 0 && share <= 1))
        return err_set(err, ERR_UNSUPPORTED,
                       "$.reference.labels: the share of '%s' must be a number from 0 to 1",
                       reader->labels[label]);
    reader->out->label_shares[label] = (float)share;
    return ERR_OK;
}

/* ---- bins of labels ---- */

struct entry {
    const char *text;
    float share;
    unsigned label;
};

/* Falling shares; labels of one text are neighbours. */
static int compare(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int order = (a->share < b->share) - (a->share > b->share);
    return order != 0 ? order : strcmp(a->text, b->text);
}

/* True if the entry has the same label as the one before it. The entries are sorted. */
static bool is_twin(const struct entry *entries, unsigned i)
{
    return i > 0 && strcmp(entries[i].text, entries[i - 1].text) == 0;
}

/* A bin ends with the label that fills it; the last one has what is left, however little. */
static void group(struct drift_reference *out, const struct entry *entries, float *shares,
                  double least)
{
    unsigned bins = 0;
    for (unsigned i = 0; i < out->label_count; i++) {
        bool is_same = is_twin(entries, i);
        if (!is_same && (bins == 0 || (double)shares[bins - 1] >= least))
            shares[bins++] = 0;
        out->label_bins[entries[i].label] = (uint8_t)(bins - 1);
        shares[bins - 1] += is_same ? 0 : entries[i].share;
    }
    out->psi[DRIFT_LABEL] = (struct psi_reference){bins, shares, out->count};
}

static double sum_labels(const struct entry *entries, unsigned count)
{
    double sum = 0;
    for (unsigned i = 0; i < count; i++)
        if (!is_twin(entries, i))
            sum += (double)entries[i].share;
    return sum;
}

static enum err_code group_labels(const struct reader *reader, struct err *err)
{
    struct drift_reference *out = reader->out;
    const unsigned count = out->label_count;
    struct entry *entries = calloc(count, sizeof *entries);
    float *shares = arena_alloc_array(reader->arena, DRIFT_BINS_MAX, sizeof *shares);
    if (entries == NULL || shares == NULL) {
        free(entries);
        return err_no_memory(err, count * sizeof *entries);
    }
    for (unsigned i = 0; i < count; i++)
        entries[i] = (struct entry){reader->labels[i], out->label_shares[i], i};
    qsort(entries, count, sizeof *entries, compare);
    if (!check_sum(sum_labels(entries, count), "$.reference.labels", err))
        group(out, entries, shares, fmax(DRIFT_SHARE_MIN, (double)DRIFT_BIN_INPUTS / out->count));
    free(entries);
    return err->code;
}

static enum err_code read_labels(struct reader *reader, const struct json_t *object,
                                 struct err *err)
{
    struct drift_reference *out = reader->out;
    out->label_shares =
        arena_alloc_array(reader->arena, out->label_count, sizeof *out->label_shares);
    out->label_bins = arena_alloc_array(reader->arena, out->label_count, sizeof *out->label_bins);
    if (out->label_shares == NULL || out->label_bins == NULL)
        return err_no_memory(err, out->label_count * sizeof *out->label_shares);
    if (label_map_read(doc_member(object, "labels"), "$.reference.labels", reader->labels,
                       out->label_count, read_label_share, reader, err))
        return err->code;
    return group_labels(reader, err);
}

/* ---- all of it ---- */

static uint64_t mix(uint64_t digest, const float *numbers, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &numbers[i], sizeof bits);
        digest = rng_mix(digest ^ bits) + i;
    }
    return digest;
}

static uint64_t digest_of(const struct drift_reference *reference)
{
    uint64_t digest = mix(reference->count, reference->label_shares, reference->label_count);
    for (enum drift_kind kind = DRIFT_SCORE; kind < DRIFT_KINDS; kind++) {
        const struct psi_reference *bins = &reference->psi[kind];
        if (!drift_reference_has(reference, kind))
            continue;
        digest = mix(digest, reference->edges[kind], bins->bin_count - 1);
        digest = mix(digest, bins->shares, bins->bin_count);
    }
    return digest;
}

static enum err_code read_kinds(struct reader *reader, const struct json_t *object, struct err *err)
{
    if (reader->out->label_count == 0)
        return read_bins(reader, object, DRIFT_VALUE, err);
    if (read_labels(reader, object, err) || read_bins(reader, object, DRIFT_SCORE, err))
        return err->code;
    return read_bins(reader, object, DRIFT_OOD, err);
}

enum err_code drift_reference_read(const struct drift_reference **out, const struct json_t *object,
                                   const char *const *labels, unsigned label_count,
                                   struct arena *arena, struct err *err)
{
    long long count = 0;
    struct drift_reference *reference = arena_alloc_array(arena, 1, sizeof *reference);
    if (reference == NULL)
        return err_no_memory(err, sizeof *reference);
    struct reader reader = {reference, labels, arena};
    if (strcmp(doc_type_name(object), "an object") != 0)
        return err_set(err, ERR_UNSUPPORTED, "$.reference: expected an object, found %s",
                       doc_type_name(object));
    const char *members = label_count > 0 ? "count, labels, score, ood" : "count, value";
    if (doc_check_members(object, "$.reference", members, err) ||
        doc_get_integer(object, "$.reference", "count", 1, DRIFT_COUNT_MAX, &count, err))
        return err->code;
    if (count == 0)
        return err_set(err, ERR_UNSUPPORTED, "$.reference.count is missing");
    reference->count = (unsigned)count;
    reference->label_count = label_count;
    if (read_kinds(&reader, object, err))
        return err->code;
    reference->digest = digest_of(reference);
    *out = reference;
    return ERR_OK;
}
