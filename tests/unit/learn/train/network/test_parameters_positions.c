/* parameters.h: positions of another grid or length, tensors of another shape, and what is said of
 * those that cannot be taken. The checkpoints hold numbers of a test's own. */
#include "engine/format/safetensors_write.h"
#include "engine/model/positions.h"
#include "learn/train/network/parameters.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HIDDEN = 4, ACROSS = 3 };

static struct tempdir dir;
static struct parameters parameters;
static struct parameters_loaded loaded;
static float numbers[4096];

static void open_parameters(const char *model_type, unsigned positions)
{
    struct err err = {0};
    const struct family *family = family_find(model_type, NULL);
    bool is_text = family->kind == ENGINE_TEXT;
    struct spec spec = {.family = family,
                        .layers = 1,
                        .heads = 2,
                        .hidden = HIDDEN,
                        .intermediate = 4,
                        .qkv_bias = true,
                        .vocab_size = 6,
                        .positions = positions,
                        .token_types = 2,
                        .image_size = extent_square(is_text ? 0 : ACROSS * 2),
                        .patch = extent_square(is_text ? 0 : 2),
                        .channels = 3,
                        .patches = is_text ? 0 : ACROSS * ACROSS,
                        .label_count = 2};
    ck_assert_msg(!parameters_open(&parameters, &spec, HEAD_CLASSIFIER, &err), "%s", err.text);
    for (size_t i = 0; i < parameters.numbers; i++)
        parameters.values[i] = -7;
}

/* Loads a checkpoint that has every tensor in its shape, but one in that of `other`. */
static enum err_code load(size_t offset, unsigned rank, const size_t *shape, struct err *err)
{
    struct tensor_out tensors[64];
    struct checkpoint *checkpoint;
    char path[128];
    *err = (struct err){0};
    tempdir_open(&dir);
    snprintf(path, sizeof path, "%s/model.safetensors", dir.path);
    numbers_fill(numbers, sizeof numbers / sizeof *numbers, 1, 3);
    for (unsigned i = 0; i < parameters.count; i++) {
        const struct parameter *parameter = &parameters.list[i];
        bool is_other = parameter->offset == offset;
        tensors[i] = (struct tensor_out){.name = parameter->row.name,
                                         .dtype = DTYPE_F32,
                                         .rank = is_other ? rank : parameter->row.rank,
                                         .values = numbers};
        memcpy(tensors[i].shape, is_other ? shape : parameter->row.shape,
               tensors[i].rank * sizeof *shape);
    }
    ck_assert(!safetensors_write(path, tensors, parameters.count, "pt", err));
    ck_assert(!checkpoint_open(&checkpoint, dir.path, err));
    ck_assert_int_eq(parameters_load(&parameters, checkpoint, &loaded, err), err->code);
    checkpoint_close(checkpoint);
    tempdir_close(&dir);
    return err->code;
}

/* [1, 1 + n n, D] of any n is taken, and nothing else. */
START_TEST(grids_that_are_square_are_resampled)
{
    static const size_t sizes[] = {1, 2, 3, 4, 7};
    open_parameters("vit", 0);
    for (unsigned i = 0; i < 5; i++) {
        struct err err;
        size_t n = sizes[i], shape[3] = {1, 1 + n * n, HIDDEN};
        float want[ACROSS * ACROSS * HIDDEN];
        ck_assert_msg(!load(parameters.map.position, 3, shape, &err), "%s", err.text);
        const float *found = parameters.values + parameters.map.position;
        ck_assert_mem_eq(found, numbers, HIDDEN * sizeof *found);
        positions_resize(want, extent_square(ACROSS), numbers + HIDDEN, extent_square(n), HIDDEN,
                         false);
        ck_assert_mem_eq(found + HIDDEN, want, sizeof want);
        ck_assert_int_eq(loaded.positions_resized, n != ACROSS);
        ck_assert(loaded.found == parameters.count && loaded.missing == 0 &&
                  loaded.classifiers == 1);
    }
    parameters_close(&parameters);
}
END_TEST

START_TEST(positions_of_a_bad_grid_are_refused_with_both_shapes)
{
    static const struct {
        unsigned rank;
        size_t shape[4];
        const char *text;
    } rows[] = {{3, {1, 9, HIDDEN}, "[1, 9, 4]"},
                {3, {1, 11, HIDDEN}, "[1, 11, 4]"},
                {3, {2, 10, HIDDEN}, "[2, 10, 4]"},
                {3, {1, 10, HIDDEN + 1}, "[1, 10, 5]"},
                {2, {10, HIDDEN}, "[10, 4]"},
                {3, {1, 1, HIDDEN}, "[1, 1, 4]"},
                {4, {1, 10, HIDDEN, 1}, "[1, 10, 4, 1]"},
                {1, {40}, "[40]"}};
    open_parameters("vit", 0);
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct err err;
        char want[320];
        ck_assert_int_eq(load(parameters.map.position, rows[i].rank, rows[i].shape, &err),
                         ERR_UNSUPPORTED);
        snprintf(want, sizeof want,
                 "tensor 'vit.embeddings.position_embeddings' has shape %s; config.json asks for "
                 "[1, 10, 4]",
                 rows[i].text);
        ck_assert_str_eq(err.text, want);
        ck_assert(!loaded.positions_resized);
    }
    parameters_close(&parameters);
}
END_TEST

/* A text model's first positions are taken of as many or more. */
START_TEST(positions_of_texts_are_cut)
{
    static const struct {
        unsigned rank;
        size_t shape[3];
        bool goes;
    } rows[] = {{2, {5, HIDDEN}, true},  {2, {6, HIDDEN}, true},      {2, {50, HIDDEN}, true},
                {2, {4, HIDDEN}, false}, {2, {6, HIDDEN + 1}, false}, {3, {1, 6, HIDDEN}, false},
                {1, {24}, false}};
    open_parameters("bert", 5);
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct err err;
        enum err_code code = load(parameters.map.position, rows[i].rank, rows[i].shape, &err);
        ck_assert_int_eq(code, rows[i].goes ? ERR_OK : ERR_UNSUPPORTED);
        ck_assert_int_eq(loaded.positions_cut, rows[i].goes && rows[i].shape[0] > 5);
        const float *found = parameters.values + parameters.map.position;
        if (rows[i].goes)
            ck_assert_mem_eq(found, numbers, 5 * HIDDEN * sizeof *found);
    }
    parameters_close(&parameters);
}
END_TEST

/* A classifier of other labels stays as it is; any other tensor of another shape does not go. */
START_TEST(only_classifiers_may_have_another_shape)
{
    open_parameters("bert", 5);
    for (unsigned i = 0; i < parameters.count; i++) {
        const struct parameter *parameter = &parameters.list[i];
        struct err err;
        size_t shape[3] = {parameter->row.shape[0] + 1, parameter->row.shape[1], 0};
        bool is_position = parameter->offset == parameters.map.position;
        bool is_label = parameter->offset == parameters.map.classifier_weight ||
                        parameter->offset == parameters.map.classifier_bias;
        char want[320];
        parameters.values[parameter->offset] = -7;
        enum err_code code = load(parameter->offset, parameter->row.rank, shape, &err);
        ck_assert_msg((code == ERR_OK) == (is_position || is_label), "%s", parameter->row.name);
        snprintf(want, sizeof want, "tensor '%s' has shape [%zu", parameter->row.name, shape[0]);
        ck_assert(code == ERR_OK || strncmp(err.text, want, strlen(want)) == 0);
        if (is_label) {
            ck_assert(loaded.missing == 1);
            ck_assert_uint_eq(loaded.classifiers, parameter->row.part != TENSOR_WEIGHT);
            ck_assert(loaded.found == parameters.count - 1);
            ck_assert_str_eq(loaded.first_missing, parameter->row.name);
            ck_assert_float_eq(parameters.values[parameter->offset], -7);
        }
    }
    parameters_close(&parameters);
}
END_TEST

SUITE("parameters_positions", grids_that_are_square_are_resampled,
      positions_of_a_bad_grid_are_refused_with_both_shapes, positions_of_texts_are_cut,
      only_classifiers_may_have_another_shape)
