/* attnd_json.c - see attnd_json.h. The text is written without jansson, which prints all numbers of
 * a tree with the same number of digits: statistics are thousands of numbers of 7 digits,
 * thresholds have 9. The reader parses the text before it replaces the file, so that an error here
 * cannot make a checkpoint unusable. */
#include "learn/eval/fit/attnd_json.h"

#include "engine/base/doc.h"
#include "engine/base/doc_string.h"
#include "engine/base/file.h"
#include "engine/base/memory_file.h"
#include "engine/base/replace.h"
#include "engine/model/decoder/pair_spec.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = 7, SCORE_DIGITS = 9, COUNT_DIGITS = 15, LINE_NUMBERS = 8 }; /* a float survives 9 */

static void put_text(FILE *out, const char *text)
{
    doc_string_write(out, text, strlen(text));
}

static void put_numbers(FILE *out, const float *numbers, size_t count, int digits)
{
    fputc('[', out);
    for (size_t i = 0; i < count; i++) {
        const char *between = i == 0 ? "" : i % LINE_NUMBERS == 0 ? ",\n    " : ", ";
        fprintf(out, "%s%.*g", between, digits, (double)numbers[i]);
    }
    fputc(']', out);
}

/* Writes {"label": ..., } with `put` for each label's value; only the first of equal labels. */
static void put_labels(FILE *out, const struct spec *spec,
                       void (*put)(FILE *out, const struct spec *spec, unsigned label))
{
    const char *between = "{\n    ";
    for (unsigned i = 0; i < spec->label_count; i++) {
        bool again = false;
        for (unsigned j = 0; j < i && !again; j++)
            again = strcmp(spec->labels[i], spec->labels[j]) == 0;
        if (again)
            continue;
        fputs(between, out);
        put_text(out, spec->labels[i]);
        fputs(": ", out);
        put(out, spec, i);
        between = ",\n    ";
    }
    fputs("}", out);
}

static void put_score(FILE *out, float score)
{
    if (isnan(score))
        fputs("null", out);
    else
        fprintf(out, "%.*g", SCORE_DIGITS, (double)score);
}

static void put_threshold(FILE *out, const struct spec *spec, unsigned label)
{
    put_score(out, spec->policy.thresholds[label]);
}

static void put_ood_threshold(FILE *out, const struct spec *spec, unsigned label)
{
    put_score(out, spec->policy.ood.label_thresholds[label]);
}

static void put_class_code(FILE *out, const struct spec *spec, unsigned label)
{
    const struct class_code *code = &spec->class_codes[label];
    if (code->is_none)
        fputs("null", out);
    else if (code->text != NULL)
        put_text(out, code->text);
    else
        fprintf(out, "%lld", code->number);
}

static void put_class_mean(FILE *out, const struct spec *spec, unsigned label)
{
    const struct ood *ood = &spec->policy.ood;
    const float *class_mean = ood->class_means + (size_t)label * ood->components;
    if (isnan(class_mean[0]))
        fputs("null", out);
    else
        put_numbers(out, class_mean, ood->components, DIGITS);
}

static void put_statistics(FILE *out, const struct spec *spec)
{
    const struct ood *ood = &spec->policy.ood;
    fputs(",\n  \"mean\": ", out);
    put_numbers(out, ood->mean, ood->hidden, DIGITS);
    fputs(",\n  \"projection\": [\n   ", out);
    for (unsigned i = 0; i < ood->components; i++) {
        put_numbers(out, ood->projection + (size_t)i * ood->hidden, ood->hidden, DIGITS);
        fputs(i + 1 < ood->components ? ",\n   " : "]", out);
    }
    fputs(",\n  \"variances\": ", out);
    put_numbers(out, ood->variances, ood->components, DIGITS);
    fputs(",\n  \"class_means\": ", out);
    put_labels(out, spec, put_class_mean);
    if (ood->method == OOD_MAHALANOBIS)
        fprintf(out, ",\n  \"residual_variance\": %.*g", DIGITS, (double)ood->residual);
    if (ood->method != OOD_RELATIVE)
        return;
    fputs(",\n  \"background\": ", out);
    put_numbers(out, ood->background, ood->components, DIGITS);
}

static void put_ood(FILE *out, const struct spec *spec)
{
    const struct ood *ood = &spec->policy.ood;
    if (ood->method == OOD_NONE)
        return;
    fprintf(out, ",\n \"ood\": {\n  \"method\": \"%s\"", ood_method_name(ood->method));
    if (ood->method == OOD_NEIGHBOURS)
        fprintf(out, ",\n  \"neighbours\": %u", ood->neighbours.nearest);
    if (ood->has_threshold)
        fprintf(out, ",\n  \"threshold\": %.*g", SCORE_DIGITS, (double)ood->threshold);
    if (ood->label_thresholds != NULL) {
        fputs(",\n  \"thresholds\": ", out);
        put_labels(out, spec, put_ood_threshold);
    }
    if (ood->quantile_count > 0) {
        fputs(",\n  \"quantiles\": ", out);
        put_numbers(out, ood->quantiles, ood->quantile_count, SCORE_DIGITS);
    }
    if (ood->method == OOD_MAHALANOBIS || ood->method == OOD_RELATIVE)
        put_statistics(out, spec);
    fputs("}", out);
}

static void put_label_share(FILE *out, const struct spec *spec, unsigned label)
{
    fprintf(out, "%.*g", SCORE_DIGITS, (double)spec->reference->label_shares[label]);
}

static void put_reference(FILE *out, const struct spec *spec)
{
    const struct drift_reference *reference = spec->reference;
    fprintf(out, ",\n \"reference\": {\n  \"count\": %u", reference->count);
    if (reference->label_count > 0) {
        fputs(",\n  \"labels\": ", out);
        put_labels(out, spec, put_label_share);
    }
    for (enum drift_kind kind = DRIFT_SCORE; kind < DRIFT_KINDS; kind++) {
        const struct psi_reference *bins = &reference->psi[kind];
        if (!drift_reference_has(reference, kind))
            continue;
        fprintf(out, ",\n  \"%s\": {\n   \"edges\": ", drift_kind_name(kind));
        put_numbers(out, reference->edges[kind], bins->bin_count - 1, SCORE_DIGITS);
        fputs(",\n   \"shares\": ", out);
        put_numbers(out, bins->shares, bins->bin_count, SCORE_DIGITS);
        fputs("}", out);
    }
    fputs("}", out);
}

static void put_fitted(FILE *out, const struct spec *spec, unsigned label)
{
    fprintf(out, "%.*g", COUNT_DIGITS, spec->class_prior.fitted[label]);
}

static void put_expected(FILE *out, const struct spec *spec, unsigned label)
{
    fprintf(out, "%.*g", COUNT_DIGITS, spec->class_prior.expected[label]);
}

static void put_prior(FILE *out, const struct spec *spec)
{
    const struct class_prior *prior = &spec->class_prior;
    if (prior->fitted != NULL) {
        fputs(",\n \"fitted_prior\": ", out);
        put_labels(out, spec, put_fitted);
    }
    if (prior->kind == CLASS_PRIOR_NATURAL)
        return;
    fputs(",\n \"class_prior\": ", out);
    if (prior->kind == CLASS_PRIOR_EQUAL)
        put_text(out, class_prior_name(prior));
    else
        put_labels(out, spec, put_expected);
}

/* Writes the agreements that were measured. */
static void put_precisions(FILE *out, const struct precision_record *record)
{
    const char *between = ",\n \"agreement\": {";
    if (record->is_pinned)
        fprintf(out, ",\n \"dtype\": \"%s\"", precision_name(record->pinned));
    for (enum precision p = PRECISION_F32; p < PRECISION_COUNT; p++) {
        const struct precision_agreement *agreement = &record->agreement[p];
        if (agreement->inputs == 0)
            continue;
        fprintf(out, "%s\n    \"%s\": {\"inputs\": %u, \"same_winner\": %u, ", between,
                precision_name(p), agreement->inputs, agreement->same_winner);
        fprintf(out, "\"macro_f1_points\": %.*g, \"digest\": \"%s\"}", SCORE_DIGITS,
                agreement->f1_points, agreement->digest);
        between = ",";
    }
    if (between[1] == '\0')
        fputs("}", out);
}

static void put_candidates(FILE *out, const struct spec *spec)
{
    for (unsigned i = 0; i < spec->label_count; i++) {
        fputs(i == 0 ? ",\n \"candidate_labels\": [" : ", ", out);
        put_text(out, spec->labels[i]);
    }
    fputs(spec->label_count > 0 ? "],\n \"hypothesis_template\": "
                                : ",\n \"hypothesis_template\": ",
          out);
    put_text(out, spec->hypothesis);
}

static void put_thresholds(FILE *out, const struct spec *spec)
{
    if (spec->policy.target_precision > 0)
        fprintf(out, ",\n \"target_precision\": %.*g", SCORE_DIGITS, spec->policy.target_precision);
    if (spec->policy.thresholds != NULL) {
        fputs(",\n \"thresholds\": ", out);
        put_labels(out, spec, put_threshold);
    }
}

static void put_doubts(FILE *out, const struct policy *policy)
{
    if (policy->says_uncalibrated)
        fprintf(out, ",\n \"uncalibrated\": \"%s\"",
                policy->takes_uncalibrated ? "auto" : "review");
    if (policy->learnt_grey)
        fputs(",\n \"colours\": \"grey\"", out);
    if (policy->accepts_truncated)
        fputs(",\n \"truncation\": \"accept\"", out);
}

/* Writes all that a model that writes texts may have (decoder/pair_spec.h). */
static void put_pair(FILE *out, const struct spec *spec)
{
    const struct confidence *confidence = &spec->policy.confidence;
    const char *label = "text";
    struct spec labelled = *spec;
    labelled.labels = &label;
    labelled.label_count = 1;
    fputs("{\"version\": ", out);
    put_text(out, spec->version);
    if (spec->text_checksum != NULL) {
        fputs(",\n \"checksum\": ", out);
        put_text(out, spec->text_checksum);
    }
    if (spec->image_reading.views > 1)
        fprintf(out, ",\n \"views\": %u", spec->image_reading.views);
    if (confidence->scale > 0)
        fprintf(out, ",\n \"confidence\": {\"scale\": %.*g, \"shift\": %.*g}", SCORE_DIGITS,
                (double)confidence->scale, SCORE_DIGITS, (double)confidence->shift);
    put_thresholds(out, &labelled);
    put_doubts(out, &spec->policy);
    fputs("}\n", out);
}

/* A line for each label before. */
static void put_transitions(FILE *out, const struct spec *spec)
{
    const double *count = spec->pairs.counts;
    if (count == NULL)
        return;
    fputs(",\n \"transitions\": {", out);
    for (unsigned gap = 0; gap < TAG_GAPS; gap++) {
        fprintf(out, "%s\n  \"%s\": {", gap > 0 ? "," : "", tag_gap_name((enum tag_gap)gap));
        for (unsigned before = 0; before < spec->label_count; before++) {
            fputs(before > 0 ? ",\n    " : "\n    ", out);
            put_text(out, spec->labels[before]);
            for (unsigned i = 0; i < spec->label_count; i++)
                fprintf(out, "%s%.*g", i > 0 ? "," : ": [", COUNT_DIGITS, *count++);
            fputs("]", out);
        }
        fputs("}", out);
    }
    fputs("}", out);
}

static void put_spec(FILE *out, const struct spec *spec)
{
    fputs("{\"version\": ", out);
    put_text(out, spec->version);
    fprintf(out, ",\n \"temperature\": %.*g", SCORE_DIGITS, spec->temperature);
    if (spec->family->is_zero_shot)
        put_candidates(out, spec);
    if (spec->head_file != NULL) {
        fputs(",\n \"head\": ", out);
        put_text(out, spec->head_file);
    }
    put_precisions(out, &spec->precisions);
    if (spec->grey16_minmax)
        fputs(",\n \"grey16\": \"minmax\"", out);
    put_thresholds(out, spec);
    if (spec->class_codes != NULL) {
        fputs(",\n \"class_codes\": ", out);
        put_labels(out, spec, put_class_code);
    }
    put_doubts(out, &spec->policy);
    if (spec->head == HEAD_TAGS && spec->aggregation != AGGREGATION_SIMPLE)
        fprintf(out, ",\n \"aggregation\": \"%s\"", aggregation_name(spec->aggregation));
    put_transitions(out, spec);
    if (spec->long_text.in_windows) {
        fputs(",\n \"long_text\": \"windows\"", out);
        if (spec->long_text.stride > 0)
            fprintf(out, ",\n \"window_stride\": %u", spec->long_text.stride);
        if (spec_row_size(spec) == 0)
            fprintf(out, ",\n \"window_pooling\": \"%s\"",
                    window_pooling_name(spec->long_text.pooling));
    } else if (spec->head == HEAD_TAGS) { /* which reads in windows if nothing is said */
        fputs(",\n \"long_text\": \"truncate\"", out);
    }
    if (spec->image_reading.views > 1)
        fprintf(out, ",\n \"views\": %u", spec->image_reading.views);
    if (spec->image_reading.reduction != REDUCTION_FILTER)
        fprintf(out, ",\n \"reduction\": \"%s\"",
                image_reduction_name(spec->image_reading.reduction));
    if (spec->token_pruning.full_layers > 0)
        fprintf(out, ",\n \"token_pruning\": {\"full_layers\": %u, \"share\": %.*g}",
                spec->token_pruning.full_layers, SCORE_DIGITS, spec->token_pruning.share);
    put_prior(out, spec);
    put_ood(out, spec);
    if (spec->reference != NULL)
        put_reference(out, spec);
    fputs("}\n", out);
}

/* Checks that the reader accepts the text. */
static enum err_code check(const char *text, size_t len, const struct spec *spec, struct err *err)
{
    struct json_t *object = NULL;
    struct arena arena;
    struct spec again = *spec;
    arena_init(&arena);
    if (doc_parse(&object, text, len, &doc_limits_file, err) ||
        (spec->head == HEAD_STATES ? pair_spec_read_attnd : spec_read_attnd)(&again, object, &arena,
                                                                             err)) {
        err->code = err->code == ERR_NO_MEMORY ? ERR_NO_MEMORY : ERR_UNUSABLE;
        err_prefix(err, "attnd.json would not be read again: ");
    }
    doc_free(object);
    arena_deinit(&arena);
    return err->code;
}

enum err_code attnd_json_write(const char *dir, const struct spec *spec, struct err *err)
{
    char path[PATH_MAX];
    struct memory_file text;
    if (file_path(path, dir, "attnd.json", err) || memory_file_open(&text, err))
        return err->code;
    (spec->head == HEAD_STATES ? put_pair : put_spec)(text.stream, spec);
    if (!memory_file_close(&text, err) && !check(text.bytes, text.len, spec, err))
        replace_file(path, text.bytes, text.len, err);
    free(text.bytes);
    return err->code;
}
