/* Every figure that follows from logits and classes, against tests/reference/make_findings.py,
 * which computes each from its definition, in double precision and by the slowest way there is.
 * Scores are floats here, so that what hangs on them may differ by their rounding: 2^-24, or 1e-7.
 */
#include "engine/base/doc.h"
#include "learn/eval/fit/logit_adjustment.h"
#include "learn/eval/measure/findings.h"
#include "tests/support/contract.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { INPUTS_MAX = 96, LABELS_MAX = 8, CASES = 4 };

#define TOLERANCE 2e-7

static struct reference {
    struct json_t *root;
    const struct json_t *json; /* of the case */
    unsigned classes[INPUTS_MAX];
    float logits[INPUTS_MAX * LABELS_MAX];
    const char *problems[INPUTS_MAX];
    struct evaluation evaluation;
    struct confusion confusion;
    struct findings_options options;
} reference;

static double number(const struct json_t *from, const char *path)
{
    double value = NAN;
    ck_assert_msg(doc_as_number(contract_at(from, path), &value), "%s", path);
    return value;
}

static void expect(const char *path, double found)
{
    double expected = number(reference.json, path);
    ck_assert_msg(fabs(found - expected) <= TOLERANCE, "%s: %.9g instead of %.9g", path, found,
                  expected);
}

/* A number of the case, whose path is made as printf does. */
#define EXPECT(found, ...)                                                                         \
    do {                                                                                           \
        char path_[96];                                                                            \
        snprintf(path_, sizeof path_, __VA_ARGS__);                                                \
        expect(path_, found);                                                                      \
    } while (0)

static void fill(struct reference *out)
{
    const struct json_t *rows = contract_at(out->json, "logits");
    unsigned count = (unsigned)doc_array_count(rows);
    unsigned labels = (unsigned)doc_array_count(doc_array_item(rows, 0));
    ck_assert(count <= INPUTS_MAX && labels <= LABELS_MAX);
    for (unsigned i = 0; i < count; i++) {
        double class;
        ck_assert(doc_as_number(doc_array_item(contract_at(out->json, "classes"), i), &class));
        out->classes[i] = (unsigned)class;
        for (unsigned k = 0; k < labels; k++) {
            double logit;
            ck_assert(doc_as_number(doc_array_item(doc_array_item(rows, i), k), &logit));
            out->logits[i * labels + k] = (float)logit;
        }
    }
    out->evaluation = (struct evaluation){
        .count = count, .label_count = labels, .logits = out->logits, .problems = out->problems};
    for (unsigned f = 0; f < 2; f++) {
        unsigned item = (unsigned)number(out->json, f == 0 ? "failed.0" : "failed.1");
        if (item < count) {
            out->problems[item] = "lost";
            out->evaluation.failed++;
        }
    }
}

static void take(struct reference *out, unsigned index)
{
    struct err err = {0};
    *out = (struct reference){0};
    ck_assert_msg(!doc_parse_file(&out->root, "tests/data/eval/findings.json", 1 << 20, &err), "%s",
                  err.text);
    ck_assert_uint_eq(doc_array_count(out->root), CASES);
    out->json = doc_array_item(out->root, index);
    fill(out);
    ck_assert(!doc_get_bool(out->json, "$", "sigmoid", &out->options.sigmoid, &err));
    out->options.target_precision = number(out->json, "purity");
    out->options.temperature = number(out->json, "temperature");
    out->options.seed = (uint64_t)number(out->json, "seed");
    ck_assert(!evaluation_measure(&out->evaluation, out->classes, &out->confusion, &err));
}

static void release(struct reference *from)
{
    confusion_close(&from->confusion);
    doc_free(from->root);
}

static void expect_decisions(const char *figures, const char *rule,
                             const struct selective_decisions *found)
{
    EXPECT((double)found->automatic, "%s.%s.0", figures, rule);
    EXPECT((double)found->right, "%s.%s.1", figures, rule);
    EXPECT((double)found->review, "%s.%s.2", figures, rule);
    ck_assert_uint_eq(found->automatic + found->review, found->count);
    ck_assert_uint_eq(found->count, reference.evaluation.count - reference.evaluation.failed);
}

static void expect_figures(const char *name, const struct findings_figures *found)
{
    EXPECT(found->ece, "%s.ece", name);
    EXPECT(found->ece_by_mass, "%s.ece_by_mass", name);
    EXPECT(found->nll, "%s.nll", name);
    EXPECT(found->brier, "%s.brier", name);
    EXPECT(found->temperature, "%s.temperature", name);
    expect_decisions(name, "by_score", &found->by_score);
    expect_decisions(name, "by_class", &found->by_class);
}

static void expect_bins(const char *name, const struct findings_figures *found)
{
    for (unsigned i = 0; i < CALIBRATION_BINS; i++) {
        EXPECT((double)found->bins[i].count, "%s.bins.%u.0", name, i);
        EXPECT(found->bins[i].score, "%s.bins.%u.1", name, i);
        EXPECT(found->bins[i].right, "%s.bins.%u.2", name, i);
    }
}

static void expect_curve(const struct selective_curve *found)
{
    const struct json_t *points = contract_at(reference.json, "curve.points");
    EXPECT(found->aurc, "curve.aurc");
    EXPECT(found->coverage, "curve.coverage");
    EXPECT((double)found->threshold, "curve.threshold");
    ck_assert_uint_eq(found->point_count, doc_array_count(points));
    for (unsigned i = 0; i < found->point_count; i++) {
        EXPECT(found->points[i].coverage, "curve.points.%u.0", i);
        EXPECT(found->points[i].risk, "curve.points.%u.1", i);
    }
}

static void expect_classes(const struct findings *found)
{
    unsigned labels = reference.evaluation.label_count;
    for (unsigned k = 0; k < labels; k++) {
        const struct selective_threshold *threshold = &found->classes[k].threshold;
        char path[64];
        double expected;
        snprintf(path, sizeof path, "fitted.thresholds.%u", k);
        bool reachable = doc_as_number(contract_at(reference.json, path), &expected);
        ck_assert_int_eq(threshold->reachable, reachable);
        if (reachable)
            expect(path, (double)threshold->score);
    }
    EXPECT(found->macro_f1.low, "f1.%u.0", labels);
    EXPECT(found->macro_f1.high, "f1.%u.1", labels);
}

static void check_findings(void)
{
    struct findings found;
    struct err err = {0};
    ck_assert_msg(!findings_open(&found, &reference.evaluation, reference.classes,
                                 &reference.confusion, &reference.options, &err),
                  "%s", err.text);
    expect_figures("served", &found.served);
    expect_bins("served", &found.served);
    expect_figures("fitted", &found.fitted);
    expect_bins("fitted", &found.fitted);
    ck_assert(found.has_crossed);
    expect_figures("crossed", &found.crossed);
    expect_curve(&found.curve);
    expect_classes(&found);
    findings_close(&found);
}

static void check_f1(void)
{
    struct interval macro_f1, f1[LABELS_MAX];
    struct err err = {0};
    ck_assert(
        !interval_bootstrap_f1(&macro_f1, f1, &reference.confusion, reference.options.seed, &err));
    for (unsigned k = 0; k <= reference.evaluation.label_count; k++) {
        struct interval found = k < reference.evaluation.label_count ? f1[k] : macro_f1;
        EXPECT(found.low, "f1.%u.0", k);
        EXPECT(found.high, "f1.%u.1", k);
    }
}

static void check_biases(void)
{
    float shifts[LABELS_MAX];
    size_t items[INPUTS_MAX];
    struct logit_adjustment found;
    struct err err = {0};
    struct calibration_set set = {.logits = reference.logits,
                                  .classes = reference.classes,
                                  .items = items,
                                  .label_count = reference.evaluation.label_count};
    for (size_t i = 0; i < reference.evaluation.count; i++)
        if (reference.problems[i] == NULL)
            items[set.count++] = i;
    ck_assert(!logit_adjustment_fit(&found, &set, shifts, &err));
    expect("biases.before", found.before);
    expect("biases.after", found.after);
    expect("biases.crossed", found.crossed);
    for (unsigned k = 0; k < set.label_count; k++)
        EXPECT((double)shifts[k], "biases.shifts.%u", k);
}

static void check_all(void (*check)(void))
{
    for (unsigned i = 0; i < CASES; i++) {
        take(&reference, i);
        check();
        release(&reference);
    }
}

START_TEST(findings_are_those_of_the_definitions)
{
    check_all(check_findings);
}
END_TEST

START_TEST(f1_intervals_are_those_of_the_same_draws)
{
    check_all(check_f1);
}
END_TEST

START_TEST(biases_are_those_of_trying_every_shift)
{
    check_all(check_biases);
}
END_TEST

SUITE("findings_reference", findings_are_those_of_the_definitions,
      f1_intervals_are_those_of_the_same_draws, biases_are_those_of_trying_every_shift)
