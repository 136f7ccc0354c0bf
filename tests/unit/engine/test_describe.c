/* Everything that the engine says about a checkpoint, number by number. */
#include "engine/base/sha256.h"
#include "engine/engine.h"
#include "engine/tensor/linear/linear.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct checkpoint_writer writer;

static const char config[] =
    "{\"model_type\": \"bert\", \"hidden_size\": 16, \"num_hidden_layers\": 2, "
    "\"num_attention_heads\": 4, \"intermediate_size\": 24, \"vocab_size\": 40, "
    "\"max_position_embeddings\": 32, \"id2label\": {\"0\": \"a\", \"1\": \"b\", \"2\": \"c\"}}";
static const char attnd[] =
    "{\"version\": \"7\", \"temperature\": 2.5, \"target_precision\": 0.875, \"thresholds\": "
    "{\"a\": 0.5, "
    "\"b\": 0.75, \"c\": null}, \"ood\": {\"method\": \"energy\", \"threshold\": 1.5, "
    "\"thresholds\": {\"a\": null, \"b\": 2.5, \"c\": null}}}";

/* A small BERT, to be closed by close_bert. */
static struct engine_model *open_bert(const char *extra, const struct engine_options *options)
{
    struct engine_model *model;
    struct err err = {0};
    checkpoint_writer_open(&writer);
    checkpoint_writer_file(&writer, "config.json", config);
    if (extra != NULL)
        checkpoint_writer_file(&writer, "attnd.json", extra);
    checkpoint_writer_bert(&writer, 16, 2, 24, 40, 32, 3);
    checkpoint_writer_finish(&writer);
    ck_assert_msg(engine_open(&model, writer.dir, options, &err) == ERR_OK, "%s", err.text);
    return model;
}

static void close_bert(struct engine_model *model)
{
    engine_close(model);
    checkpoint_writer_close(&writer);
}

static void expect_labels(const struct engine_info *info, const char *const *labels, unsigned count)
{
    ck_assert_uint_eq(info->label_count, count);
    for (unsigned i = 0; i < count; i++)
        ck_assert_str_eq(info->labels[i], labels[i]);
}

START_TEST(a_text_model_is_described_in_every_member)
{
    struct engine_model *model = open_bert(NULL, &(struct engine_options){0});
    const struct engine_info *info = engine_describe(model);
    ck_assert_int_eq(info->kind, ENGINE_TEXT);
    ck_assert_str_eq(info->family, "bert");
    ck_assert_str_eq(info->version, "1");
    ck_assert_str_eq(info->dtype, "f32");
    const struct linear_backend *encoder = linear_backend_find("auto", PRECISION_F32);
    ck_assert_str_eq(info->linear_backend, encoder->name);
    ck_assert_str_eq(info->kernels,
                     encoder->gemm != NULL ? encoder->gemm->name : gemm_best(PRECISION_F32)->name);
    ck_assert_str_eq(info->scores, "softmax");
    ck_assert_double_eq(info->temperature, 1);
    expect_labels(info, (const char *const[]){"a", "b", "c"}, 3);
    ck_assert_ptr_null(info->class_codes);
    ck_assert_uint_eq(info->layers, 2);
    ck_assert_uint_eq(info->heads, 4);
    ck_assert_uint_eq(info->hidden_size, 16);
    ck_assert_uint_eq(info->intermediate_size, 24);
    ck_assert_uint_eq(info->tokens_max, 32);
    ck_assert_uint_eq(info->vocab_size, 40);
    ck_assert_uint_eq(info->image_height, 0);
    ck_assert_uint_eq(info->image_width, 0);
    ck_assert_uint_eq(info->patch_size.height, 0);
    ck_assert_uint_eq(info->views, 0);
    ck_assert_uint_gt(info->weight_bytes, info->parameters * sizeof(float));
    ck_assert_uint_eq(info->unbound_count, 0);
    ck_assert_uint_eq(info->weight_file_count, 1);
    ck_assert_str_eq(strrchr(info->weight_files[0], '/'), "/model.safetensors");
    ck_assert_double_eq(info->target_precision, 0);
    ck_assert_str_eq(info->ood_method, "energy");
    ck_assert_ptr_null(info->ood_threshold);
    ck_assert_ptr_null(info->ood_label_thresholds);
    ck_assert_int_eq(info->explain_default, EXPLAIN_GRADIENT_LAST);
    close_bert(model);
}
END_TEST

START_TEST(describe_has_the_fields_of_attnd_json)
{
    struct engine_model *model =
        open_bert(attnd, &(struct engine_options){.dtype = "int8", .linear_backend = "reference"});
    const struct engine_info *info = engine_describe(model);
    ck_assert_str_eq(info->version, "7");
    ck_assert_str_eq(info->dtype, "int8");
    ck_assert_str_eq(info->linear_backend, "reference");
    ck_assert_str_eq(info->kernels, "generic");
    ck_assert_double_eq(info->temperature, 2.5);
    ck_assert_double_eq(info->target_precision, 0.875);
    ck_assert_str_eq(info->ood_method, "energy");
    ck_assert_float_eq(*info->ood_threshold, 1.5f);
    ck_assert_float_eq(info->ood_label_thresholds[1], 2.5f);
    close_bert(model);
}
END_TEST

START_TEST(a_backend_without_variants_is_described_by_its_kernels)
{
    struct engine_model *model =
        open_bert(NULL, &(struct engine_options){.linear_backend = "reference"});
    ck_assert_str_eq(engine_describe(model)->kernels, "reference");
    close_bert(model);
    model = open_bert(NULL, &(struct engine_options){.linear_backend = "openblas"});
    ck_assert_str_eq(engine_describe(model)->kernels, kernels_best()->name);
    ck_assert_str_eq(engine_describe(model)->linear_backend, "openblas");
    close_bert(model);
}
END_TEST

START_TEST(an_image_model_is_described_in_every_member)
{
    struct engine_model *model;
    struct err err = {0};
    ck_assert(!engine_open(&model, "tests/data/golden/vit-0", &(struct engine_options){0}, &err));
    const struct engine_info *info = engine_describe(model);
    static const char *const labels[] = {"Normal", "Scratch", "Particle", "Pattern defect"};
    ck_assert_int_eq(info->kind, ENGINE_IMAGE);
    ck_assert_str_eq(info->family, "vit");
    expect_labels(info, labels, 4);
    ck_assert_uint_eq(info->layers, 2);
    ck_assert_uint_eq(info->heads, 3);
    ck_assert_uint_eq(info->hidden_size, 48);
    ck_assert_uint_eq(info->intermediate_size, 96);
    ck_assert_uint_eq(info->tokens_max, 17);
    ck_assert_uint_eq(info->vocab_size, 0);
    ck_assert_uint_eq(info->image_height, 64);
    ck_assert_uint_eq(info->image_width, 64);
    ck_assert_uint_eq(info->patch_size.height, 16);
    ck_assert_uint_eq(info->views, 1);
    size_t layer = 4 * (48 * 48 + 48) + 2 * 48 * 96 + 96 + 48 + 4 * 48;
    size_t rest = 48 * 3 * 16 * 16 + 48 + 17 * 48 + 48 + 2 * 48 + 4 * 48 + 4;
    ck_assert_uint_eq(info->parameters, 2 * layer + rest);
    ck_assert_int_eq(info->explain_default, EXPLAIN_ROLLOUT);
    engine_close(model);
}
END_TEST

START_TEST(the_digest_is_that_of_the_weight_files_in_their_order)
{
    static const char dir[] = "tests/data/golden/bert-3";
    enum { FILES = 6 };
    struct engine_model *model;
    struct err err = {0};
    char paths[FILES][128], hex[65], digest[72], expected[72];
    const char *list[FILES];
    ck_assert(!engine_open(&model, dir, &(struct engine_options){0}, &err));
    ck_assert_uint_eq(engine_describe(model)->weight_file_count, FILES);
    for (unsigned i = 0; i < FILES; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/model-0000%u-of-00006.safetensors", dir, i + 1);
        list[i] = paths[i];
        ck_assert_str_eq(engine_describe(model)->weight_files[i], paths[i]);
    }
    ck_assert(!sha256_files(list, FILES, NULL, hex, &err));
    snprintf(expected, sizeof expected, "sha256:%s", hex);
    ck_assert(!engine_digest(model, NULL, digest, &err));
    ck_assert_str_eq(digest, expected);
    engine_close(model);
}
END_TEST

START_TEST(a_digest_that_cannot_be_made_says_why)
{
    struct engine_model *model = open_bert(NULL, &(struct engine_options){0});
    const atomic_bool stop = true;
    char path[128], digest[72] = "as before";
    struct err err = {0};
    ck_assert_int_eq(engine_digest(model, &stop, digest, &err), ERR_NOT_READY);
    ck_assert_str_eq(digest, "as before");
    snprintf(path, sizeof path, "%s/model.safetensors", writer.dir);
    ck_assert_int_eq(unlink(path), 0);
    err = (struct err){0};
    ck_assert_int_eq(engine_digest(model, NULL, digest, &err), ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.text, "model.safetensors"));
    ck_assert_str_eq(digest, "as before");
    close_bert(model);
}
END_TEST

START_TEST(answers_are_judged_by_the_policy_of_attnd_json)
{
    static const float features[16];
    static const struct {
        float scores[3];
        unsigned winner;
        enum decision decision;
        float threshold;
    } cases[] = {{{0.52f, 0.24f, 0.24f}, 0, DECISION_AUTO, 0},
                 {{0.1f, 0.7f, 0.2f}, 1, DECISION_REVIEW, 0.75f},
                 {{0.1f, 0.8f, 0.1f}, 1, DECISION_AUTO, 0},
                 {{0.2f, 0.4f, 0.4f}, 1, DECISION_REVIEW, 0.75f},
                 {{0.0f, 0.0f, 1.0f}, 2, DECISION_REVIEW, 0}};
    struct engine_model *model = open_bert(attnd, &(struct engine_options){0});
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        float logits[3], scores[3];
        struct engine_result result = {.scores = scores, .features = features};
        for (unsigned c = 0; c < 3; c++) /* of a temperature of 2.5, and of low energy */
            logits[c] = 10 + 2.5f * logf(cases[i].scores[c] + 1e-9f);
        engine_conclude(model, logits, NULL, DOUBT_NONE, &result);
        const struct judgement judgement = result.judgement;
        ck_assert_uint_eq(result.label, cases[i].winner);
        ck_assert_float_eq(result.number, scores[result.label]);
        ck_assert_int_eq(judgement.decision, cases[i].decision);
        ck_assert(judgement.has_ood);
        if (cases[i].decision == DECISION_REVIEW && cases[i].threshold > 0)
            ck_assert_float_eq(judgement.threshold, cases[i].threshold);
        ck_assert_int_eq(judgement.never, i == 4);
    }
    close_bert(model);
}
END_TEST

/* The score may stand anywhere: the best score would otherwise hide it, or be it. */
START_TEST(describe_scores_report_a_number_that_is_not_finite)
{
    static const float bad[] = {NAN, INFINITY};
    struct engine_model *model = open_bert(NULL, &(struct engine_options){0});
    float logits[3] = {0, 3, -2}, scores[3];
    ck_assert(engine_scores(model, logits, scores));
    ck_assert_float_eq_tol(scores[0] + scores[1] + scores[2], 1, 1e-6f);
    ck_assert(scores[1] > scores[0] && scores[0] > scores[2]);
    for (unsigned label = 0; label < 3; label++)
        for (unsigned i = 0; i < 2; i++) {
            float broken[3] = {0, 3, -2};
            broken[label] = bad[i];
            ck_assert_msg(!engine_scores(model, broken, scores), "label %u, %f", label,
                          (double)bad[i]);
        }
    close_bert(model);
}
END_TEST

SUITE("describe", describe_scores_report_a_number_that_is_not_finite,
      a_text_model_is_described_in_every_member, describe_has_the_fields_of_attnd_json,
      a_backend_without_variants_is_described_by_its_kernels,
      an_image_model_is_described_in_every_member,
      the_digest_is_that_of_the_weight_files_in_their_order, a_digest_that_cannot_be_made_says_why,
      answers_are_judged_by_the_policy_of_attnd_json)
