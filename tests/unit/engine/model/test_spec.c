#include "engine/model/spec.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

static struct checkpoint_writer writer;
static struct arena arena;
static struct spec spec;
static struct err err;

static void forget(void)
{
    arena_deinit(&arena);
    arena_init(&arena);
    err = (struct err){0};
}

/* Reads a config.json of this text; the spec lives until the next is read. */
static enum err_code read_config(const char *config)
{
    forget();
    checkpoint_writer_open(&writer);
    checkpoint_writer_file(&writer, "config.json", config);
    enum err_code code = spec_read(&spec, writer.dir, &arena, &err);
    ck_assert_int_eq(code, err.code);
    return code;
}

static void ck_refused(const char *config, const char *word)
{
    ck_assert_msg(read_config(config) == ERR_UNSUPPORTED, "%s was not refused", config);
    ck_assert_msg(strstr(err.text, word) != NULL, "'%s' does not name '%s'", err.text, word);
    ck_assert_msg(strstr(err.text, "config.json: ") == err.text, "'%s' names no file", err.text);
    checkpoint_writer_close(&writer);
}

START_TEST(spec_takes_the_defaults_of_the_hugging_face_classes)
{
    ck_assert_int_eq(read_config("{\"model_type\": \"bert\"}"), ERR_OK);
    ck_assert_uint_eq(spec.hidden, 768);
    ck_assert_uint_eq(spec.layers, 12);
    ck_assert_uint_eq(spec.vocab_size, 30522);
    ck_assert_uint_eq(spec.label_count, 2);
    ck_assert_str_eq(spec.labels[1], "LABEL_1");
    ck_assert_int_eq(spec.scores, SCORES_SOFTMAX);
    checkpoint_writer_close(&writer);
    ck_assert_int_eq(read_config("{\"model_type\": \"distilbert\"}"), ERR_OK);
    ck_assert_uint_eq(spec.layers, 6);
    checkpoint_writer_close(&writer);
    ck_assert_int_eq(read_config("{\"model_type\": \"vit\"}"), ERR_OK);
    ck_assert_uint_eq(spec_image_tokens(&spec), 197);
    checkpoint_writer_close(&writer);
    ck_assert_int_eq(read_config("{\"model_type\": \"deit\", \"architectures\": "
                                 "[\"DeiTForImageClassificationWithTeacher\"]}"),
                     ERR_OK);
    ck_assert_str_eq(spec.family->name, "deit-distilled");
    ck_assert_uint_eq(spec_image_tokens(&spec), 198);
    checkpoint_writer_close(&writer);
}
END_TEST

START_TEST(spec_refuses_by_name_what_the_engine_lacks)
{
    ck_refused("{\"model_type\": \"llama\"}", "llama");
    ck_refused("{}", "model_type");
    ck_refused("{\"model_type\": 7}", "model_type");
    ck_refused("{\"model_type\": \"bert\", \"hidden_act\": \"mish\"}", "mish");
    ck_refused("{\"model_type\": \"distilbert\", \"activation\": \"relu2\"}", "relu2");
    ck_refused("{\"model_type\": \"bert\", \"position_embedding_type\": null}",
               "position_embedding_type 'null' is not supported (supported: absolute)");
    ck_refused("{\"model_type\": \"bert\", \"position_embedding_type\": \"relative_key\"}",
               "relative_key");
    ck_refused("{\"model_type\": \"bert\", \"hidden_size\": 100, \"num_attention_heads\": 3}",
               "hidden_size 100");
    ck_refused("{\"model_type\": \"bert\", \"hidden_size\": 0}", "hidden_size");
    ck_refused("{\"model_type\": \"bert\", \"hidden_size\": 768.5}", "hidden_size");
    ck_refused("{\"model_type\": \"bert\", \"num_hidden_layers\": 1e30}", "num_hidden_layers");
    ck_refused("{\"model_type\": \"bert\", \"layer_norm_eps\": -1}", "layer_norm_eps");
    ck_refused("{\"model_type\": \"bert\", \"layer_norm_eps\": 1e-40}", "layer_norm_eps");
    ck_refused("{\"model_type\": \"vit\", \"num_channels\": 1}", "num_channels");
    ck_refused("{\"model_type\": \"vit\", \"image_size\": 8, \"patch_size\": 16}", "patch_size");
    ck_refused("{\"model_type\": \"bert\", \"problem_type\": \"ranking\"}", "ranking");
    ck_refused("{\"model_type\": \"bert\", \"max_position_embeddings\": 2}",
               "max_position_embeddings must be at least 3");
    ck_refused("{\"model_type\": \"vit\", \"image_size\": 257, \"patch_size\": 1}",
               "66049 patches an image; at most 65536 are supported");
    ck_refused("{\"model_type\": \"bert\", \"num_labels\": 0}", "num_labels");
    ck_refused("[]", "an object");
    ck_refused("{\"model_type\": \"bert\"", "JSON");
}
END_TEST

START_TEST(spec_orders_labels_by_their_integer_keys)
{
    ck_assert_int_eq(read_config("{\"model_type\": \"bert\", \"id2label\": {\"10\": \"k\", \"2\": "
                                 "\"c\", \"0\": \"a\", \"1\": \"b\", \"3\": \"d\", \"4\": \"e\", "
                                 "\"5\": \"f\", \"6\": \"g\", \"7\": \"h\", \"8\": \"i\", \"9\": "
                                 "\"j\"}}"),
                     ERR_OK);
    ck_assert_uint_eq(spec.label_count, 11);
    ck_assert_str_eq(spec.labels[2], "c");
    ck_assert_str_eq(spec.labels[10], "k");
    checkpoint_writer_close(&writer);
    ck_refused("{\"model_type\": \"bert\", \"id2label\": {\"0\": \"a\", \"2\": \"c\"}}", "'1'");
    ck_refused("{\"model_type\": \"bert\", \"id2label\": {\"0\": 5.5}}", "id2label.0");
    ck_refused("{\"model_type\": \"bert\", \"id2label\": {\"0\": true}}", "id2label.0");
}
END_TEST

/* A cross-encoder has such a member. transformers' pipeline, whose scores these are, ignores it. */
START_TEST(spec_takes_activations_of_cross_encoders_that_keep_the_order)
{
    static const char *const known[] = {
        "\"sbert_ce_default_activation_function\": \"torch.nn.modules.linear.Identity\"",
        "\"sentence_transformers\": {\"activation_fn\": \"torch.nn.modules.linear.Identity\"}",
        "\"sentence_transformers\": {\"activation_fn\": \"torch.nn.modules.activation.Sigmoid\"}",
        "\"sentence_transformers\": {\"version\": \"5.2.3\"}", "\"sentence_transformers\": null"};
    char config[256];
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        snprintf(config, sizeof config,
                 "{\"model_type\": \"bert\", \"id2label\": {\"0\": \"LABEL_0\"}, %s}", known[i]);
        ck_assert_msg(read_config(config) == ERR_OK, "%s", err.text);
        ck_assert_int_eq(spec.scores, SCORES_SIGMOID);
        checkpoint_writer_close(&writer);
    }
    ck_refused("{\"model_type\": \"bert\", \"sentence_transformers\": {\"activation_fn\": "
               "\"torch.nn.modules.activation.Tanh\"}}",
               "'torch.nn.modules.activation.Tanh'");
    ck_refused("{\"model_type\": \"bert\", \"sbert_ce_default_activation_function\": \"mine.F\"}",
               "'mine.F'");
}
END_TEST

/* Classes that are numbers in the training data leave such labels in config.json. */
START_TEST(spec_calls_a_label_that_is_a_number_as_it_is_written)
{
    ck_assert_int_eq(read_config("{\"model_type\": \"bert\", \"id2label\": {\"0\": 0, \"1\": -17, "
                                 "\"2\": 9007199254740991, \"3\": \"x\"}}"),
                     ERR_OK);
    ck_assert_str_eq(spec.labels[0], "0");
    ck_assert_str_eq(spec.labels[1], "-17");
    ck_assert_str_eq(spec.labels[2], "9007199254740991");
    ck_assert_str_eq(spec.labels[3], "x");
    checkpoint_writer_close(&writer);
}
END_TEST

START_TEST(spec_refuses_sides_that_no_image_has)
{
    static const char *const cases[][2] = {
        {"\"image_size\": [224, 0]", "$.image_size[1]: must be from 1 to 4096"},
        {"\"image_size\": [-48, 320]", "$.image_size[0]: must be from 1 to 4096"},
        {"\"image_size\": [48, 4097]", "$.image_size[1]: must be from 1 to 4096"},
        {"\"image_size\": [48, 1e300]", "$.image_size[1]: must be from 1 to 4096"},
        {"\"image_size\": [48.5, 320]", "$.image_size[0]: must be from 1 to 4096"},
        {"\"image_size\": [\"48\", 320]", "$.image_size[0]: must be from 1 to 4096"},
        {"\"image_size\": [48, null]", "$.image_size[1]: must be from 1 to 4096"},
        {"\"image_size\": [48]", "$.image_size has 1 numbers (supported: one number, or"},
        {"\"image_size\": [48, 320, 3]", "$.image_size has 3 numbers"},
        {"\"image_size\": [[48, 320]]", "$.image_size has 1 numbers"},
        {"\"image_size\": []", "$.image_size"},
        {"\"image_size\": 0", "image_size"},
        {"\"image_size\": -1", "image_size"},
        {"\"image_size\": 4097", "image_size"},
        {"\"image_size\": {\"height\": 48, \"width\": 320}", "$.image_size"},
        {"\"patch_size\": [8, 0]", "$.patch_size[1]: must be from 1 to 4096"},
        {"\"patch_size\": [8, 16, 3]", "$.patch_size has 3 numbers"},
        {"\"image_size\": [48, 320], \"patch_size\": [8, 321]",
         "patch_size 8 x 321 is larger than image_size 48 x 320"},
        {"\"image_size\": [48, 320], \"patch_size\": 49",
         "patch_size 49 is larger than image_size 48 x 320"},
        {"\"image_size\": [4096, 17], \"patch_size\": 1",
         "69632 patches an image; at most 65536 are supported"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char config[160];
        snprintf(config, sizeof config, "{\"model_type\": \"vit\", %s}", cases[i][0]);
        ck_refused(config, cases[i][1]);
    }
}
END_TEST

/* Swin's windows, CLIP's and DINOv2's positions are squares. */
START_TEST(spec_refuses_what_is_no_square_where_the_family_needs_one)
{
    ck_refused(
        "{\"model_type\": \"swin\", \"image_size\": [224, 448]}",
        "$.image_size 224 x 448 is not supported for model_type 'swin' (supported: squares)");
    ck_refused("{\"model_type\": \"swin\", \"patch_size\": [4, 8]}",
               "$.patch_size 4 x 8 is not supported for model_type 'swin' (supported: squares)");
    ck_refused("{\"model_type\": \"dinov2\", \"image_size\": [224, 448]}",
               "is not supported for model_type 'dinov2' (supported: squares)");
    ck_refused(
        "{\"model_type\": \"clip\", \"vision_config\": {\"image_size\": [224, 448]}}",
        "$.image_size 224 x 448 is not supported for model_type 'clip' (supported: squares)");
}
END_TEST

START_TEST(spec_takes_images_and_patches_that_are_no_squares)
{
    static const char *const families[] = {"vit", "deit", "beit", "vit_msn"};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        char config[160];
        snprintf(config, sizeof config,
                 "{\"model_type\": \"%s\", \"image_size\": [50, 320], \"patch_size\": [16, 8], "
                 "\"use_relative_position_bias\": true}",
                 families[i]);
        ck_assert_msg(read_config(config) == ERR_OK, "%s", err.text);
        const struct spec_grid grid = spec_grid(&spec);
        ck_assert(grid.image.height == 3 && grid.image.width == 40 && grid.windows == 1);
        ck_assert_uint_eq(spec.patches, 120);
        ck_assert_uint_eq(spec_places(&spec), 120 + spec.family->image_specials);
        checkpoint_writer_close(&writer);
    }
}
END_TEST

START_TEST(spec_takes_a_square_written_as_two_sides)
{
    ck_assert_int_eq(read_config("{\"model_type\": \"vit\", \"image_size\": [96, 96], "
                                 "\"patch_size\": [8, 8]}"),
                     ERR_OK);
    ck_assert_uint_eq(spec.image_size.width, 96);
    ck_assert_uint_eq(spec.patches, 144);
    checkpoint_writer_close(&writer);
}
END_TEST

/* All of transformers' ACT2FN, and what the others have been compared with. */
START_TEST(spec_knows_an_activation_under_all_its_names)
{
    static const struct {
        const char *name;
        enum activation activation;
    } names[] = {{"gelu", ACTIVATION_GELU},
                 {"gelu_python", ACTIVATION_GELU},
                 {"gelu_new", ACTIVATION_GELU_TANH},
                 {"gelu_fast", ACTIVATION_GELU_TANH},
                 {"gelu_accurate", ACTIVATION_GELU_TANH},
                 {"gelu_pytorch_tanh", ACTIVATION_GELU_TANH},
                 {"gelu_python_tanh", ACTIVATION_GELU_TANH},
                 {"relu", ACTIVATION_RELU},
                 {"quick_gelu", ACTIVATION_QUICK_GELU},
                 {"silu", ACTIVATION_SILU},
                 {"swish", ACTIVATION_SILU},
                 {"tanh", ACTIVATION_TANH}};
    static const char *const others[] = {"gelu_10", "laplace", "leaky_relu", "linear", "mish",
                                         "prelu",   "relu2",   "relu6",      "sigmoid"};
    char config[128];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(config, sizeof config, "{\"model_type\": \"bert\", \"hidden_act\": \"%s\"}",
                 names[i].name);
        ck_assert_int_eq(read_config(config), ERR_OK);
        ck_assert_int_eq(spec.activation, names[i].activation);
        checkpoint_writer_close(&writer);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        snprintf(config, sizeof config, "{\"model_type\": \"bert\", \"hidden_act\": \"%s\"}",
                 others[i]);
        ck_refused(config, others[i]);
    }
}
END_TEST

/* A family by another name has the row of its model, under another root. */
START_TEST(spec_knows_renamed_families)
{
    static const struct {
        const char *type, *root, *of, *of_root;
    } renamed[] = {{"camembert", "roberta", "roberta", "roberta"},
                   {"data2vec-text", "data2vec_text", "roberta", "roberta"},
                   {"ernie", "ernie", "bert", "bert"},
                   {"vit_msn", "vit", "vit", "vit"}};
    for (size_t i = 0; i < sizeof renamed / sizeof renamed[0]; i++) {
        const struct family *family = family_find(renamed[i].type, NULL);
        const struct family *of = family_find(renamed[i].of, NULL);
        ck_assert(family != NULL && family->pooler_activation == of->pooler_activation &&
                  family->positions == of->positions && family->default_pad == of->default_pad);
        ck_assert_mem_eq(&family->block, &of->block, sizeof of->block);
        for (int field = 0; field < TENSOR_FIELDS; field++) {
            const char *name = family->tensors[field], *model = of->tensors[field];
            const size_t root = strlen(renamed[i].root), of_root = strlen(renamed[i].of_root);
            if (name == NULL) { /* of masked words: not learnt; ViTMSNModel has no pooler */
                ck_assert(model == NULL || field >= TENSOR_MLM_TRANSFORM ||
                          field == TENSOR_BARE_POOLER);
                continue;
            }
            if (strncmp(name, renamed[i].root, root) == 0)
                ck_assert_str_eq(name + root, model + of_root);
            else
                ck_assert_str_eq(name, model);
        }
    }
    ck_refused("{\"model_type\": \"ernie\", \"use_task_id\": true}", "use_task_id");
}
END_TEST

START_TEST(spec_chooses_scores_as_hugging_face_pipelines_do)
{
    static const struct {
        const char *config;
        enum spec_scores scores;
    } cases[] = {
        {"{\"model_type\": \"bert\", \"num_labels\": 3}", SCORES_SOFTMAX},
        {"{\"model_type\": \"bert\", \"num_labels\": 1}", SCORES_SIGMOID},
        {"{\"model_type\": \"bert\", \"num_labels\": 3, \"problem_type\": "
         "\"multi_label_classification\"}",
         SCORES_SIGMOID},
        {"{\"model_type\": \"bert\", \"num_labels\": 1, \"problem_type\": \"regression\"}",
         SCORES_NONE},
        {"{\"model_type\": \"bert\", \"problem_type\": null}", SCORES_SOFTMAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_msg(read_config(cases[i].config) == ERR_OK, "%s", err.text);
        ck_assert_int_eq(spec.scores, cases[i].scores);
        checkpoint_writer_close(&writer);
    }
}
END_TEST

static enum err_code read_attnd(const char *text)
{
    forget();
    checkpoint_writer_open(&writer);
    checkpoint_writer_file(&writer, "config.json", "{\"model_type\": \"bert\"}");
    checkpoint_writer_file(&writer, "attnd.json", text);
    spec_read(&spec, writer.dir, &arena, &err);
    checkpoint_writer_close(&writer);
    return err.code;
}

START_TEST(spec_takes_sizes_up_to_their_limits)
{
    ck_assert_int_eq(read_config("{\"model_type\": \"bert\", \"max_position_embeddings\": 3}"),
                     ERR_OK);
    checkpoint_writer_close(&writer);
    ck_assert_int_eq(
        read_config("{\"model_type\": \"vit\", \"image_size\": 256, \"patch_size\": 1}"), ERR_OK);
    ck_assert_uint_eq(spec.patches, 65536);
    checkpoint_writer_close(&writer);
    ck_assert_int_eq(
        read_config("{\"model_type\": \"vit\", \"image_size\": 16, \"patch_size\": 16}"), ERR_OK);
    ck_assert_uint_eq(spec.patches, 1);
    checkpoint_writer_close(&writer);
}
END_TEST

START_TEST(spec_reads_attnd_json_and_refuses_what_it_does_not_know)
{
    ck_assert_int_eq(read_attnd("{\"version\": \"7\", \"temperature\": 1.5, \"grey16\": "
                                "\"minmax\"}"),
                     ERR_OK);
    ck_assert_str_eq(spec.version, "7");
    ck_assert_double_eq(spec.temperature, 1.5);
    ck_assert(spec.grey16_minmax);
    ck_assert_int_eq(read_attnd("{\"temprature\": 1}"), ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "attnd.json: $.temprature"));
    ck_assert_int_eq(read_attnd("{\"temperature\": 0}"), ERR_UNSUPPORTED);
    ck_assert_int_eq(read_attnd("{\"temperature\": 1e-40}"), ERR_UNSUPPORTED);
    ck_assert_int_eq(read_attnd("{\"grey16\": \"clip\"}"), ERR_UNSUPPORTED);
    ck_assert_int_eq(read_attnd("{\"class_codes\": {\"LABEL_0\": 17, \"LABEL_1\": \"B2\"}}"),
                     ERR_OK);
    ck_assert_int_eq(spec.class_codes[0].number, 17);
    ck_assert_str_eq(spec.class_codes[1].text, "B2");
    ck_assert_int_eq(read_attnd("{\"class_codes\": {\"LABEL_0\": 9007199254740992, "
                                "\"LABEL_1\": -9007199254740992}}"),
                     ERR_OK);
    ck_assert_int_eq(spec.class_codes[0].number, 9007199254740992);
    ck_assert_int_eq(spec.class_codes[1].number, -9007199254740992);
    ck_assert_int_eq(
        read_attnd("{\"class_codes\": {\"LABEL_0\": 9007199254740994, \"LABEL_1\": 1}}"),
        ERR_UNSUPPORTED);
    ck_assert_int_eq(read_attnd("{\"class_codes\": {\"LABEL_0\": 17, \"LABEL_1\": null}}"), ERR_OK);
    ck_assert(!spec.class_codes[0].is_none && spec.class_codes[1].is_none);
    ck_assert_int_eq(read_attnd("{\"class_codes\": {\"LABEL_0\": 17}}"), ERR_UNSUPPORTED);
    ck_assert_int_eq(read_attnd("{\"class_codes\": {\"LABEL_0\": 1.5, \"LABEL_1\": 2}}"),
                     ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "the code of 'LABEL_0'"));
    ck_assert_int_eq(
        read_attnd("{\"target_precision\": 0.9, \"thresholds\": {\"LABEL_0\": 0.5, \"LABEL_1\": "
                   "null}, \"ood\": {\"method\": \"energy\", \"threshold\": 3}}"),
        ERR_OK);
    ck_assert_double_eq(spec.policy.target_precision, 0.9);
    ck_assert(spec.policy.thresholds[0] == 0.5f && spec.policy.ood.threshold == 3);
    ck_assert_int_eq(read_attnd("{\"thresholds\": {\"LABEL_0\": 0.5}}"), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "attnd.json: $.thresholds lacks the label 'LABEL_1'");
}
END_TEST

SUITE("spec", spec_takes_sizes_up_to_their_limits,
      spec_takes_the_defaults_of_the_hugging_face_classes,
      spec_refuses_by_name_what_the_engine_lacks, spec_orders_labels_by_their_integer_keys,
      spec_calls_a_label_that_is_a_number_as_it_is_written,
      spec_takes_activations_of_cross_encoders_that_keep_the_order,
      spec_refuses_sides_that_no_image_has,
      spec_refuses_what_is_no_square_where_the_family_needs_one,
      spec_takes_images_and_patches_that_are_no_squares, spec_takes_a_square_written_as_two_sides,
      spec_knows_an_activation_under_all_its_names, spec_knows_renamed_families,
      spec_chooses_scores_as_hugging_face_pipelines_do,
      spec_reads_attnd_json_and_refuses_what_it_does_not_know)
