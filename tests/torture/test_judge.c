/* Judging, explaining and calibrating with every call to the C library failing in turn: texts by
 * words, images by patches and masks, and the statistics of strangeness. The reports and the
 * attnd.json are those of a run that nothing disturbed, or the failure is told. */
#include "engine/vision/png.h"
#include "learn/eval/calibrate.h"
#include "learn/eval/report/explanations_report.h"
#include "tests/support/train_fixture.h"
#include "tests/torture/drill.h"
#include "tests/torture/written.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 10 };

struct judging {
    struct train_fixture f; /* its first output is the model, its second takes the reports */
    char list[128];
    enum engine_kind kind;
    struct assessment_options options;
    struct explanations_options how; /* inputs_max 0: nothing is explained */
    struct calibrate calibrate;      /* method OOD_NONE: nothing is calibrated */
    struct written written;
};

/* ---- one try ---- */

static enum err_code explain(const struct judging *judging, const struct assessment *assessment,
                             struct err *err)
{
    const struct explanations_source source = {.model = assessment->model,
                                               .dataset = assessment->dataset,
                                               .evaluation = &assessment->evaluation,
                                               .classes = assessment->classes};
    struct explanations explanations;
    const struct explanations_report report = {
        .model_name = "tiny", .data_path = "list.jsonl", .explanations = &explanations};
    if (!explanations_run(&explanations, &source, &judging->how, err))
        explanations_write(&report, judging->f.second.path, err);
    explanations_close(&explanations);
    return err->code;
}

static enum err_code use(const struct judging *judging, const struct assessment *assessment,
                         struct err *err)
{
    struct calibrate calibrate = judging->calibrate;
    calibrate.assessment = assessment;
    if (judging->how.inputs_max > 0 && (assessment_write(assessment, judging->f.second.path, err) ||
                                        explain(judging, assessment, err)))
        return err->code;
    return calibrate.method == OOD_NONE ? ERR_OK : calibrate_write(&calibrate, err);
}

static enum drill_outcome judge(const void *context, char *why, size_t size)
{
    const struct judging *judging = context;
    const struct dataset_options fields = {.kind = judging->kind};
    struct assessment assessment;
    struct dataset dataset = {0};
    struct err err = {0};
    if (!assessment_open(&assessment, &judging->options, &err) &&
        !dataset_open(&dataset, judging->list, &fields, &err) &&
        !assessment_take(&assessment, &dataset, "list.jsonl", &err) &&
        !assessment_run(&assessment, &err))
        use(judging, &assessment, &err);
    assessment_close(&assessment);
    dataset_close(&dataset);
    return written_outcome(&judging->written, &err, why, size);
}

/* ---- what is judged ---- */

/* Explaining asks for each patch anew: four are enough. */
static void open_images(struct train_fixture *f)
{
    static const char config[] =
        "{\"model_type\":\"vit\",\"hidden_size\":8,\"num_hidden_layers\":1,"
        "\"num_attention_heads\":2,\"intermediate_size\":8,\"image_size\":16,\"patch_size\":8,"
        "\"num_channels\":3}";
    train_fixture_images(f, "right");
    tempdir_write(&f->model, "config.json", config, sizeof config - 1);
}

static void open_judging(struct judging *judging, enum engine_kind kind)
{
    *judging = (struct judging){.kind = kind};
    if (kind == ENGINE_TEXT)
        train_fixture_texts(&judging->f);
    else
        open_images(&judging->f);
    judging->f.options.epochs = 2;
    judging->f.options.ood_method = "energy";
    train_fixture_learn(&judging->f);
    judging->options = (struct assessment_options){
        .dir = judging->f.first.path, .target_precision = 0.95, .evaluation = {.threads = 1}};
}

static void list_inputs(struct judging *judging, const char *text, size_t len)
{
    tempdir_write(&judging->f.data, "judged.jsonl", text, len);
    snprintf(judging->list, sizeof judging->list, "%s/judged.jsonl", judging->f.data.path);
}

static void drill_judging(const char *name, struct judging *judging, const char *folder,
                          const struct written_file *files, unsigned count)
{
    struct drill drill = {.name = name, .run = judge, .context = judging};
    char why[256] = "";
    ck_assert_msg(judge(judging, why, sizeof why) == DRILL_RIGHT, "%s", why);
    written_keep(&judging->written, folder, files, count);
    ck_assert_uint_eq(drill_run(&drill), 0);
    written_free(&judging->written);
    train_fixture_close(&judging->f);
}

static const struct written_file reports[] = {{"report.json", WRITTEN_TIMED},
                                              {"report.html", WRITTEN_TIMED},
                                              {"explanations.json", WRITTEN_TIMED},
                                              {"explanations.html", WRITTEN_TIMED}};

/* Every third is labelled wrongly, so that there are mistakes to show. */
START_TEST(texts_are_judged_and_explained_rightly_or_not)
{
    struct judging judging;
    char text[INPUTS * 80];
    size_t len = 0;
    open_judging(&judging, ENGINE_TEXT);
    for (unsigned i = 0; i < INPUTS; i++)
        len += (size_t)snprintf(
            text + len, sizeof text - len, "{\"text\":\"%s grey\",\"label\":\"%s\"}\n",
            i % 2 == 0 ? "red red" : "blue blue", (i % 2 == 0) != (i % 3 == 0) ? "hot" : "cold");
    list_inputs(&judging, text, len);
    judging.how = (struct explanations_options){.inputs_max = 2, .seed = 1, .threads = 1};
    drill_judging("judge texts", &judging, judging.f.second.path, reports, 4);
}
END_TEST

/* The bright half is what there is to be pointed at. */
static void write_masks(const struct judging *judging)
{
    enum { SIDE = TRAIN_FIXTURE_SIDE };
    for (unsigned half = 0; half < 2; half++) {
        unsigned char rgb[SIDE * SIDE * 3];
        struct image image = {SIDE, SIDE, rgb};
        struct err err = {0};
        char *png;
        size_t len;
        for (unsigned p = 0; p < SIDE * SIDE; p++)
            memset(rgb + (size_t)p * 3, p % SIDE / (SIDE / 2) == half ? 255 : 0, 3);
        ck_assert_int_eq(png_encode(&png, &len, &image, &err), ERR_OK);
        tempdir_write(&judging->f.data, half == 0 ? "left.png" : "right.png", png, len);
        free(png);
    }
}

START_TEST(images_are_judged_and_explained_by_their_masks_rightly_or_not)
{
    struct judging judging;
    char text[INPUTS * 80];
    size_t len = 0;
    open_judging(&judging, ENGINE_IMAGE);
    write_masks(&judging);
    for (unsigned i = 0; i < INPUTS; i++) {
        const char *side = i % 2 == 0 ? "left" : "right";
        len += (size_t)snprintf(text + len, sizeof text - len,
                                "{\"image\":\"%02u.png\",\"label\":\"%s\",\"mask\":\"%s.png\"}\n",
                                i, i == 4 ? "right" : side, side);
    }
    list_inputs(&judging, text, len);
    judging.how = (struct explanations_options){.inputs_max = 2, .seed = 1, .threads = 1};
    drill_judging("judge images", &judging, judging.f.second.path, reports, 4);
}
END_TEST

/* Calibrates with as many inputs as distances need, by two threads. */
static void drill_calibration(const char *name, enum ood_method method)
{
    static const struct written_file attnd_json[] = {{"attnd.json", WRITTEN_SAME}};
    struct judging judging;
    char text[(CALIBRATE_DISTANCE_MIN + 10) * 64];
    size_t len = 0;
    open_judging(&judging, ENGINE_TEXT);
    for (unsigned i = 0; i < CALIBRATE_DISTANCE_MIN + 10; i++)
        len +=
            (size_t)snprintf(text + len, sizeof text - len,
                             "{\"text\":\"%s %s\",\"label\":\"%s\"}\n", i % 2 == 0 ? "red" : "blue",
                             i % 3 == 0 ? "grey green" : "green", i % 2 == 0 ? "hot" : "cold");
    list_inputs(&judging, text, len);
    judging.options.evaluation.threads = 2;
    judging.calibrate = (struct calibrate){.method = method, .version = "2"};
    drill_judging(name, &judging, judging.f.first.path, attnd_json, 1);
}

START_TEST(a_model_is_calibrated_with_distances_rightly_or_not)
{
    drill_calibration("calibrate mahalanobis", OOD_MAHALANOBIS);
}
END_TEST

START_TEST(a_model_is_calibrated_with_relative_distances_rightly_or_not)
{
    drill_calibration("calibrate relative", OOD_RELATIVE);
}
END_TEST

DRILLS("judge", texts_are_judged_and_explained_rightly_or_not,
       images_are_judged_and_explained_by_their_masks_rightly_or_not,
       a_model_is_calibrated_with_distances_rightly_or_not,
       a_model_is_calibrated_with_relative_distances_rightly_or_not)
