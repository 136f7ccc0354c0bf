/* DINOv2, BEiT and Swin as checkpoints: accepted files, refused files and their errors. The cases
 * are golden checkpoints with a text of one file changed, or with a preprocessor of their own. */
#include "engine/base/file.h"
#include "engine/engine.h"
#include "engine/model/spec.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GOLDEN "tests/data/golden/"
#define NEW "dinov2-with-registers-0"

/* ---- a golden checkpoint, changed ---- */

/* The first `from` of a text becomes `to`; without `from` it stays. */
static void write_changed(const struct tempdir *dir, const char *name, const char *file,
                          const char *from, const char *to)
{
    char path[256], changed[4096], *text = NULL;
    size_t bytes;
    struct err err = {0};
    snprintf(path, sizeof path, GOLDEN "%s/%s", name, file);
    ck_assert_msg(!file_read(&text, &bytes, path, 1 << 20, &err), "%s", err.text);
    const char *at = from != NULL ? strstr(text, from) : text;
    ck_assert_msg(at != NULL, "%s: no %s", file, from);
    size_t skipped = from != NULL ? strlen(from) : 0;
    int len = snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text,
                       from != NULL ? to : "", at + skipped);
    ck_assert_int_lt(len, (int)sizeof changed);
    tempdir_write(dir, file, changed, (size_t)len);
    free(text);
}

struct change {
    const char *name, *file, *from, *to, *text;
};

static void write_model(const struct tempdir *dir, const struct change *change)
{
    static const char *const files[] = {"config.json", "preprocessor_config.json"};
    char here[512], from[1024], to[128];
    for (size_t i = 0; i < 2; i++)
        write_changed(dir, change->name, files[i],
                      strcmp(change->file, files[i]) == 0 ? change->from : NULL, change->to);
    ck_assert_ptr_nonnull(getcwd(here, sizeof here));
    snprintf(from, sizeof from, "%s/" GOLDEN "%s/model.safetensors", here, change->name);
    snprintf(to, sizeof to, "%s/model.safetensors", dir->path);
    ck_assert_int_eq(symlink(from, to), 0);
}

#define CONFIG "config.json"
#define PREPROCESSOR "preprocessor_config.json"

START_TEST(image_families_refuse_unsupported_settings_by_name)
{
    static const struct change changes[] = {
        {"beit-0", CONFIG, "\"use_mean_pooling\": true", "\"use_mean_pooling\": false",
         "config.json: use_mean_pooling false is not supported (supported: true)"},
        {"beit-0", CONFIG, "\"use_relative_position_bias\": true",
         "\"use_relative_position_bias\": false",
         "config.json: use_relative_position_bias false is not supported (supported: true)"},
        {"beit-0", CONFIG, "\"use_shared_relative_position_bias\": false",
         "\"use_shared_relative_position_bias\": true",
         "config.json: use_shared_relative_position_bias true is not supported (supported: false)"},
        {"beit-0", CONFIG, "\"use_absolute_position_embeddings\": false",
         "\"use_absolute_position_embeddings\": true",
         "config.json: use_absolute_position_embeddings true is not supported (supported: false)"},
        {"beit-0", CONFIG, "\"layer_scale_init_value\": 0.1", "\"layer_scale_init_value\": 0",
         "config.json: layer_scale_init_value 0 is not supported (supported: above 0)"},
        {"dinov2-0", CONFIG, "\"mlp_ratio\": 2", "\"mlp_ratio\": 1e9",
         "config.json: mlp_ratio 1e+09 makes the MLP's width 4.8e+10; from 1 to 262144 is "
         "supported"},
        {"dinov2-0", CONFIG, "\"mlp_ratio\": 2", "\"mlp_ratio\": -1",
         "config.json: mlp_ratio -1 makes the MLP's width -48; from 1 to 262144 is supported"},
        {"dinov2-0", PREPROCESSOR, "\"do_center_crop\": true", "\"do_center_crop\": false",
         "preprocessor_config.json: images would keep their own shape; the model takes one size"},
        {"beit-0", CONFIG, "\"image_size\": 56", "\"image_size\": 48",
         "preprocessor_config.json: images become 56 x 56; the model takes 48 x 48"},
        {"swin-0", CONFIG, "\"use_absolute_embeddings\": false",
         "\"use_absolute_embeddings\": true",
         "config.json: use_absolute_embeddings true is not supported (supported: false)"},
        {"swin-0", CONFIG, "\"use_absolute_embeddings\": false",
         "\"use_absolute_embeddings\": \"no\"",
         "config.json: $.use_absolute_embeddings: expected true or false, found a string"},
        {"swin-0", CONFIG, "\"image_size\": 48", "\"image_size\": 40",
         "config.json: image_size 40 with patch_size 4, window_size 3 and 3 stages is not "
         "supported "
         "(supported: multiples of 48, so that windows divide every grid)"},
        {"swin-0", CONFIG, "\"window_size\": 3", "\"window_size\": 4",
         "config.json: image_size 48 with patch_size 4, window_size 4 and 3 stages is not "
         "supported "
         "(supported: multiples of 64, so that windows divide every grid)"},
        {"swin-0", CONFIG, "\"window_size\": 3", "\"window_size\": 1",
         "config.json: $.window_size: must be from 2 to 256"},
        {"swin-0", CONFIG, "\"window_size\": 3", "\"window_size\": 4096",
         "config.json: $.window_size: must be from 2 to 256"},
        {"swin-0", CONFIG, "\"depths\": [\n    2,", "\"depths\": [",
         "config.json: depths has 2 stages, num_heads has 3"},
        {"swin-0", CONFIG, "\"depths\": [\n    2,", "\"depths\": [0,",
         "config.json: depths has to be a list of integers from 1 to 1024"},
        {"swin-0", CONFIG, "\"depths\": [\n    2,", "\"depths\": [\"2\",",
         "config.json: depths has to be a list of integers from 1 to 1024"},
        {"swin-0", CONFIG, "\"depths\": [\n    2,", "\"depths\": [2.5,",
         "config.json: depths has to be a list of integers from 1 to 1024"},
        {"swin-0", CONFIG, "\"depths\": [\n    2,", "\"depths\": [1023,",
         "config.json: depths sums up to 1027; at most 1024 is supported"},
        {"swin-0", CONFIG, "\"depths\": [\n    2,", "\"depths\": [1,1,1,1,1,1,1,",
         "config.json: depths has to be a list of 1 to 8 stages, not 9"},
        {"swin-0", CONFIG, "\"depths\": [\n    2,\n    2,\n    2\n  ]", "\"depths\": {}",
         "config.json: depths has to be a list of 1 to 8 stages, not 0"},
        {"swin-0", CONFIG, "\"num_heads\": [\n    2,", "\"num_heads\": [5,",
         "config.json: embed_dim makes stage 1 18 wide, no multiple of num_heads 5"},
        {"swin-0", CONFIG, "\"embed_dim\": 18", "\"embed_dim\": 65536",
         "config.json: embed_dim makes stage 2 131072 wide; at most 65536 is supported"},
        {"swin-0", CONFIG, "\"mlp_ratio\": 2.0", "\"mlp_ratio\": 1e-9",
         "config.json: mlp_ratio 1e-09 makes the MLP's width 0; from 1 to 262144 is supported"},
        {"swin-0", CONFIG, "\"hidden_act\": \"gelu\"", "\"hidden_act\": \"mish\"",
         "config.json: hidden_act 'mish' is not supported (supported: gelu, gelu_new, relu, silu, "
         "tanh and quick_gelu, under all names of transformers)"},
        {"swin-0", CONFIG, "\"model_type\": \"swin\"", "\"model_type\": \"swinv2\"",
         "config.json: model_type 'swinv2' is not supported (supported: bert, distilbert, roberta, "
         "xlm-roberta, camembert, data2vec-text, ernie, longformer, electra, albert, mpnet, "
         "deberta-v2, modernbert, vit, vit_msn, deit, dinov2, dinov2_with_registers, beit, clip, "
         "swin)"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct tempdir dir;
        struct engine_model *model;
        struct err err = {0};
        tempdir_open(&dir);
        write_model(&dir, &changes[i]);
        ck_assert_int_eq(engine_open(&model, dir.path, &(struct engine_options){0}, &err),
                         ERR_UNSUPPORTED);
        ck_assert_str_eq(err.text, changes[i].text);
        tempdir_close(&dir);
    }
}
END_TEST

START_TEST(tensors_that_config_json_does_not_describe_are_refused_by_name)
{
    static const struct change changes[] = {
        {NEW, CONFIG, "\"num_register_tokens\": 4", "\"num_register_tokens\": 3",
         "tensor 'dinov2_with_registers.embeddings.register_tokens' has shape [1, 4, 42]; "
         "config.json asks for [1, 3, 42]"},
        {NEW, CONFIG, "\"image_size\": 98", "\"image_size\": 84",
         "tensor 'dinov2_with_registers.embeddings.position_embeddings' has shape [1, 50, 42]; "
         "config.json asks for [1, 37, 42]"},
        {"dinov2-0", CONFIG, "\"use_swiglu_ffn\": false", "\"use_swiglu_ffn\": true",
         "tensor 'dinov2.encoder.layer.0.mlp.weights_in.weight' is missing"},
        {"dinov2-1", CONFIG, "\"mlp_ratio\": 2", "\"mlp_ratio\": 3",
         "tensor 'dinov2.encoder.layer.0.mlp.weights_in.weight' has shape [144, 52]; config.json "
         "asks for [208, 52]"},
        {"beit-0", CONFIG, "\"num_attention_heads\": 4", "\"num_attention_heads\": 3",
         "tensor 'beit.encoder.layer.0.attention.attention.relative_position_bias."
         "relative_position_bias_table' has shape [172, 4]; config.json asks for [172, 3]"},
        {"swin-0", CONFIG, "\"num_heads\": [\n    2,", "\"num_heads\": [3,",
         "tensor 'swin.encoder.layers.0.blocks.0.attention.self.relative_position_bias_table' has "
         "shape [25, 2]; config.json asks for [25, 3]"},
        {"swin-0", CONFIG, "\"mlp_ratio\": 2.0", "\"mlp_ratio\": 3",
         "tensor 'swin.encoder.layers.0.blocks.0.intermediate.dense.weight' has shape [36, 18]; "
         "config.json asks for [54, 18]"},
        {"swin-0", CONFIG, "\"depths\": [\n    2,", "\"depths\": [3,",
         "tensor 'swin.encoder.layers.0.blocks.2.attention.self.query.weight' is missing"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct tempdir dir;
        struct engine_model *model;
        struct err err = {0};
        tempdir_open(&dir);
        write_model(&dir, &changes[i]);
        ck_assert_int_eq(engine_open(&model, dir.path, &(struct engine_options){0}, &err),
                         ERR_UNSUPPORTED);
        ck_assert_msg(strncmp(err.text, changes[i].text, strlen(changes[i].text)) == 0, "%s",
                      err.text);
        tempdir_close(&dir);
    }
}
END_TEST

/* ---- sizes ---- */

static void expect_size(const char *name, const char *from, const char *to, unsigned size,
                        unsigned tokens)
{
    struct change change = {name, PREPROCESSOR, from, to, NULL};
    struct tempdir dir;
    struct engine_model *model;
    struct engine_cost cost;
    struct err err = {0};
    tempdir_open(&dir);
    write_model(&dir, &change);
    ck_assert_msg(!engine_open(&model, dir.path, &(struct engine_options){0}, &err), "%s",
                  err.text);
    ck_assert_uint_eq(engine_describe(model)->image_width, size);
    ck_assert_uint_eq(engine_describe(model)->tokens_max, tokens);
    engine_close(model);
    ck_assert(!engine_measure(&cost, dir.path, &(struct engine_options){0}, 1, 1, &err));
    tempdir_close(&dir);
}

/* The preprocessor's size, whatever the positions' grid; pixels behind the last patch are left out.
 */
START_TEST(dinov2_takes_the_size_that_its_preprocessor_makes)
{
    expect_size("dinov2-0", NULL, NULL, 84, 37);
    expect_size("dinov2-0", "{\n    \"height\": 84,\n    \"width\": 84",
                "{\"height\":112,\"width\":112", 112, 65);
    expect_size("dinov2-0", "{\n    \"height\": 84,\n    \"width\": 84",
                "{\"height\":27,\"width\":27", 27, 2);
    expect_size(NEW, "{\n    \"height\": 70,\n    \"width\": 70", "{\"height\":98,\"width\":98", 98,
                1 + 4 + 49);
}
END_TEST

START_TEST(a_size_below_a_patch_or_of_too_many_patches_is_refused)
{
    static const struct change changes[] = {
        {"dinov2-0", PREPROCESSOR, "{\n    \"height\": 84,\n    \"width\": 84",
         "{\"height\":13,\"width\":13",
         "preprocessor_config.json: patch_size 14 is larger than image_size 13"},
        {"dinov2-0", PREPROCESSOR, "{\n    \"height\": 84,\n    \"width\": 84",
         "{\"height\":16000,\"width\":16000",
         "preprocessor_config.json: 1304164 patches an image; at most 65536 are supported"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct tempdir dir;
        struct engine_model *model;
        struct engine_cost cost;
        struct err err = {0}, again = {0};
        tempdir_open(&dir);
        write_model(&dir, &changes[i]);
        ck_assert_int_eq(engine_open(&model, dir.path, &(struct engine_options){0}, &err),
                         ERR_UNSUPPORTED);
        ck_assert_str_eq(err.text, changes[i].text);
        ck_assert_int_eq(engine_measure(&cost, dir.path, &(struct engine_options){0}, 1, 1, &again),
                         ERR_UNSUPPORTED);
        tempdir_close(&dir);
    }
}
END_TEST

/* ---- the spec ---- */

static void read_spec(struct spec *spec, const char *config, struct arena *arena)
{
    struct tempdir dir;
    struct err err = {0};
    tempdir_open(&dir);
    tempdir_write(&dir, CONFIG, config, strlen(config));
    ck_assert_msg(!spec_read(spec, dir.path, arena, &err), "%s", err.text);
    tempdir_close(&dir);
}

/* The widths are those of Dinov2SwiGLUFFN; the published giant has 4096. */
START_TEST(a_gated_mlp_has_two_thirds_of_the_width_rounded_up_to_eights)
{
    struct arena arena;
    struct spec spec;
    arena_init(&arena);
    read_spec(&spec,
              "{\"model_type\": \"dinov2\", \"hidden_size\": 1536, \"use_swiglu_ffn\": true}",
              &arena);
    ck_assert(spec.is_gated);
    ck_assert_uint_eq(spec.intermediate, 4096);
    read_spec(&spec, "{\"model_type\": \"dinov2\"}", &arena);
    ck_assert(!spec.is_gated);
    ck_assert_uint_eq(spec.intermediate, 3072);
    ck_assert_uint_eq(spec.patch.width, 14);
    ck_assert_uint_eq(spec.registers, 0);
    ck_assert_uint_eq(spec_features(&spec), 2 * 768);
    read_spec(&spec, "{\"model_type\": \"dinov2_with_registers\", \"mlp_ratio\": 1.5}", &arena);
    ck_assert_uint_eq(spec.intermediate, 1152);
    ck_assert_uint_eq(spec.patch.width, 16);
    ck_assert_uint_eq(spec.registers, 4);
    ck_assert_uint_eq(spec_image_tokens(&spec), 1 + 4 + 196);
    ck_assert_uint_eq(spec_places(&spec), 197);
    arena_deinit(&arena);
}
END_TEST

/* Swin-T, Swin-B at 384 pixels, and what SwinConfig says of itself. */
START_TEST(stages_have_their_own_widths_grids_and_windows)
{
    struct arena arena;
    struct spec spec;
    arena_init(&arena);
    read_spec(&spec, "{\"model_type\": \"swin\"}", &arena);
    ck_assert_uint_eq(spec_image_unit(&spec).width, 224);
    ck_assert_uint_eq(spec_image_tokens(&spec), 3136);
    ck_assert_uint_eq(spec.layers, 12);
    ck_assert_uint_eq(spec_features(&spec), 768);
    for (unsigned i = 0; i < 4; i++) {
        const struct spec stage = spec_at(&spec, i);
        ck_assert_uint_eq(stage.hidden, 96u << i);
        ck_assert_uint_eq(stage.heads, 3u << i);
        ck_assert_uint_eq(stage.intermediate, 384u << i);
        ck_assert_uint_eq(spec_grid(&stage).image.width, 56u >> i);
        ck_assert_uint_eq(spec_grid(&stage).across, 8u >> i);
        ck_assert_uint_eq(spec_sequence(&stage), 49);
        ck_assert_uint_eq(spec_shift(&stage, spec_first_layer(&stage)), 0);
        ck_assert_uint_eq(spec_shift(&stage, spec_first_layer(&stage) + 1), i < 3 ? 3 : 0);
    }
    ck_assert_uint_eq(spec_stage_of(&spec, 9), 2);
    ck_assert_uint_eq(spec_stage_of(&spec, 10), 3);
    read_spec(&spec,
              "{\"model_type\": \"swin\", \"image_size\": 384, \"window_size\": 12, "
              "\"embed_dim\": 128, \"depths\": [2, 2, 18, 2], \"num_heads\": [4, 8, 16, 32]}",
              &arena);
    ck_assert_uint_eq(spec_image_tokens(&spec), 9216);
    ck_assert_uint_eq(spec.layers, 24);
    ck_assert_uint_eq(spec.hidden, 1024);
    ck_assert_uint_eq(spec.heads, 32);
    arena_deinit(&arena);
}
END_TEST

START_TEST(fitting_keeps_the_places_of_the_checkpoint_and_another_size_has_its_own)
{
    struct arena arena;
    struct spec spec;
    struct err err = {0};
    arena_init(&arena);
    read_spec(&spec, "{\"model_type\": \"dinov2\", \"image_size\": 518}", &arena);
    for (int again = 0; again < 2; again++) {
        ck_assert_int_eq(spec_fit_image_size(&spec, extent_square(224), &err), ERR_OK);
        ck_assert_uint_eq(spec_places(&spec), 1 + 37 * 37);
        ck_assert_uint_eq(spec_image_tokens(&spec), 257);
    }
    spec_set_image_size(&spec, extent_square(112));
    ck_assert_uint_eq(spec_places(&spec), 65);
    ck_assert_int_eq(spec_fit_image_size(&spec, extent_square(13), &err), ERR_UNSUPPORTED);
    arena_deinit(&arena);
}
END_TEST

SUITE("image_families", image_families_refuse_unsupported_settings_by_name,
      tensors_that_config_json_does_not_describe_are_refused_by_name,
      dinov2_takes_the_size_that_its_preprocessor_makes,
      a_size_below_a_patch_or_of_too_many_patches_is_refused,
      a_gated_mlp_has_two_thirds_of_the_width_rounded_up_to_eights,
      stages_have_their_own_widths_grids_and_windows,
      fitting_keeps_the_places_of_the_checkpoint_and_another_size_has_its_own)
