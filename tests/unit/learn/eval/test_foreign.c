/* foreign.h and ood_answers.h: which inputs count, and what is told of them. */
#include "engine/model/family/family.h"
#include "learn/eval/foreign.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 120, LABELS = 2 };

/* An evaluation of made-up logits; `lead` is label 0's. */
struct inputs {
    float logits[COUNT * LABELS];
    const char *problems[COUNT];
    unsigned classes[COUNT];
    struct evaluation evaluation;
};

static struct inputs validation, foreign;
static struct assessment assessment;
static struct spec spec;
static struct arena arena;
static struct err err;
static float thresholds[LABELS];

static void fill(struct inputs *out, size_t count, float lead, float level)
{
    *out = (struct inputs){0};
    for (size_t i = 0; i < count; i++) {
        out->logits[i * LABELS] = level + lead;
        out->logits[i * LABELS + 1] = level;
    }
    out->evaluation = (struct evaluation){.count = count,
                                          .label_count = LABELS,
                                          .logits = out->logits,
                                          .features = out->logits, /* the energy reads none */
                                          .feature_size = LABELS,
                                          .problems = out->problems};
}

/* A hundred inputs of label 0, sure and right; the energy of each is about -7. */
static void setup(void)
{
    err = (struct err){0};
    fill(&validation, 100, 2, 5);
    assessment =
        (struct assessment){.evaluation = validation.evaluation, .classes = validation.classes};
    thresholds[0] = 0.75f;
    thresholds[1] = NAN;
    spec = (struct spec){.family = family_find("bert", NULL),
                         .label_count = LABELS,
                         .scores = SCORES_SOFTMAX,
                         .temperature = 1,
                         .policy = {.target_precision = 0.9, .thresholds = thresholds}};
    spec.policy.ood = (struct ood){.method = OOD_ENERGY, .label_count = LABELS};
    arena_init(&arena);
}

static struct foreign_cost take(void)
{
    struct foreign_cost cost = {0};
    ck_assert_msg(
        !foreign_take(&spec, &assessment, &foreign.evaluation, NULL, &cost, &arena, &err), "%s",
        err.text);
    return cost;
}

/* The foreign inputs are surer than the validation inputs, and as unlike. */
START_TEST(foreign_inputs_that_pass_raise_a_threshold_and_the_report_says_so)
{
    setup();
    fill(&foreign, 40, 3, 5);
    foreign.problems[7] = "lost";
    foreign.evaluation.failed = 1;
    const struct foreign_cost cost = take();
    ck_assert(isnan(spec.policy.thresholds[0]) && isnan(spec.policy.thresholds[1]));
    ck_assert_uint_eq(cost.foreign, 39);
    ck_assert_uint_eq(cost.unknown, 0);
    ck_assert_uint_eq(cost.passed_before, 39);
    ck_assert_uint_eq(cost.passed, 0);
    ck_assert_uint_eq(cost.known, 100);
    ck_assert_uint_eq(cost.automatic_before, 100);
    ck_assert_uint_eq(cost.automatic, 0);
    arena_deinit(&arena);
}
END_TEST

/* The same ones, a level lower: their energy is above the threshold. */
START_TEST(foreign_inputs_that_are_unknown_raise_nothing)
{
    setup();
    fill(&foreign, 40, 3, 0);
    spec.policy.ood.has_threshold = true;
    spec.policy.ood.threshold = -5;
    const struct foreign_cost cost = take();
    ck_assert_float_eq_tol(spec.policy.thresholds[0], 0.880797f, 1e-5f); /* the lowest seen */
    ck_assert_uint_eq(cost.unknown, 40);
    ck_assert_uint_eq(cost.passed_before, 0);
    ck_assert_uint_eq(cost.automatic, 100);
    arena_deinit(&arena);
}
END_TEST

START_TEST(answers_that_a_labels_own_threshold_spares_stay)
{
    struct ood_answers answers;
    float own[LABELS] = {0, NAN};
    setup();
    for (size_t i = 0; i < 50; i++)
        validation.logits[i * LABELS + 1] = 20; /* label 1, energy -20 */
    ck_assert(!ood_answers_open(&answers, &spec, &assessment, NULL, &err));
    ck_assert_uint_eq(answers.count, 100);
    ck_assert_uint_eq(answers.labels[49], 1);
    ck_assert_uint_eq(answers.labels[50], 0);
    spec.policy.ood.has_threshold = true;
    spec.policy.ood.threshold = -10;
    spec.policy.ood.label_thresholds = own;
    ood_answers_drop_unknown(&answers, &spec.policy.ood);
    ck_assert_uint_eq(answers.count, 100);
    spec.policy.ood.label_thresholds = NULL;
    ood_answers_drop_unknown(&answers, &spec.policy.ood);
    ck_assert_uint_eq(answers.count, 50);
    ck_assert_uint_eq(answers.items[49], 49);
    ck_assert_uint_eq(answers.labels[0], 1);
    ck_assert_float_eq_tol(answers.ood_scores[0], -20, 1e-3f);
    ood_answers_close(&answers);
    arena_deinit(&arena);
}
END_TEST

START_TEST(foreign_report_tells_the_cost_in_two_lines)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    foreign_tell(&(struct foreign_cost){.foreign = 400,
                                        .unknown = 300,
                                        .passed_before = 40,
                                        .passed = 2,
                                        .known = 50,
                                        .automatic_before = 40,
                                        .automatic = 30},
                 file);
    fclose(file);
    ck_assert_str_eq(text,
                     "foreign inputs  400: 75.0 % unknown, 0.5 % automatic, before 10.0 %\n"
                     "for that, of 50 inputs of the data that are not unknown 60.0 % are "
                     "automatic, before 80.0 %\n");
    free(text);
}
END_TEST

SUITE("foreign", foreign_inputs_that_pass_raise_a_threshold_and_the_report_says_so,
      foreign_inputs_that_are_unknown_raise_nothing,
      answers_that_a_labels_own_threshold_spares_stay, foreign_report_tells_the_cost_in_two_lines)
