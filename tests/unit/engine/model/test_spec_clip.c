/* config.json of CLIP: two encoders in one file, their defaults, and what is refused by name. */
#include "engine/model/spec.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <string.h>

static struct arena arena;
static struct spec spec, labels;

/* Both encoders, images first. */
static enum err_code read_config(const char *config, struct err *err)
{
    struct tempdir dir;
    arena_deinit(&arena);
    arena_init(&arena);
    *err = (struct err){0};
    tempdir_open(&dir);
    tempdir_write(&dir, "config.json", config, strlen(config));
    if (!spec_read(&spec, dir.path, &arena, err))
        spec_read_texts(&labels, &(struct spec){0}, dir.path, err);
    tempdir_close(&dir);
    return err->code;
}

static void ck_read(const char *config)
{
    struct err err;
    ck_assert_msg(!read_config(config, &err), "%s: %s", config, err.text);
}

/* Configuration classes of transformers 4.57. */
START_TEST(clip_spec_has_the_defaults_of_the_hugging_face_classes)
{
    ck_read("{\"model_type\": \"clip\"}");
    ck_assert_str_eq(spec.family->name, "clip");
    ck_assert(spec.hidden == 768 && spec.layers == 12 && spec.heads == 12);
    ck_assert(spec.intermediate == 3072 && spec.image_size.width == 224 && spec.patch.width == 32);
    ck_assert_float_eq(spec.norm_eps, 1e-5f);
    ck_assert_int_eq(spec.activation, ACTIVATION_QUICK_GELU);
    ck_assert_uint_eq(spec.projection, 512);
    ck_assert_uint_eq(spec.label_count, 0);
    ck_assert_int_eq(spec.scores, SCORES_SOFTMAX);
    ck_assert_str_eq(spec.hypothesis, "This is a photo of {}.");
    ck_assert_str_eq(labels.family->name, "clip-text");
    ck_assert(labels.hidden == 512 && labels.layers == 12 && labels.heads == 8);
    ck_assert(labels.intermediate == 2048 && labels.vocab_size == 49408);
    ck_assert(labels.positions == 77 && labels.end_id == 49407 && labels.projection == 512);
}
END_TEST

/* CLIPConfig.__init__: a field that the older member lacks is at its default, for any value in the
 * newer one. */
START_TEST(the_older_spelling_of_a_part_wins_with_its_defaults)
{
    ck_read("{\"model_type\": \"clip\", \"projection_dim\": 20,"
            " \"vision_config\": {\"hidden_size\": 40, \"num_attention_heads\": 4},"
            " \"vision_config_dict\": {\"hidden_size\": 48, \"hidden_act\": \"gelu\"},"
            " \"text_config\": {\"hidden_size\": 36, \"num_attention_heads\": 3},"
            " \"text_config_dict\": null}");
    ck_assert(spec.hidden == 48 && spec.heads == 12 && spec.activation == ACTIVATION_GELU);
    ck_assert(labels.hidden == 36 && labels.heads == 3);
    ck_assert_int_eq(labels.activation, ACTIVATION_QUICK_GELU);
    ck_assert(spec.projection == 20 && labels.projection == 20);
}
END_TEST

START_TEST(clip_spec_refuses_a_bad_configuration_by_name)
{
    static const struct {
        const char *members, *words;
    } wrong[] = {
        {"\"vision_config\": 3", "$.vision_config: expected an object"},
        {"\"text_config\": []", "$.text_config: expected an object"},
        {"\"text_config_dict\": \"\"", "$.text_config_dict: expected an object"},
        {"\"projection_dim\": 0", "$.projection_dim: must be from 1"},
        {"\"projection_dim\": 1e9", "$.projection_dim: must be from 1"},
        {"\"vision_config\": {\"hidden_size\": 0}", "vision_config: $.hidden_size"},
        {"\"vision_config\": {\"hidden_size\": 50}", "vision_config: hidden_size 50 is not a mul"},
        {"\"vision_config\": {\"hidden_act\": \"mish\"}", "vision_config: hidden_act 'mish'"},
        {"\"vision_config\": {\"patch_size\": 500}", "vision_config: patch_size 500 is larger"},
        {"\"vision_config\": {\"num_channels\": 1}", "vision_config: num_channels 1"},
        {"\"vision_config\": {\"layer_norm_eps\": \"a\"}", "vision_config: $.layer_norm_eps"},
        {"\"vision_config\": {\"quantization_config\": {\"bits\": 4}}", "quantization_config"},
        {"\"text_config\": {\"vocab_size\": -1}", "text_config: $.vocab_size"},
        {"\"text_config\": {\"max_position_embeddings\": 2}", "text_config: max_position"},
        {"\"text_config\": {\"eos_token_id\": -4}", "text_config: $.eos_token_id"},
        {"\"text_config\": {\"eos_token_id\": [2]}", "text_config: $.eos_token_id: expected an"},
        {"\"text_config\": {\"num_hidden_layers\": 1e20}", "text_config: $.num_hidden_layers"},
        {"\"auto_map\": {\"a\": \"b\"}", "$.auto_map is not supported"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char config[256];
        struct err err;
        snprintf(config, sizeof config, "{\"model_type\": \"clip\", %s}", wrong[i].members);
        ck_assert_msg(read_config(config, &err) == ERR_UNSUPPORTED, "%s", config);
        ck_assert_msg(strstr(err.text, wrong[i].words) != NULL, "%s: '%s'", config, err.text);
        ck_assert_ptr_eq(strstr(err.text, "config.json: "), err.text);
    }
}
END_TEST

SUITE("spec_clip", clip_spec_has_the_defaults_of_the_hugging_face_classes,
      the_older_spelling_of_a_part_wins_with_its_defaults,
      clip_spec_refuses_a_bad_configuration_by_name)
