/* explanations.h: a run over texts with a tiny model, against what the engine itself says of them.
 */
#include "learn/eval/explain/explanations.h"
#include "tests/support/labels_model.h"
#include "tests/support/run_logits.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 9, LABELS = 2, LOST = 4 };

static const char *const labels[LABELS] = {"a", "b"};

static struct made {
    struct engine_model *model;
    struct dataset_item items[INPUTS];
    char texts[INPUTS][48];
    struct dataset dataset;
    struct evaluation evaluation;
    unsigned classes[INPUTS];
    struct explanations_source source;
    struct explanations explanations;
    size_t told[INPUTS];
    unsigned told_count;
} made;

/* Texts of 1 + i % 4 words; one input has no logits, and every third label is wrong. */
static void open_made(void)
{
    struct evaluation_options how = {.threads = 1};
    struct err err = {0};
    made = (struct made){.model = labels_model_open(labels, LABELS)};
    for (unsigned i = 0; i < INPUTS; i++) {
        for (unsigned w = 0; w <= i % 4; w++)
            snprintf(made.texts[i] + strlen(made.texts[i]), 8, "w%u ", 7 + 3 * i + w);
        made.items[i] = (struct dataset_item){.name = "line",
                                              .input = made.texts[i],
                                              .input_len = strlen(made.texts[i]),
                                              .label = "a"};
    }
    made.dataset = (struct dataset){.kind = ENGINE_TEXT, .items = made.items, .count = INPUTS};
    ck_assert(!evaluation_run(&made.evaluation, made.model, &made.dataset, &how, &err));
    for (unsigned i = 0; i < INPUTS; i++)
        made.classes[i] = evaluation_argmax(&made.evaluation, i) ^ (i % 3 == 2);
    made.evaluation.problems[LOST] = "lost";
    made.evaluation.failed = 1;
    made.source =
        (struct explanations_source){made.model, &made.dataset, &made.evaluation, made.classes};
}

static void note(void *context, size_t done)
{
    struct made *to = context;
    to->told[to->told_count++] = done;
}

static void explain(unsigned inputs_max, uint64_t seed)
{
    struct explanations_options options = {
        .inputs_max = inputs_max, .seed = seed, .threads = 1, .progress = note, .context = &made};
    struct err err = {0};
    ck_assert_msg(!explanations_run(&made.explanations, &made.source, &options, &err), "%s",
                  err.text);
}

static void close_made(void)
{
    explanations_close(&made.explanations);
    evaluation_close(&made.evaluation);
    engine_close(made.model);
}

/* The winner's probability for an item. */
static double probability(size_t item)
{
    float scores[LABELS];
    engine_scores(made.model, evaluation_logits(&made.evaluation, item), scores);
    return (double)scores[evaluation_argmax(&made.evaluation, item)];
}

START_TEST(every_usable_input_is_explained_in_the_order_of_the_data)
{
    open_made();
    explain(100, 1);
    ck_assert_uint_eq(made.explanations.count, INPUTS - 1);
    for (unsigned i = 0; i < INPUTS - 1; i++) {
        const struct explained *explained = &made.explanations.inputs[i];
        unsigned item = i + (i >= LOST);
        ck_assert_uint_eq(explained->item, item);
        ck_assert_uint_eq(explained->label, made.classes[item]);
        ck_assert_uint_eq(explained->winner, evaluation_argmax(&made.evaluation, item));
        ck_assert_uint_eq(explained->parts, 1 + item % 4);
        ck_assert(explained->marked == 0);
        ck_assert_uint_eq(made.told[i], i + 1);
    }
    ck_assert_uint_eq(made.told_count, INPUTS - 1);
    ck_assert_uint_eq(explanations_right(&made.explanations), 5);
    close_made();
}
END_TEST

/* Both ends of every curve are the whole text and none, whatever the order; an input's areas are
 * those under its curves, of random orders their mean. */
START_TEST(curves_begin_and_end_with_what_the_model_says)
{
    double whole = 0;
    open_made();
    explain(100, 1);
    for (unsigned i = 0; i < INPUTS; i++)
        whole += i == LOST ? 0 : probability(i);
    for (unsigned method = 0; method < EXPLANATIONS_METHODS; method++) {
        const struct faithfulness_curves *curves = &made.explanations.curves[method];
        const struct faithfulness_curves *first = &made.explanations.curves[0];
        double deletion = 0, insertion = 0;
        ck_assert_double_eq_tol(curves->deletion[0].on[SCORE_PROBABILITY], whole, 1e-5);
        ck_assert_double_eq_tol(curves->insertion[FAITHFULNESS_STEPS].on[SCORE_PROBABILITY], whole,
                                1e-5);
        ck_assert_double_eq_tol(curves->insertion[0].on[SCORE_PROBABILITY],
                                first->insertion[0].on[SCORE_PROBABILITY], 1e-9);
        ck_assert_double_eq_tol(curves->deletion[FAITHFULNESS_STEPS].on[SCORE_PROBABILITY],
                                first->insertion[0].on[SCORE_PROBABILITY], 1e-9);
        for (unsigned scale = 0; scale < SCORE_SCALES; scale++) {
            deletion = insertion = 0;
            for (unsigned i = 0; i < INPUTS - 1; i++) {
                deletion += made.explanations.inputs[i].methods[method].deletion[scale];
                insertion += made.explanations.inputs[i].methods[method].insertion[scale];
            }
            ck_assert_double_eq_tol(deletion, faithfulness_area(curves->deletion, scale), 1e-9);
            ck_assert_double_eq_tol(insertion, faithfulness_area(curves->insertion, scale), 1e-9);
        }
        ck_assert(method == METHOD_RANDOM || made.explanations.ms[method] > 0);
    }
    ck_assert(made.explanations.inference_ms > 0);
    close_made();
}
END_TEST

/* The gallery shows the explanations of the engine. Its occlusion is the fall of the score. */
START_TEST(the_gallery_shows_right_answers_as_the_engine_explains_them)
{
    struct err err = {0};
    open_made();
    explain(100, 1);
    ck_assert_uint_eq(made.explanations.gallery_count, 5);
    for (unsigned e = 0; e < made.explanations.gallery_count; e++) {
        const struct explanations_exhibit *exhibit = &made.explanations.gallery[e];
        const struct explained *explained = exhibit->explained;
        ck_assert_uint_eq(explained->label, explained->winner);
        for (unsigned method = 0; method < EXPLAIN_LABEL_METHODS; method++) {
            const struct explain_options how = {.method = (enum explain_method)method};
            struct explanation found;
            struct engine_input input;
            struct engine_session *session;
            struct arena arena;
            float logits[LABELS];
            arena_init(&arena);
            ck_assert(!evaluation_prepare(made.model, &made.dataset, explained->item, NULL,
                                          &(struct pictures){0}, &arena, &input, &err) &&
                      !engine_capture(made.model, &input, &how, &arena, &err) &&
                      !engine_session_open(&session, made.model, 32, 1, &err));
            run_logits_one(session, &input, logits);
            ck_assert(!engine_explain(made.model, NULL, &input, &how, explained->winner, &arena,
                                      &found, &err));
            ck_assert_uint_eq(found.word_count, explained->parts);
            for (unsigned p = 0; p < explained->parts; p++) {
                ck_assert(fabsf(found.words[p].relevance - exhibit->relevance[method][p]) < 1e-6f);
                ck_assert_uint_eq(found.words[p].start, exhibit->shape.words[p].start);
                ck_assert_uint_eq(found.words[p].end, exhibit->shape.words[p].end);
            }
            engine_session_close(session);
            arena_deinit(&arena);
        }
    }
    close_made();
}
END_TEST

/* Occlusion of a text of one word removes all of it, as the end of deletion does. */
START_TEST(occlusion_of_a_single_word_is_the_fall_to_the_empty_text)
{
    open_made();
    explain(1, 0);
    for (uint64_t seed = 1; made.explanations.inputs[0].item != 0; seed++) {
        explanations_close(&made.explanations);
        explain(1, seed);
        made.told_count = 0;
        ck_assert_uint_lt(seed, 100);
    }
    const struct faithfulness_curves *curves = &made.explanations.curves[METHOD_OCCLUSION];
    double fall = curves->deletion[0].on[SCORE_LOG_ODDS] -
                  curves->deletion[FAITHFULNESS_STEPS].on[SCORE_LOG_ODDS];
    ck_assert_uint_eq(made.explanations.gallery_count, 1);
    ck_assert_double_eq_tol((double)made.explanations.gallery[0].relevance[METHOD_OCCLUSION][0],
                            fall, 1e-5);
    close_made();
}
END_TEST

/* Three of eight for each of 400 seeds: 150 times each, give or take four deviations of 9.7. */
START_TEST(every_input_is_as_likely_to_be_chosen)
{
    enum { SEEDS = 400 };
    unsigned chosen[INPUTS] = {0};
    open_made();
    for (unsigned i = 0; i < INPUTS; i++)
        made.items[i].input_len = 3; /* a word each: what they say does not matter */
    for (unsigned seed = 0; seed < SEEDS; seed++) {
        made.told_count = 0;
        explain(3, seed);
        ck_assert_uint_eq(made.explanations.count, 3);
        for (unsigned i = 0; i < 3; i++) {
            chosen[made.explanations.inputs[i].item]++;
            ck_assert(i == 0 ||
                      made.explanations.inputs[i].item > made.explanations.inputs[i - 1].item);
        }
        explanations_close(&made.explanations);
    }
    for (unsigned i = 0; i < INPUTS; i++)
        ck_assert_msg(i == LOST ? chosen[i] == 0 : abs((int)chosen[i] - 150) < 39, "%u: %u", i,
                      chosen[i]);
    made.explanations = (struct explanations){0};
    evaluation_close(&made.evaluation);
    engine_close(made.model);
}
END_TEST

SUITE("explanations", every_usable_input_is_explained_in_the_order_of_the_data,
      curves_begin_and_end_with_what_the_model_says,
      the_gallery_shows_right_answers_as_the_engine_explains_them,
      occlusion_of_a_single_word_is_the_fall_to_the_empty_text,
      every_input_is_as_likely_to_be_chosen)
