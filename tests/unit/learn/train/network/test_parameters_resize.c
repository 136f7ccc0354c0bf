/* parameters.h: from one grid of patches to another, tensor by tensor. */
#include "learn/train/network/parameters.h"

#include "engine/model/positions.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

enum { HIDDEN = 16, PATCH = 2, FROM = 3, TO = 5 };

static void open_at(struct parameters *out, const char *model_type, unsigned across,
                    unsigned layers)
{
    struct err err = {0};
    struct spec spec = {.family = family_find(model_type, NULL),
                        .layers = layers,
                        .heads = 2,
                        .hidden = HIDDEN,
                        .intermediate = 24,
                        .norm_eps = 1e-6f,
                        .qkv_bias = true,
                        .label_count = 2,
                        .image_size = extent_square(across * PATCH),
                        .patch = extent_square(PATCH),
                        .channels = 3,
                        .patches = across * across};
    ck_assert_msg(!parameters_open(out, &spec, HEAD_CLASSIFIER, &err), "%s", err.text);
}

/* The tokens in front are no place and stay; the grid is interpolated; all else is copied. */
static void check(const char *model_type, size_t specials)
{
    struct parameters from, to;
    struct err err = {0};
    float grid[TO * TO * HIDDEN];
    open_at(&from, model_type, FROM, 2);
    open_at(&to, model_type, TO, 2);
    numbers_fill(from.values, from.numbers, 1, 3);
    ck_assert_msg(!parameters_resize(&from, from.values, &to, to.values, &err), "%s", err.text);
    const float *source = from.values + from.map.position, *found = to.values + to.map.position;
    positions_resize(grid, extent_square(TO), source + specials * HIDDEN, extent_square(FROM),
                     HIDDEN, false);
    ck_assert_mem_eq(found, source, specials * HIDDEN * sizeof *found);
    ck_assert_mem_eq(found + specials * HIDDEN, grid, sizeof grid);
    ck_assert_uint_eq(from.count, to.count);
    for (unsigned i = 0; i < to.count; i++)
        if (to.list[i].offset != to.map.position)
            ck_assert_mem_eq(to.values + to.list[i].offset, from.values + from.list[i].offset,
                             to.list[i].row.count * sizeof *found);
    parameters_close(&from);
    parameters_close(&to);
}

START_TEST(resize_interpolates_positions_and_copies_all_else)
{
    check("vit", 1);
    check("deit", 2);
}
END_TEST

START_TEST(resize_to_the_same_grid_changes_nothing)
{
    struct parameters from, to;
    struct err err = {0};
    open_at(&from, "vit", FROM, 1);
    open_at(&to, "vit", FROM, 1);
    for (unsigned i = 0; i < from.count; i++)
        numbers_fill(from.values + from.list[i].offset, from.list[i].row.count, 1, i + 1);
    ck_assert(!parameters_resize(&from, from.values, &to, to.values, &err));
    ck_assert_double_lt(numbers_difference(to.values, from.values, to.numbers), 1e-7);
    parameters_close(&from);
    parameters_close(&to);
}
END_TEST

/* Only a programmer's mistake can bring these calls about. */
START_TEST(resize_refuses_another_model)
{
    struct parameters from, to;
    struct err err = {0};
    open_at(&from, "vit", FROM, 1);
    open_at(&to, "vit", TO, 2);
    ck_assert_int_eq(parameters_resize(&from, from.values, &to, to.values, &err), ERR_INTERNAL);
    ck_assert_str_eq(err.text, "tensor 'vit.encoder.layer.1.attention.attention.query.weight' does "
                               "not fit the other image size");
    parameters_close(&from);
    parameters_close(&to);
}
END_TEST

SUITE("parameters_resize", resize_interpolates_positions_and_copies_all_else,
      resize_to_the_same_grid_changes_nothing, resize_refuses_another_model)
