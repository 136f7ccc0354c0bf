/* explanations.h once more, step by step: every figure of a run, of texts and of images with masks,
 * is made again from the parts that it is made of (perturbation.c, probe.h, faithfulness.c,
 * localisation.c), and must be the same. The model of images is trained on the spot, for what it
 * says does not matter. */
#include "engine/base/rng.h"
#include "engine/vision/png.h"
#include "learn/eval/explain/explanations.h"
#include "tests/support/labels_model.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 5, LABELS_MAX = 12, PARTS_MAX = 16, ORDERS = 3, SEED = 9, SIDE = 16 };

static struct made {
    struct engine_model *model;
    struct dataset_item items[INPUTS];
    char paths[INPUTS][128], masks[INPUTS][128];
    struct dataset dataset;
    struct evaluation evaluation;
    unsigned classes[INPUTS];
    struct explanations_source source;
    struct explanations explanations;
    enum perturbation_fill fill;
} made;

static struct err err;

#define FINE(call) ck_assert_msg(!(call), "%s", err.text)

/* ---- the fixture ---- */

static void open_source(enum engine_kind kind)
{
    const struct evaluation_options how = {.threads = 1};
    made.dataset = (struct dataset){.kind = kind, .items = made.items, .count = INPUTS};
    FINE(evaluation_run(&made.evaluation, made.model, &made.dataset, &how, &err));
    for (unsigned i = 0; i < INPUTS; i++)
        made.classes[i] = evaluation_argmax(&made.evaluation, i);
    made.source =
        (struct explanations_source){made.model, &made.dataset, &made.evaluation, made.classes};
}

static enum err_code explain(unsigned inputs_max)
{
    const struct explanations_options options = {
        .inputs_max = inputs_max, .seed = SEED, .threads = 1, .fill = made.fill};
    return explanations_run(&made.explanations, &made.source, &options, &err);
}

static void open_texts(void)
{
    static const char *const labels[] = {"a", "b"};
    static const char *const texts[INPUTS] = {"w7 w12 w9 w31", "w8", "w30 w11", "w3 w4 w5 w6 w7 w8",
                                              "w22 w9 w1"};
    made = (struct made){.model = labels_model_open(labels, 2)};
    for (unsigned i = 0; i < INPUTS; i++)
        made.items[i] = (struct dataset_item){
            .name = "line", .input = texts[i], .input_len = strlen(texts[i]), .label = "a"};
    open_source(ENGINE_TEXT);
}

/* White where x < right and y < bottom. */
static void write_mask(const struct tempdir *dir, unsigned item, unsigned width, unsigned right,
                       unsigned bottom)
{
    unsigned char rgb[SIDE * SIDE * 3] = {0};
    struct image image = {width, SIDE, rgb};
    char name[16], *png;
    size_t len;
    for (unsigned p = 0; p < width * SIDE; p++)
        memset(rgb + (size_t)p * 3, p % width < right && p / width < bottom ? 255 : 0, 3);
    FINE(png_encode(&png, &len, &image, &err));
    snprintf(name, sizeof name, "m%u.png", item);
    tempdir_write(dir, name, png, len);
    free(png);
    snprintf(made.masks[item], sizeof made.masks[item], "%s/%s", dir->path, name);
    made.items[item].mask = made.masks[item];
}

/* Images of 4 x 4 patches of 4 x 4 pixels. Item 1 has no mask; the others mark 8, 1, 4 and 6
 * patches. */
static void open_images(struct train_fixture *f)
{
    train_fixture_images(f, "right");
    f->options.epochs = 1;
    train_fixture_learn(f);
    made = (struct made){.fill = PERTURBATION_MEAN};
    FINE(engine_open(&made.model, f->first.path, &(struct engine_options){0}, &err));
    for (unsigned i = 0; i < INPUTS; i++) {
        snprintf(made.paths[i], sizeof made.paths[i], "%s/%02u.png", f->data.path, i);
        made.items[i] =
            (struct dataset_item){.name = "image", .input = made.paths[i], .label = "left"};
    }
    write_mask(&f->data, 0, SIDE, 8, 16);
    write_mask(&f->data, 2, SIDE, 1, 1);
    write_mask(&f->data, 3, SIDE, 5, 5);
    write_mask(&f->data, 4, SIDE, 12, 8);
    open_source(ENGINE_IMAGE);
}

static void close_made(void)
{
    explanations_close(&made.explanations);
    evaluation_close(&made.evaluation);
    engine_close(made.model);
}

/* ---- the replay ---- */

static void expect(double found, double expected, const char *what, unsigned method)
{
    ck_assert_msg(fabs(found - expected) < 1e-5 * fmax(1, fabs(expected)),
                  "%s of %s: %.9g instead of %.9g", what, explanations_method_name(method), found,
                  expected);
}

/* One input again, with the results of its methods in a form of its own. */
struct replay {
    struct arena arena;
    struct probe probe;
    struct scorer scorer;
    struct engine_input input;
    struct perturbation parts;
    struct score whole, empty;
    bool kept[PARTS_MAX], marked[PARTS_MAX];
    unsigned marked_count;
};

static void open_mask(struct replay *replay, const char *path, const struct patches_view *view)
{
    struct localisation_mask mask;
    if (path == NULL)
        return;
    FINE(localisation_read_mask(path, SIDE, SIDE, &replay->arena, &mask, &err));
    replay->marked_count = localisation_patches(&mask, view, replay->marked);
}

static void open_replay(struct replay *replay, const struct explanations_exhibit *exhibit)
{
    const struct engine_info *info = engine_describe(made.model);
    size_t item = exhibit->explained->item;
    *replay = (struct replay){0};
    arena_init(&replay->arena);
    FINE(probe_open(&replay->probe, made.model, 1, &err));
    FINE(evaluation_prepare(made.model, &made.dataset, item, NULL, &(struct pictures){0},
                            &replay->arena, &replay->input, &err));
    FINE(perturbation_open(&replay->parts, &replay->input, info->patch_size,
                           extent_square(info->image_height), made.fill, &replay->arena, &err));
    FINE(probe_take(&replay->probe, &replay->parts, exhibit->explained->winner, &err));
    replay->scorer = probe_scorer(&replay->probe);
    memset(replay->kept, true, sizeof replay->kept);
    replay->scorer.ask(&replay->probe, replay->kept, &replay->whole);
    memset(replay->kept, false, sizeof replay->kept);
    replay->scorer.ask(&replay->probe, replay->kept, &replay->empty);
    replay->scorer.flush(&replay->probe);
    open_mask(replay, made.items[item].mask, &exhibit->shape.view);
}

static void close_replay(struct replay *replay)
{
    probe_close(&replay->probe);
    arena_deinit(&replay->arena);
}

/* One order's figures, added up. */
static void add_order(struct replay *replay, const unsigned *order, double weight,
                      struct explanations_areas *sum, struct faithfulness_curves *curves)
{
    struct faithfulness_curves found;
    faithfulness_ask(&replay->scorer, order, replay->parts.count, replay->kept, &found);
    replay->scorer.flush(&replay->probe);
    faithfulness_end(&found, replay->whole, replay->empty);
    for (unsigned s = 0; s < SCORE_SCALES; s++) {
        sum->deletion[s] += weight * faithfulness_area(found.deletion, s);
        sum->insertion[s] += weight * faithfulness_area(found.insertion, s);
        for (unsigned p = 0; p < FAITHFULNESS_POINTS; p++) {
            curves->deletion[p].on[s] += weight * found.deletion[p].on[s];
            curves->insertion[p].on[s] += weight * found.insertion[p].on[s];
        }
    }
    if (replay->marked_count == 0)
        return;
    struct localisation place = localisation_measure(order, replay->marked, replay->marked_count);
    sum->points += weight * place.pointed;
    sum->iou += weight * place.iou;
}

static void replay_method(struct replay *replay, const struct explanations_exhibit *exhibit,
                          unsigned method, struct faithfulness_curves *curves)
{
    const struct explanations_areas *found = &exhibit->explained->methods[method];
    uint64_t seed = rng_hash(SEED, (uint32_t)exhibit->explained->item);
    struct explanations_areas sum = {0};
    unsigned order[PARTS_MAX];
    for (unsigned i = 0; i < (method == METHOD_RANDOM ? ORDERS : 1); i++) {
        if (method == METHOD_RANDOM)
            faithfulness_random_order(replay->parts.count, seed + i, order);
        else
            faithfulness_order(exhibit->relevance[method], replay->parts.count, seed, order);
        add_order(replay, order, method == METHOD_RANDOM ? 1.0 / ORDERS : 1, &sum, curves);
    }
    for (unsigned s = 0; s < SCORE_SCALES; s++) {
        expect(found->deletion[s], sum.deletion[s], "deletion", method);
        expect(found->insertion[s], sum.insertion[s], "insertion", method);
    }
    expect(found->points, sum.points, "points", method);
    expect(found->iou, sum.iou, "iou", method);
}

/* The relevance of each part is the engine's, or the fall of the log-odds without it. */
static void replay_relevance(struct replay *replay, const struct explanations_exhibit *exhibit)
{
    struct score without[PARTS_MAX];
    faithfulness_ask_occlusion(&replay->scorer, replay->parts.count, replay->kept, without);
    replay->scorer.flush(&replay->probe);
    for (unsigned p = 0; p < replay->parts.count; p++)
        expect((double)exhibit->relevance[METHOD_OCCLUSION][p],
               replay->whole.on[SCORE_LOG_ODDS] - without[p].on[SCORE_LOG_ODDS], "relevance",
               METHOD_OCCLUSION);
    for (unsigned method = 0; method < EXPLAIN_LABEL_METHODS; method++) {
        const struct explain_options how = {.method = (enum explain_method)method};
        struct explanation found;
        float logits[LABELS_MAX];
        FINE(engine_capture(made.model, &replay->input, &how, &replay->arena, &err));
        probe_run(&replay->probe, &replay->input, &(struct engine_result){.logits = logits});
        FINE(engine_explain(made.model, NULL, &replay->input, &how, exhibit->explained->winner,
                            &replay->arena, &found, &err));
        for (unsigned p = 0; p < replay->parts.count; p++)
            expect((double)exhibit->relevance[method][p],
                   (double)(found.words != NULL ? found.words[p].relevance : found.patches[p]),
                   "relevance", method);
    }
}

static void expect_sums(const struct faithfulness_curves sums[EXPLANATIONS_METHODS])
{
    for (unsigned method = 0; method < EXPLANATIONS_METHODS; method++)
        for (unsigned p = 0; p < FAITHFULNESS_POINTS; p++)
            for (unsigned s = 0; s < SCORE_SCALES; s++) {
                const struct faithfulness_curves *found = &made.explanations.curves[method];
                expect(found->deletion[p].on[s], sums[method].deletion[p].on[s], "curve", method);
                expect(found->insertion[p].on[s], sums[method].insertion[p].on[s], "curve", method);
            }
}

static void replay_all(void)
{
    static struct faithfulness_curves sums[EXPLANATIONS_METHODS];
    ck_assert_uint_eq(made.explanations.count, INPUTS);
    ck_assert_uint_eq(made.explanations.gallery_count, INPUTS);
    for (unsigned i = 0; i < INPUTS; i++) {
        const struct explanations_exhibit *exhibit = &made.explanations.gallery[i];
        struct replay replay;
        ck_assert_ptr_eq(exhibit->explained, &made.explanations.inputs[i]);
        open_replay(&replay, exhibit);
        ck_assert_uint_eq(exhibit->explained->parts, replay.parts.count);
        expect(exhibit->explained->marked, (double)replay.marked_count / replay.parts.count,
               "share", 0);
        for (unsigned method = 0; method < EXPLANATIONS_METHODS; method++)
            replay_method(&replay, exhibit, method, &sums[method]);
        replay_relevance(&replay, exhibit);
        close_replay(&replay);
    }
    expect_sums(sums);
}

/* ---- tests ---- */

START_TEST(explanations_of_texts_can_be_made_again_from_their_parts)
{
    open_texts();
    FINE(explain(100));
    replay_all();
    for (unsigned i = 0; i < INPUTS; i++) {
        ck_assert_ptr_null(made.explanations.gallery[i].shape.patches);
        const struct explanations_exhibit *exhibit = &made.explanations.gallery[i];
        for (unsigned p = 0; p < exhibit->explained->parts; p++) /* the first method's */
            ck_assert(exhibit->shape.words[p].relevance == exhibit->relevance[0][p]);
        ck_assert(made.explanations.inputs[i].marked == 0);
    }
    close_made();
}
END_TEST

START_TEST(explanations_of_images_can_be_made_again_from_their_parts)
{
    static const double marked[INPUTS] = {0.5, 0, 1 / 16.0, 0.25, 6 / 16.0};
    struct train_fixture f;
    double share;
    open_images(&f);
    FINE(explain(100));
    replay_all();
    for (unsigned i = 0; i < INPUTS; i++) {
        const struct explanations_exhibit *exhibit = &made.explanations.gallery[i];
        ck_assert(made.explanations.inputs[i].marked == marked[i]);
        ck_assert(exhibit->shape.patches == NULL && exhibit->shape.words == NULL);
        ck_assert(exhibit->shape.view.rows == 4 && exhibit->shape.view.columns == 4);
    }
    ck_assert_uint_eq(explanations_masked(&made.explanations, &share), 4);
    ck_assert_double_eq_tol(share, (0.5 + 1 / 16.0 + 0.25 + 6 / 16.0) / 4, 1e-12);
    close_made();
    train_fixture_close(&f);
}
END_TEST

/* The mask is refused before anything is computed: not even the first input is explained. */
START_TEST(explanations_refuse_a_mask_that_does_not_fit)
{
    struct train_fixture f;
    open_images(&f);
    write_mask(&f.data, 4, 8, 4, 4);
    ck_assert_int_eq(explain(100), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(
        strstr(err.text, "m4.png: the mask has 8 x 16 pixels, its image 16 x 16"));
    ck_assert(made.explanations.inference_ms == 0 && made.explanations.inputs[0].parts == 0);
    err = (struct err){0};
    close_made();
    train_fixture_close(&f);
}
END_TEST

/* One that is gone since the evaluation: with a mask it is missed at once, without one at its turn.
 */
START_TEST(explanations_end_at_an_image_that_is_gone)
{
    struct train_fixture f;
    for (unsigned item = 0; item < 2; item++) {
        open_images(&f);
        made.items[item].input = made.items[item].name = "gone.png";
        ck_assert_int_eq(explain(100), ERR_UNUSABLE);
        ck_assert_str_eq(err.text, "gone.png: cannot be opened: No such file or directory");
        ck_assert_uint_eq(made.explanations.gallery_count, item);
        ck_assert_uint_eq(made.explanations.inputs[2].parts, 0);
        err = (struct err){0};
        close_made();
        train_fixture_close(&f);
    }
}
END_TEST

/* The gallery shows six inputs of each of two labels, two of each of eleven, twelve in total; it
 * never shows wrong answers. */
START_TEST(the_gallery_has_each_classs_share)
{
    static const struct {
        unsigned labels, each;
    } cases[] = {{2, 6}, {3, 4}, {5, 3}, {11, 2}, {12, 1}};
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
    enum { MANY = 16 };
    static struct dataset_item items[MANY];
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        unsigned classes[MANY], expected = 0;
        const struct evaluation_options how = {.threads = 1};
        made = (struct made){.model = labels_model_open(names, cases[c].labels)};
        for (unsigned i = 0; i < MANY; i++)
            items[i] =
                (struct dataset_item){.name = "line", .input = "w7", .input_len = 2, .label = "a"};
        made.dataset = (struct dataset){.kind = ENGINE_TEXT, .items = items, .count = MANY};
        FINE(evaluation_run(&made.evaluation, made.model, &made.dataset, &how, &err));
        for (unsigned i = 0; i < MANY; i++)
            classes[i] = (evaluation_argmax(&made.evaluation, i) + (i == 1)) % cases[c].labels;
        made.source =
            (struct explanations_source){made.model, &made.dataset, &made.evaluation, classes};
        FINE(explain(MANY));
        for (unsigned i = 0; i < MANY && expected < cases[c].each; i++)
            if (i != 1)
                ck_assert_uint_eq(made.explanations.gallery[expected++].explained->item, i);
        ck_assert_uint_eq(made.explanations.gallery_count, cases[c].each);
        close_made();
    }
}
END_TEST

SUITE("explanations_replay", explanations_of_texts_can_be_made_again_from_their_parts,
      explanations_of_images_can_be_made_again_from_their_parts,
      explanations_refuse_a_mask_that_does_not_fit, explanations_end_at_an_image_that_is_gone,
      the_gallery_has_each_classs_share)
