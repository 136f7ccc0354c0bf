/* patch_windows.h against torch.roll and window_partition, written out. */
#include "engine/model/patch_windows.h"

#include "tests/support/suite.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A stage of so many layers over a grid. */
static struct spec stage_of(unsigned grid, unsigned window, unsigned layers)
{
    static struct stage_config stages;
    stages = (struct stage_config){.count = 1, .window = window, .stage = {{.end = layers}}};
    struct spec spec = {
        .family = family_find("swin", NULL), .layers = layers, .stages = &stages, .patch = {1, 1}};
    spec_set_image_size(&spec, extent_square(grid));
    return spec;
}

/* A grid of 4, windows of 2, turned by 1: torch.roll(x, (-1, -1)), then window_partition. */
START_TEST(rows_are_those_of_the_turned_and_partitioned_image)
{
    static const unsigned plain[16] = {0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15};
    static const unsigned turned[16] = {5, 6, 9, 10, 7, 4, 11, 8, 13, 14, 1, 2, 15, 12, 3, 0};
    static const unsigned kinds[4] = {0, 1, 2, 3};
    const struct spec stage = stage_of(4, 2, 2);
    for (unsigned row = 0; row < 16; row++) {
        ck_assert_uint_eq(patch_windows_cell(&stage, 0, row), plain[row]);
        ck_assert_uint_eq(patch_windows_cell(&stage, 1, row), turned[row]);
    }
    for (unsigned window = 0; window < 4; window++)
        ck_assert_uint_eq(patch_windows_kind(&stage, window), kinds[window]);
}
END_TEST

/* A row that began as a patch is that patch where it is read, after any moves. */
static void check_walk(unsigned grid, unsigned window, unsigned layers)
{
    const struct spec stage = stage_of(grid, window, layers);
    struct patch_windows windows;
    struct arena arena;
    struct err err = {0};
    unsigned *rows = calloc(stage.patches, sizeof *rows),
             *next = calloc(stage.patches, sizeof *next);
    bool *met = calloc(stage.patches, sizeof *met);
    arena_init(&arena);
    ck_assert(!patch_windows_open(&windows, &stage, &arena, &err));
    for (unsigned p = 0; p < stage.patches; p++)
        rows[p] = p;
    for (unsigned layer = 0; layer < layers; layer++) {
        const unsigned *from = patch_windows_move(&windows, layer);
        for (unsigned r = 0; from != NULL && r < stage.patches; r++)
            next[r] = rows[from[r]];
        if (from != NULL)
            memcpy(rows, next, stage.patches * sizeof *rows);
        for (unsigned r = 0; r < stage.patches; r++)
            ck_assert_uint_eq(rows[r], patch_windows_cell(&stage, spec_shift(&stage, layer), r));
    }
    for (unsigned p = 0; grid % 2 == 0 && p < stage.patches / 4; p++)
        for (unsigned part = 0; part < 4; part++) {
            const unsigned patch = rows[patch_windows_merged(&stage, &windows, p, part)];
            ck_assert_uint_eq(patch / grid, p / (grid / 2) * 2 + part % 2);
            ck_assert_uint_eq(patch % grid, p % (grid / 2) * 2 + part / 2);
            ck_assert(!met[patch]);
            met[patch] = true;
        }
    arena_deinit(&arena);
    free(rows), free(next), free(met);
}

START_TEST(every_layer_finds_its_windows_and_merging_its_neighbours)
{
    for (unsigned layers = 1; layers <= 5; layers++) {
        check_walk(4, 2, layers);
        check_walk(6, 3, layers);
        check_walk(12, 3, layers);
        check_walk(14, 7, layers);
        check_walk(9, 3, layers);
        check_walk(3, 3, layers); /* one window: nothing is shifted, and nothing moves */
        check_walk(8, 8, layers);
    }
}
END_TEST

START_TEST(a_grid_of_one_window_is_left_as_it_is)
{
    const struct spec stage = stage_of(4, 4, 3);
    struct patch_windows windows;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    ck_assert(!patch_windows_open(&windows, &stage, &arena, &err));
    for (unsigned layer = 0; layer < 3; layer++) {
        ck_assert_ptr_null(patch_windows_move(&windows, layer));
        ck_assert_uint_eq(spec_shift(&stage, layer), 0);
    }
    arena_deinit(&arena);
}
END_TEST

SUITE("patch_windows", rows_are_those_of_the_turned_and_partitioned_image,
      every_layer_finds_its_windows_and_merging_its_neighbours,
      a_grid_of_one_window_is_left_as_it_is)
