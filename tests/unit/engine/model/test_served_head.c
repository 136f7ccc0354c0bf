/* Heads that are served, for every family: a classifier and nothing else, under any name of its
 * tensors. */
#include "engine/model/config/served_head.h"

#include "engine/engine.h"
#include "engine/model/family/family.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *model_type, *name; /* of its classes */
} families[] = {
    {"bert", "Bert"},
    {"distilbert", "DistilBert"},
    {"roberta", "Roberta"},
    {"xlm-roberta", "XLMRoberta"},
    {"camembert", "Camembert"},
    {"data2vec-text", "Data2VecText"},
    {"ernie", "Ernie"},
    {"longformer", "Longformer"},
    {"electra", "Electra"},
    {"albert", "Albert"},
    {"mpnet", "MPNet"},
    {"deberta-v2", "DebertaV2"},
    {"modernbert", "ModernBert"},
    {"vit", "ViT"},
    {"vit_msn", "ViTMSN"},
    {"deit", "DeiT"},
    {"dinov2", "Dinov2"},
    {"dinov2_with_registers", "Dinov2WithRegisters"},
    {"beit", "Beit"},
    {"swin", "Swin"},
    {"clip", "CLIP"},
};
enum { FAMILIES = sizeof families / sizeof families[0] };

/* A head whose architecture has the family's name and this suffix; suffix NULL: no architecture. */
static struct served_head head_with(unsigned family, const char *suffix)
{
    static char architecture[64];
    snprintf(architecture, sizeof architecture, "%s%s", suffix != NULL ? families[family].name : "",
             suffix != NULL ? suffix : "");
    const struct family *found = family_find(families[family].model_type, architecture);
    ck_assert_ptr_nonnull(found);
    return (struct served_head){.architecture = architecture,
                                .served = found->architectures[HEAD_CLASSIFIER],
                                .is_text = found->kind == ENGINE_TEXT,
                                .is_zero_shot = found->is_zero_shot};
}

START_TEST(served_head_refuses_heads_of_other_tasks_by_name)
{
    static const char *const suffixes[] = {"ForTokenClassification",
                                           "ForQuestionAnswering",
                                           "ForMultipleChoice",
                                           "ForNextSentencePrediction",
                                           "ForCausalLM",
                                           "ForObjectDetection",
                                           "ForSemanticSegmentation",
                                           "Backbone",
                                           "ForTextEncoding",
                                           "ForAudioClassification"};
    for (unsigned f = 0; f < FAMILIES; f++)
        for (unsigned s = 0; s < sizeof suffixes / sizeof suffixes[0]; s++) {
            const struct served_head head = head_with(f, suffixes[s]);
            struct err err = {0};
            char want[256];
            ck_assert_msg(served_head_check(&head, &err) == ERR_UNSUPPORTED, "%s",
                          head.architecture);
            snprintf(want, sizeof want, "config.json says %s, which is not served (served: %s)",
                     head.architecture, head.served);
            ck_assert_msg(strncmp(err.text, want, strlen(want)) == 0, "%s", err.text);
        }
}
END_TEST

START_TEST(served_head_takes_classifiers_and_encoders_without_a_head)
{
    static const char *const bare[] = {"Model", "ForMaskedLM", "ForPreTraining", NULL};
    for (unsigned f = 0; f < FAMILIES; f++) {
        struct err err = {0};
        for (unsigned s = 0; s < 4; s++) {
            const struct served_head head = head_with(f, bare[s]);
            ck_assert_msg(!served_head_check(&head, &err), "%s", err.text);
        }
        struct served_head head = head_with(f, NULL);
        head.architecture = head.served;
        ck_assert_msg(!served_head_check(&head, &err), "%s", err.text);
        char once[64]; /* TensorFlow's */
        snprintf(once, sizeof once, "TF%s", head.served);
        head.architecture = once;
        ck_assert_msg(!served_head_check(&head, &err), "%s", err.text);
    }
}
END_TEST

/* CLIP's classifier of images has the encoder's tensors and no text side. */
START_TEST(served_head_takes_of_clip_the_whole_model_only)
{
    const struct served_head head = head_with(FAMILIES - 1, "ForImageClassification");
    struct err err = {0};
    ck_assert_int_eq(served_head_check(&head, &err), ERR_UNSUPPORTED);
}
END_TEST

START_TEST(served_head_knows_labels_of_tokens_where_no_architecture_is_named)
{
    static const char *const tags[] = {"O", "B-TOOL", "I-TOOL", "E-TOOL"},
                             *const classes[] = {"O", "B", "C"},
                             *const named[] = {"B-wafer", "none"};
    struct err err = {0};
    struct served_head head = head_with(0, NULL);
    head.labels = classes;
    head.label_count = 3;
    ck_assert_msg(!served_head_check(&head, &err), "%s", err.text);
    head.labels = named;
    head.label_count = 2;
    ck_assert_msg(!served_head_check(&head, &err), "%s", err.text);
    head.labels = tags;
    head.label_count = 4;
    ck_assert_int_eq(served_head_check(&head, &err), ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "labels are those of tokens"));
    err = (struct err){0};
    head.architecture = "BertForSequenceClassification";
    ck_assert_msg(!served_head_check(&head, &err), "%s", err.text);
}
END_TEST

/* A golden classifier whose config.json says otherwise: the tensors fit, and it is refused. */
START_TEST(served_head_is_asked_before_tensors_that_fit)
{
    static const char *const said[] = {"[\"BertForTokenClassification\"]",
                                       "\"BertForMultipleChoice\""};
    for (unsigned i = 0; i < 2; i++) {
        struct tempdir dir;
        struct engine_model *model;
        struct err err = {0}, checked = {0};
        char config[512], here[512], from[1024], to[256];
        tempdir_open(&dir);
        snprintf(config, sizeof config,
                 "{\"model_type\": \"vit\", \"architectures\": %s, \"image_size\": 64}", said[i]);
        tempdir_write(&dir, "config.json", config, strlen(config));
        tempdir_write(&dir, "preprocessor_config.json", "{\"size\": 64}", 12);
        ck_assert_ptr_nonnull(getcwd(here, sizeof here));
        snprintf(from, sizeof from, "%s/tests/data/golden/vit-0/model.safetensors", here);
        snprintf(to, sizeof to, "%s/model.safetensors", dir.path);
        ck_assert_int_eq(symlink(from, to), 0);
        ck_assert_int_eq(engine_open(&model, dir.path, &(struct engine_options){0}, &err),
                         ERR_UNSUPPORTED);
        ck_assert_ptr_nonnull(
            strstr(err.text, "which is not served (served: ViTForImageClassification)"));
        ck_assert_int_eq(engine_check(dir.path, &(struct engine_options){0}, &checked),
                         ERR_UNSUPPORTED);
        ck_assert_str_eq(err.text, checked.text);
        tempdir_close(&dir);
    }
}
END_TEST

SUITE("served_head", served_head_refuses_heads_of_other_tasks_by_name,
      served_head_takes_classifiers_and_encoders_without_a_head,
      served_head_takes_of_clip_the_whole_model_only,
      served_head_knows_labels_of_tokens_where_no_architecture_is_named,
      served_head_is_asked_before_tensors_that_fit)
