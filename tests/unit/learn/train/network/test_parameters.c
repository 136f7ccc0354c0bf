/* The flat array: its layout and initialisation, and loading a checkpoint whose names and shapes
 * are not the family's. */
#include "learn/train/network/parameters.h"

#include "engine/model/positions.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 200 };

static struct spec tiny_bert(void)
{
    return (struct spec){.family = family_find("bert", NULL),
                         .layers = 2,
                         .heads = 2,
                         .hidden = 20,
                         .intermediate = 24,
                         .activation = ACTIVATION_GELU,
                         .norm_eps = 1e-12f,
                         .qkv_bias = true,
                         .vocab_size = 30,
                         .positions = 12,
                         .token_types = 2,
                         .label_count = 3};
}

static void open_parameters(struct parameters *parameters, const struct spec *spec,
                            enum family_head head)
{
    struct err err = {0};
    ck_assert_msg(parameters_open(parameters, spec, head, &err) == ERR_OK, "%s", err.text);
}

static const struct parameter *find(const struct parameters *parameters, const char *name)
{
    for (unsigned p = 0; p < parameters->count; p++)
        if (strcmp(parameters->list[p].row.name, name) == 0)
            return &parameters->list[p];
    ck_abort_msg("there is no %s", name);
    return NULL;
}

START_TEST(parameters_are_aligned_apart_and_one_product_for_query_key_and_value)
{
    struct parameters parameters;
    struct spec spec = tiny_bert();
    open_parameters(&parameters, &spec, HEAD_CLASSIFIER);
    size_t end = 0;
    for (unsigned p = 0; p < parameters.count; p++) {
        const struct parameter *parameter = &parameters.list[p];
        bool follows =
            strstr(parameter->row.name, ".key.") || strstr(parameter->row.name, ".value.");
        ck_assert_uint_ge(parameter->offset, end);
        if (follows)
            ck_assert_uint_eq(parameter->offset, end);
        else
            ck_assert_uint_eq(parameter->offset % 16, 0);
        end = parameter->offset + parameter->row.count;
    }
    ck_assert_uint_le(end, parameters.numbers);
    const struct parameters_layer *layer = &parameters.map.layers[1];
    ck_assert_uint_eq(find(&parameters, "bert.encoder.layer.1.attention.self.value.weight")->offset,
                      layer->qkv_weight + 2 * 20 * 20);
    ck_assert_uint_eq(find(&parameters, "bert.encoder.layer.1.attention.self.key.bias")->offset,
                      layer->qkv_bias + 20);
    parameters_close(&parameters);
}
END_TEST

START_TEST(parameters_know_how_deep_they_lie)
{
    struct parameters parameters;
    struct spec spec = tiny_bert();
    open_parameters(&parameters, &spec, HEAD_MLM);
    ck_assert_uint_eq(find(&parameters, "bert.embeddings.LayerNorm.bias")->row.depth, 0);
    ck_assert_uint_eq(find(&parameters, "bert.encoder.layer.0.output.dense.weight")->row.depth, 1);
    ck_assert_uint_eq(find(&parameters, "bert.encoder.layer.1.output.dense.weight")->row.depth, 2);
    ck_assert_uint_eq(find(&parameters, "cls.predictions.bias")->row.depth, 3);
    ck_assert_uint_eq(parameters.map.classifier_weight, SIZE_MAX);
    parameters_close(&parameters);
}
END_TEST

START_TEST(parameters_refuse_a_masked_language_model_head_on_images)
{
    struct parameters parameters;
    struct err err = {0};
    struct spec spec = tiny_bert();
    spec.family = family_find("vit", NULL);
    ck_assert_int_eq(parameters_open(&parameters, &spec, HEAD_MLM, &err), ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "vit"));
    parameters_close(&parameters);
}
END_TEST

START_TEST(parameters_init_is_seeded_and_cut_at_two_deviations)
{
    struct parameters one, two;
    struct spec spec = tiny_bert();
    open_parameters(&one, &spec, HEAD_CLASSIFIER);
    open_parameters(&two, &spec, HEAD_CLASSIFIER);
    parameters_init(&one, 7);
    parameters_init(&two, 7);
    ck_assert_mem_eq(one.values, two.values, one.numbers * sizeof(float));
    parameters_init(&two, 8);
    ck_assert_mem_ne(one.values, two.values, one.numbers * sizeof(float));
    const float *weight = one.values + one.map.layers[0].qkv_weight;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < 1200; i++) {
        ck_assert_float_le(fabsf(weight[i]), 0.04f);
        sum += weight[i];
        squares += weight[i] * weight[i];
    }
    ck_assert_double_eq_tol(sum / 1200, 0, 0.002);
    ck_assert_double_eq_tol(sqrt(squares / 1200), 0.0176, 0.001); /* of a normal cut at 2 */
    ck_assert_float_eq(one.values[one.map.embedding_gamma + 3], 1);
    ck_assert_float_eq(one.values[one.map.embedding_beta + 3], 0);
    ck_assert_float_eq(one.values[one.map.classifier_bias], 0);
    parameters_close(&one);
    parameters_close(&two);
}
END_TEST

/* ---- loading ---- */

struct loaded {
    struct parameters parameters;
    struct parameters_loaded loaded;
    struct err err;
};

static void load(struct loaded *out, const char *dir, const struct spec *spec)
{
    struct checkpoint *checkpoint;
    *out = (struct loaded){0};
    ck_assert_msg(checkpoint_open(&checkpoint, dir, &out->err) == ERR_OK, "%s", out->err.text);
    open_parameters(&out->parameters, spec, HEAD_CLASSIFIER);
    parameters_init(&out->parameters, 1);
    parameters_load(&out->parameters, checkpoint, &out->loaded, &out->err);
    checkpoint_close(checkpoint);
}

START_TEST(parameters_load_finds_every_tensor_of_every_family)
{
    static const char *const names[] = {"bert-3", "bert-4", "distilbert-0", "vit-0",
                                        "vit-1",  "deit-0", "deit-1"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char dir[64];
        struct arena arena;
        struct spec spec;
        struct loaded got;
        struct err err = {0};
        arena_init(&arena);
        snprintf(dir, sizeof dir, "tests/data/golden/%s", names[i]);
        ck_assert_msg(spec_read(&spec, dir, &arena, &err) == ERR_OK, "%s", err.text);
        load(&got, dir, &spec);
        ck_assert_msg(got.err.code == ERR_OK, "%s: %s", dir, got.err.text);
        ck_assert_uint_eq(got.loaded.missing, 0);
        ck_assert_uint_eq(got.loaded.found, got.parameters.count);
        ck_assert(got.loaded.classifiers > 0 && !got.loaded.positions_resized);
        parameters_close(&got.parameters);
        arena_deinit(&arena);
    }
}
END_TEST

/* A tiny model's tensors: with their prefix, or bare and with a norm's old endings; without what
 * begins with `without`. */
static void write_model(struct checkpoint_writer *writer, const struct spec *spec, bool bare,
                        const char *without)
{
    struct parameters parameters;
    const char *rooted = spec->family->tensors[TENSOR_ATTENTION_OUT];
    size_t root = family_root(spec->family);
    open_parameters(&parameters, spec, HEAD_CLASSIFIER);
    checkpoint_writer_open(writer);
    for (unsigned p = 0; p < parameters.count; p++) {
        const struct parameter *parameter = &parameters.list[p];
        char name[NAME_BYTES];
        bool strip = bare && strncmp(parameter->row.name, rooted, root) == 0;
        snprintf(name, sizeof name, "%s", parameter->row.name + (strip ? root : 0));
        if (bare && parameter->row.part == TENSOR_GAMMA)
            memcpy(strrchr(name, '.'), ".gamma", sizeof ".gamma");
        if (bare && parameter->row.part == TENSOR_BETA)
            memcpy(strrchr(name, '.'), ".beta", sizeof ".beta");
        if (without == NULL || strncmp(parameter->row.name, without, strlen(without)) != 0)
            checkpoint_writer_add(writer, name, parameter->row.shape[0], parameter->row.shape[1]);
    }
    checkpoint_writer_finish(writer);
    parameters_close(&parameters);
}

START_TEST(parameters_load_reads_bare_names_and_old_norms)
{
    struct checkpoint_writer full, bare;
    struct spec spec = tiny_bert();
    struct loaded one, two;
    write_model(&full, &spec, false, NULL);
    write_model(&bare, &spec, true, NULL);
    load(&one, full.dir, &spec);
    load(&two, bare.dir, &spec);
    ck_assert_msg(one.err.code == ERR_OK && two.err.code == ERR_OK, "%s", two.err.text);
    ck_assert_uint_eq(two.loaded.missing, 0);
    ck_assert_mem_eq(one.parameters.values, two.parameters.values,
                     one.parameters.numbers * sizeof(float));
    ck_assert_float_ne(one.parameters.values[one.parameters.map.word], 0);
    parameters_close(&one.parameters);
    parameters_close(&two.parameters);
    checkpoint_writer_close(&full);
    checkpoint_writer_close(&bare);
}
END_TEST

/* ModernBertModel's names begin with "layers." and "embeddings.", and a head has none of them. */
START_TEST(parameters_load_reads_a_bare_modernbert)
{
    struct checkpoint_writer full, bare;
    struct spec spec = tiny_bert();
    struct loaded one, two;
    spec.family = family_find("modernbert", NULL);
    spec.is_gated = true;
    ck_assert_uint_eq(family_root(spec.family), strlen("model."));
    write_model(&full, &spec, false, NULL);
    write_model(&bare, &spec, true, "head.");
    load(&one, full.dir, &spec);
    load(&two, bare.dir, &spec);
    ck_assert_msg(one.err.code == ERR_OK && two.err.code == ERR_OK, "%s", two.err.text);
    ck_assert_uint_eq(one.loaded.missing, 0);
    ck_assert_uint_eq(two.loaded.missing, 4);
    ck_assert_uint_eq(two.loaded.classifiers, 1); /* "classifier." is no part of "head." */
    ck_assert_str_eq(two.loaded.first_missing, "head.dense.weight");
    size_t encoder = one.parameters.map.pooler_weight;
    ck_assert_mem_eq(one.parameters.values, two.parameters.values, encoder * sizeof(float));
    ck_assert_mem_ne(one.parameters.values + encoder, two.parameters.values + encoder,
                     20 * 20 * sizeof(float));
    parameters_close(&one.parameters);
    parameters_close(&two.parameters);
    checkpoint_writer_close(&full);
    checkpoint_writer_close(&bare);
}
END_TEST

START_TEST(parameters_load_tells_a_missing_head_and_leaves_it)
{
    struct checkpoint_writer writer;
    struct spec spec = tiny_bert();
    struct loaded got;
    struct parameters fresh;
    write_model(&writer, &spec, true, "classifier");
    load(&got, writer.dir, &spec);
    ck_assert_msg(got.err.code == ERR_OK, "%s", got.err.text);
    ck_assert(got.loaded.classifiers == 0);
    ck_assert_uint_eq(got.loaded.missing, 2);
    ck_assert_str_eq(got.loaded.first_missing, "classifier.weight");
    open_parameters(&fresh, &spec, HEAD_CLASSIFIER);
    parameters_init(&fresh, 1);
    size_t classifier = fresh.map.classifier_weight;
    ck_assert_mem_eq(got.parameters.values + classifier, fresh.values + classifier,
                     3 * 20 * sizeof(float));
    parameters_close(&fresh);
    parameters_close(&got.parameters);
    checkpoint_writer_close(&writer);
}
END_TEST

START_TEST(parameters_load_leaves_a_classifier_of_other_labels)
{
    struct checkpoint_writer writer;
    struct spec spec = tiny_bert();
    struct loaded got;
    write_model(&writer, &spec, false, NULL);
    spec.label_count = 5;
    load(&got, writer.dir, &spec);
    ck_assert_msg(got.err.code == ERR_OK, "%s", got.err.text);
    ck_assert(got.loaded.classifiers == 0);
    ck_assert_uint_eq(got.loaded.found, got.parameters.count - 2);
    parameters_close(&got.parameters);
    checkpoint_writer_close(&writer);
}
END_TEST

START_TEST(parameters_load_refuses_a_missing_or_misshapen_encoder_by_name)
{
    struct checkpoint_writer writer;
    struct spec spec = tiny_bert();
    struct loaded got;
    write_model(&writer, &spec, false, "bert.encoder.layer.1.intermediate.dense.bias");
    load(&got, writer.dir, &spec);
    ck_assert_int_eq(got.err.code, ERR_UNSUPPORTED);
    ck_assert_str_eq(got.err.text,
                     "tensor 'bert.encoder.layer.1.intermediate.dense.bias' is missing");
    parameters_close(&got.parameters);
    spec.vocab_size = 31;
    load(&got, writer.dir, &spec);
    ck_assert_str_eq(got.err.text, "tensor 'bert.embeddings.word_embeddings.weight' has shape "
                                   "[30, 20]; config.json asks for [31, 20]");
    parameters_close(&got.parameters);
    checkpoint_writer_close(&writer);
}
END_TEST

START_TEST(parameters_load_cuts_the_positions_of_texts_and_never_adds_any)
{
    struct checkpoint_writer writer;
    struct spec spec = tiny_bert();
    struct loaded whole, cut;
    write_model(&writer, &spec, false, NULL);
    load(&whole, writer.dir, &spec);
    spec.positions = 7;
    load(&cut, writer.dir, &spec);
    ck_assert_msg(cut.err.code == ERR_OK, "%s", cut.err.text);
    ck_assert(cut.loaded.positions_cut && !whole.loaded.positions_cut);
    ck_assert_mem_eq(cut.parameters.values + cut.parameters.map.position,
                     whole.parameters.values + whole.parameters.map.position,
                     7 * 20 * sizeof(float));
    parameters_close(&whole.parameters);
    parameters_close(&cut.parameters);
    spec.positions = 13;
    load(&cut, writer.dir, &spec);
    ck_assert_int_eq(cut.err.code, ERR_UNSUPPORTED);
    parameters_close(&cut.parameters);
    checkpoint_writer_close(&writer);
}
END_TEST

START_TEST(parameters_load_takes_an_image_model_to_another_size)
{
    struct arena arena;
    struct spec spec;
    struct loaded whole, other;
    struct err err = {0};
    arena_init(&arena);
    ck_assert_int_eq(spec_read(&spec, "tests/data/golden/vit-0", &arena, &err), ERR_OK);
    load(&whole, "tests/data/golden/vit-0", &spec);
    spec.image_size = extent_square(96);
    spec.patches = 36;
    load(&other, "tests/data/golden/vit-0", &spec);
    ck_assert_msg(other.err.code == ERR_OK, "%s", other.err.text);
    ck_assert(other.loaded.positions_resized && !whole.loaded.positions_resized);
    float grid[36 * 48];
    const float *from = whole.parameters.values + whole.parameters.map.position;
    const float *to = other.parameters.values + other.parameters.map.position;
    ck_assert_mem_eq(to, from, 48 * sizeof(float));
    positions_resize(grid, extent_square(6), from + 48, extent_square(4), 48, false);
    ck_assert_mem_eq(to + 48, grid, sizeof grid);
    parameters_close(&whole.parameters);
    parameters_close(&other.parameters);
    arena_deinit(&arena);
}
END_TEST

SUITE("parameters", parameters_are_aligned_apart_and_one_product_for_query_key_and_value,
      parameters_know_how_deep_they_lie, parameters_refuse_a_masked_language_model_head_on_images,
      parameters_init_is_seeded_and_cut_at_two_deviations,
      parameters_load_finds_every_tensor_of_every_family,
      parameters_load_reads_bare_names_and_old_norms, parameters_load_reads_a_bare_modernbert,
      parameters_load_tells_a_missing_head_and_leaves_it,
      parameters_load_leaves_a_classifier_of_other_labels,
      parameters_load_refuses_a_missing_or_misshapen_encoder_by_name,
      parameters_load_cuts_the_positions_of_texts_and_never_adds_any,
      parameters_load_takes_an_image_model_to_another_size)
