/* What the engine says that it will take, against what it took. */
#include "engine/engine.h"
#include "engine/format/checkpoint.h"
#include "engine/model/workspace.h"
#include "engine/tensor/linear.h"
#include "tests/support/suite.h"

#include <string.h>

static const char *const dirs[] = {"models/wafer-vit", "models/kernel-bert", "models/testlog-bert"};
static const char *const dtypes[] = {"f32", "int8"};
enum { DIRS = sizeof dirs / sizeof dirs[0], DTYPES = sizeof dtypes / sizeof dtypes[0] };

static void check_bound(const char *what, const char *dir, size_t told, size_t taken)
{
    ck_assert_msg(told >= taken, "%s of %s: %zu told, %zu taken", what, dir, told, taken);
    ck_assert_msg(told <= 2 * taken + (2 << 20), "%s of %s: %zu told, %zu taken", what, dir, told,
                  taken);
}

START_TEST(engine_measure_bounds_the_weights)
{
    for (size_t i = 0; i < DIRS * DTYPES; i++) {
        const struct engine_options options = {.dtype = dtypes[i % DTYPES]};
        const char *dir = dirs[i / DTYPES];
        struct engine_model *model;
        struct engine_cost cost;
        struct err err = {0};
        ck_assert_int_eq(engine_measure(&cost, dir, &options, 256, 2, &err), ERR_OK);
        ck_assert_msg(engine_open(&model, dir, &options, &err) == ERR_OK, "%s", err.text);
        check_bound("weights", dir, cost.model_bytes, engine_describe(model)->weight_bytes);
        ck_assert_uint_eq(cost.label_count, engine_describe(model)->label_count);
        engine_close(model);
    }
}
END_TEST

static void check_workspace(const char *dir, enum precision precision, unsigned threads)
{
    struct spec spec;
    struct arena arena;
    struct workspace workspace;
    struct err err = {0};
    arena_init(&arena);
    ck_assert_msg(spec_read(&spec, dir, &arena, &err) == ERR_OK, "%s", err.text);
    const struct linear_backend *encoder = linear_backend_find("auto", precision);
    ck_assert_msg(workspace_open(&workspace, &spec, encoder, 512, threads, kernels_best(), &err) ==
                      ERR_OK,
                  "%s", err.text);
    check_bound("workspace", dir, workspace_bytes(&spec, precision, 512, threads),
                workspace.arena.bytes);
    workspace_close(&workspace);
    arena_deinit(&arena);
}

START_TEST(workspace_bytes_bound_a_workspace)
{
    for (size_t i = 0; i < DIRS; i++)
        for (unsigned threads = 1; threads <= 4; threads += 3) {
            check_workspace(dirs[i], PRECISION_F32, threads);
            check_workspace(dirs[i], PRECISION_INT8, threads);
        }
}
END_TEST

START_TEST(engine_measure_tells_what_cannot_be_opened)
{
    struct engine_cost cost;
    struct err err = {0};
    ck_assert_int_ne(
        engine_measure(&cost, "models/nothing", &(struct engine_options){0}, 256, 2, &err), ERR_OK);
    err = (struct err){0};
    ck_assert_int_eq(
        engine_measure(&cost, dirs[0], &(struct engine_options){.dtype = "fp4"}, 256, 2, &err),
        ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "fp4"));
}
END_TEST

START_TEST(engine_need_bounds_what_a_text_keeps)
{
    static const char *const texts[] = {"", "a", "BUG: kernel NULL pointer dereference",
                                        "\xE4\xB8\xAD\xE4\xB8\xAD a\xCC\x81"};
    struct engine_model *model;
    struct err err = {0};
    ck_assert_int_eq(engine_open(&model, dirs[1], &(struct engine_options){0}, &err), ERR_OK);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct arena arena;
        struct engine_input input;
        arena_init(&arena);
        err = (struct err){0};
        engine_prepare_text(model, texts[i], strlen(texts[i]), NULL, &arena, &input, &err);
        struct engine_need need = engine_need_text(model, texts[i], strlen(texts[i]));
        ck_assert_uint_le(arena.bytes, need.kept);
        ck_assert_uint_eq(need.passing, 0);
        arena_deinit(&arena);
    }
    engine_close(model);
}
END_TEST

SUITE("engine_measure", engine_measure_bounds_the_weights, workspace_bytes_bound_a_workspace,
      engine_measure_tells_what_cannot_be_opened, engine_need_bounds_what_a_text_keeps)
