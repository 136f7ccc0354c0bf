#include "engine/engine.h"
#include "tests/bench/checkpoints.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>

static const struct checkpoint_size tiny = {.layers = 2,
                                            .hidden = 64,
                                            .heads = 4,
                                            .intermediate = 96,
                                            .vocab = 200,
                                            .positions = 32,
                                            .labels = 3,
                                            .image = 32,
                                            .patch = 8};

static struct engine_model *open_model(const char *dir)
{
    struct engine_model *model = NULL;
    struct err err = {0};
    engine_open(&model, dir, &(struct engine_options){0}, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    return model;
}

START_TEST(checkpoints_of_both_kinds_open_with_every_tensor_in_use)
{
    struct tempdir dir;
    struct err err = {0};
    tempdir_open(&dir);
    ck_assert_int_eq(checkpoints_bert(dir.path, &tiny, &err), ERR_OK);
    struct engine_model *model = open_model(dir.path);
    const struct engine_info *info = engine_describe(model);
    ck_assert_uint_eq(info->layers, 2);
    ck_assert_uint_eq(info->label_count, 3);
    ck_assert_uint_eq(info->unbound_count, 0);
    engine_close(model);
    tempdir_close(&dir);

    tempdir_open(&dir);
    ck_assert_int_eq(checkpoints_vit(dir.path, &tiny, &err), ERR_OK);
    model = open_model(dir.path);
    ck_assert_uint_eq(engine_describe(model)->tokens_max, 17);
    ck_assert_uint_eq(engine_describe(model)->unbound_count, 0);
    engine_close(model);
    tempdir_close(&dir);
}
END_TEST

START_TEST(checkpoints_count_a_word_of_their_vocabulary_as_one_token)
{
    struct tempdir dir;
    struct err err = {0};
    struct arena arena;
    struct engine_input input;
    tempdir_open(&dir);
    ck_assert_int_eq(checkpoints_bert(dir.path, &tiny, &err), ERR_OK);
    struct engine_model *model = open_model(dir.path);
    arena_init(&arena);
    ck_assert_int_eq(engine_prepare(model, text_source("aaaf aabz"), NULL, &arena, &input, &err),
                     ERR_OK);
    ck_assert_uint_eq(input.tokens, 4);
    ck_assert_int_eq(input.ids[1], 5);
    ck_assert_int_eq(input.ids[2], 26 + 25);
    arena_deinit(&arena);
    engine_close(model);
    tempdir_close(&dir);
}
END_TEST

START_TEST(checkpoints_name_the_directory_that_cannot_be_made)
{
    struct err err = {0};
    ck_assert_int_eq(checkpoints_bert("/nowhere/bert", &tiny, &err), ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.text, "/nowhere/bert"));
}
END_TEST

SUITE("checkpoints", checkpoints_of_both_kinds_open_with_every_tensor_in_use,
      checkpoints_count_a_word_of_their_vocabulary_as_one_token,
      checkpoints_name_the_directory_that_cannot_be_made)
