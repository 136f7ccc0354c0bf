/* calibrate.h with OOD_NEIGHBOURS: the examples that a directory gets, the threshold that comes of
 * them, and what the model that carries them says. */
#include "engine/model/spec.h"
#include "learn/eval/assessment.h"
#include "learn/eval/calibrate.h"
#include "learn/eval/fit/example_bank.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct train_fixture fixture;
static struct known_inputs inputs;
static struct assessment assessment;
static struct arena arena;
static struct err err;

static const struct evaluation_options one_thread = {.threads = 1, .features = true};

static void assess(void)
{
    const struct assessment_options how = {
        .dir = fixture.first.path, .target_precision = 0.95, .evaluation = {.threads = 1}};
    ck_assert_msg(!assessment_open(&assessment, &how, &err), "%s", err.text);
    ck_assert_msg(!assessment_take(&assessment, &inputs.dataset, "the data", &err), "%s", err.text);
    ck_assert_msg(!assessment_run(&assessment, &err), "%s", err.text);
}

/* A model that was trained without examples, and what it says of what it learnt. */
static void open_all(void)
{
    struct engine_model *model;
    const struct dataset_options fields = {.text_field = "text", .label_field = "label"};
    train_fixture_texts(&fixture);
    fixture.options.ood_method = "none";
    train_fixture_learn(&fixture);
    arena_init(&arena);
    err = (struct err){0};
    ck_assert(!engine_open(&model, fixture.first.path, &(struct engine_options){0}, &err));
    ck_assert_msg(!known_inputs_open(&inputs, model, fixture.list, &fields, &err), "%s", err.text);
    ck_assert_msg(!known_inputs_run(&inputs, model, &one_thread, &err), "%s", err.text);
    engine_close(model);
    assess();
}

static void close_all(void)
{
    assessment_close(&assessment);
    known_inputs_close(&inputs);
    arena_deinit(&arena);
    train_fixture_close(&fixture);
}

static struct spec calibrate(const struct evaluation *known)
{
    struct spec spec;
    const struct calibrate how = {.assessment = &assessment,
                                  .known = known,
                                  .known_classes = inputs.classes,
                                  .method = OOD_NEIGHBOURS};
    ck_assert_msg(!calibrate_write(&how, &err), "%s", err.text);
    ck_assert_msg(!spec_read(&spec, fixture.first.path, &arena, &err), "%s", err.text);
    ck_assert_int_eq(spec.policy.ood.method, OOD_NEIGHBOURS);
    ck_assert_str_eq(spec.head_file, HEAD_FILE_NAME);
    return spec;
}

static struct head_bank bank_of(const struct spec *spec)
{
    struct head_file *file;
    struct head_bank bank;
    ck_assert(!head_file_open(&file, fixture.first.path, spec->head_file, spec->label_count,
                              spec_row(spec), &err));
    ck_assert(!head_file_bank(file, &bank, &arena, &err));
    head_file_close(file);
    return bank;
}

/* One less the mean cosine of the nearest other examples, in double. */
static double expected_score(const struct head_bank *bank, const float *mean, unsigned offset,
                             unsigned nearest, uint64_t own)
{
    double largest[NEIGHBOURS_MAX], sum = 0;
    unsigned count = 0;
    for (size_t r = 0; r < bank->count; r++) {
        const float *row = bank->features + r * bank->width + offset;
        double product = 0, a = 0, b = 0;
        for (unsigned i = 0; i < bank->width - offset; i++) {
            product += (double)row[i] * (double)mean[i];
            a += (double)row[i] * (double)row[i];
            b += (double)mean[i] * (double)mean[i];
        }
        double cosine = product / sqrt(a * b);
        if (bank->digests[r] == own)
            continue;
        unsigned at = count < nearest ? count++ : nearest;
        while (at > 0 && largest[at - 1] < cosine) {
            if (at < nearest)
                largest[at] = largest[at - 1];
            at--;
        }
        if (at < nearest)
            largest[at] = cosine;
    }
    for (unsigned i = 0; i < count; i++)
        sum += largest[i];
    return 1 - sum / count;
}

static int rising(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

START_TEST(the_threshold_is_of_inputs_that_are_not_their_own_neighbours)
{
    open_all();
    const struct spec spec = calibrate(&inputs.evaluation);
    const struct head_bank bank = bank_of(&spec);
    const struct evaluation *evaluation = &assessment.evaluation;
    double *scores = calloc(evaluation->count, sizeof *scores);
    ck_assert_uint_gt(bank.count, 0);
    for (size_t i = 0; i < evaluation->count; i++)
        scores[i] = expected_score(&bank, evaluation_features(evaluation, i) + spec_features(&spec),
                                   spec_features(&spec), spec.policy.ood.neighbours.nearest,
                                   evaluation->digests[i]);
    qsort(scores, evaluation->count, sizeof *scores, rising);
    const size_t at = (size_t)ceil((1 - CALIBRATE_UNKNOWN) * (double)evaluation->count - 1e-9) - 1;
    ck_assert_double_eq_tol((double)spec.policy.ood.threshold, scores[at], 1e-5);
    ck_assert(spec.reference != NULL);
    free(scores);
    close_all();
}
END_TEST

START_TEST(the_model_that_carries_them_scores_by_them)
{
    open_all();
    const struct spec spec = calibrate(&inputs.evaluation);
    const struct head_bank bank = bank_of(&spec);
    assessment_close(&assessment);
    assess();
    ck_assert_str_eq(engine_describe(assessment.model)->ood_method, "neighbours");
    for (size_t i = 0; i < assessment.evaluation.count; i++) {
        const float *row = evaluation_features(&assessment.evaluation, i);
        float scores[2];
        struct engine_result result = {.scores = scores, .features = row};
        engine_conclude(assessment.model, evaluation_logits(&assessment.evaluation, i), NULL,
                        DOUBT_NONE, &result);
        ck_assert_double_eq_tol((double)result.judgement.ood_score,
                                expected_score(&bank, row + spec_features(&spec),
                                               spec_features(&spec),
                                               spec.policy.ood.neighbours.nearest, 0),
                                1e-5);
    }
    close_all();
}
END_TEST

START_TEST(examples_that_are_there_stay_unless_others_are_given)
{
    open_all();
    struct spec spec = calibrate(NULL); /* of the data */
    const struct head_bank own = bank_of(&spec);
    struct dataset fewer = inputs.dataset;
    fewer.count = 60;
    assessment_close(&assessment);
    const struct assessment_options how = {
        .dir = fixture.first.path, .target_precision = 0.95, .evaluation = {.threads = 1}};
    ck_assert(!assessment_open(&assessment, &how, &err));
    ck_assert(!assessment_take(&assessment, &fewer, "fewer", &err));
    ck_assert(!assessment_run(&assessment, &err));
    spec = calibrate(NULL);
    const struct head_bank kept = bank_of(&spec);
    ck_assert_uint_eq(kept.count, own.count);
    ck_assert_mem_eq(kept.digests, own.digests, own.count * sizeof *own.digests);
    ck_assert_mem_eq(kept.features, own.features, own.count * own.width * sizeof *own.features);
    inputs.evaluation.digests[0] ^= 1; /* an input that the examples do not have */
    spec = calibrate(&inputs.evaluation);
    const struct head_bank other = bank_of(&spec);
    ck_assert_uint_eq(other.count, own.count + 1);
    ck_assert_uint_ne(example_bank_find(&other, inputs.evaluation.digests[0]), SIZE_MAX);
    close_all();
}
END_TEST

START_TEST(examples_of_a_model_with_a_table_carry_their_ngrams)
{
    static float weight[4 * 2], bias[2];
    const struct ngram_table table = {.reading = {.characters = 40, .rows = 4},
                                      .labels = 2,
                                      .weight = weight,
                                      .bias = bias,
                                      .scale = 1};
    static const char attnd[] = "{\"head\": \"" HEAD_FILE_NAME "\"}";
    open_all();
    for (unsigned given = 0; given < 2; given++) {
        tempdir_write(&fixture.first, "attnd.json", attnd, sizeof attnd - 1);
        ck_assert(
            !head_file_write(fixture.first.path, &(struct head_content){.ngrams = &table}, &err));
        const struct calibrate how = {.assessment = &assessment,
                                      .known = given ? &inputs.evaluation : NULL,
                                      .known_classes = inputs.classes,
                                      .known_data = &inputs.dataset,
                                      .method = OOD_NEIGHBOURS};
        struct spec spec;
        ck_assert_msg(!calibrate_write(&how, &err), "%s", err.text);
        ck_assert(!spec_read(&spec, fixture.first.path, &arena, &err));
        const struct head_bank bank = bank_of(&spec);
        ck_assert_ptr_nonnull(bank.ngrams);
        for (size_t i = 0; i < inputs.dataset.count; i++) {
            const struct dataset_item *item = &inputs.dataset.items[i];
            const size_t at = example_bank_find(&bank, inputs.evaluation.digests[i]);
            struct ngram_list list;
            ck_assert(
                !ngrams_list(&table.reading, item->input, item->input_len, &arena, &list, &err));
            ck_assert_uint_eq(bank.ngrams[at].count, list.count);
            for (size_t k = 0; k < list.count; k++)
                ck_assert_float_eq(bank.ngrams[at].entries[k].value, list.entries[k].value);
        }
    }
    close_all();
}
END_TEST

SUITE("calibrate_neighbours", the_threshold_is_of_inputs_that_are_not_their_own_neighbours,
      the_model_that_carries_them_scores_by_them,
      examples_that_are_there_stay_unless_others_are_given,
      examples_of_a_model_with_a_table_carry_their_ngrams)
