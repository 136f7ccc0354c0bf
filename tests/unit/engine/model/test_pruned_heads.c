/* config.json's pruned_heads: the heads that layers have left, and the lists that are refused. */
#include "engine/model/family_tensors.h"
#include "engine/model/spec.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <string.h>

static struct tempdir dir;
static struct arena arena;
static struct spec spec;
static struct err err;

static enum err_code read_config(const char *config)
{
    arena_deinit(&arena);
    arena_init(&arena);
    err = (struct err){0};
    tempdir_open(&dir);
    tempdir_write(&dir, "config.json", config, strlen(config));
    spec_read(&spec, dir.path, &arena, &err);
    tempdir_close(&dir);
    return err.code;
}

/* Three layers of four heads, 32 wide. */
static enum err_code read_pruned(const char *model_type, const char *pruned)
{
    char config[512];
    snprintf(config, sizeof config,
             "{\"model_type\": \"%s\", \"hidden_size\": 32, \"num_hidden_layers\": 3, "
             "\"num_attention_heads\": 4, \"pruned_heads\": %s}",
             model_type, pruned);
    return read_config(config);
}

static void ck_refused(const char *pruned, const char *words)
{
    ck_assert_msg(read_pruned("bert", pruned) == ERR_UNSUPPORTED, "%s was not refused", pruned);
    ck_assert_msg(strstr(err.text, words) != NULL, "'%s' does not say '%s'", err.text, words);
}

START_TEST(a_layer_has_the_heads_that_are_not_named)
{
    ck_assert_int_eq(read_pruned("bert", "{\"0\": [1], \"2\": [0, 3, 2]}"), ERR_OK);
    ck_assert_uint_eq(spec_heads(&spec, 0), 3);
    ck_assert_uint_eq(spec_heads(&spec, 1), 4);
    ck_assert_uint_eq(spec_heads(&spec, 2), 1);
    ck_assert_uint_eq(spec_attended(&spec, 0), 24);
    ck_assert_uint_eq(spec_attended(&spec, 1), 32);
    ck_assert_uint_eq(spec_attended(&spec, 2), 8);
    ck_assert(spec.pruned.is_gone[1] && spec.pruned.is_gone[10] && !spec.pruned.is_gone[9]);
}
END_TEST

START_TEST(pruned_heads_without_names_prune_nothing)
{
    static const char *const empty[] = {"{}", "null"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        ck_assert_int_eq(read_pruned("vit", empty[i]), ERR_OK);
        ck_assert_ptr_null(spec.pruned.left);
        ck_assert_uint_eq(spec_heads(&spec, 2), 4);
    }
    ck_assert_int_eq(read_pruned("bert", "{\"1\": []}"), ERR_OK);
    ck_assert_uint_eq(spec_heads(&spec, 1), 4);
}
END_TEST

START_TEST(tensors_have_the_rows_and_columns_of_the_heads_that_are_left)
{
    ck_assert_int_eq(read_pruned("vit", "{\"1\": [0, 1]}"), ERR_OK);
    struct tensor_walk walk = {.spec = &spec, .head = HEAD_CLASSIFIER};
    unsigned seen = 0;
    for (struct tensor_row row; family_tensors_next(&walk, &row);) {
        size_t attended = row.depth > 0 && row.layer == 1 ? 16 : 32;
        bool is_weight = row.part == TENSOR_WEIGHT;
        if (row.field == TENSOR_QUERY || row.field == TENSOR_KEY || row.field == TENSOR_VALUE) {
            ck_assert_uint_eq(row.shape[0], attended);
            ck_assert_uint_eq(row.count, is_weight ? attended * 32 : attended);
            seen++;
        }
        if (row.field == TENSOR_ATTENTION_OUT && is_weight) {
            ck_assert_uint_eq(row.shape[0], 32);
            ck_assert_uint_eq(row.shape[1], attended);
            seen++;
        }
    }
    ck_assert_uint_eq(seen, 3 * 7);
}
END_TEST

START_TEST(lists_that_no_model_can_have_are_refused)
{
    ck_refused("[[0]]", "expected an object, found an array");
    ck_refused("7", "expected an object, found a number");
    ck_refused("{\"3\": [0]}", "'3' is no layer; they are 0 to 2");
    ck_refused("{\"-1\": [0]}", "'-1' is no layer");
    ck_refused("{\"00\": [0]}", "'00' is no layer");
    ck_refused("{\" 1\": [0]}", "' 1' is no layer");
    ck_refused("{\"1x\": [0]}", "'1x' is no layer");
    ck_refused("{\"\": [0]}", "'' is no layer");
    ck_refused("{\"4294967296\": [0]}", "is no layer");
    ck_refused("{\"99999999999999999999999\": [0]}", "is no layer");
    ck_refused("{\"1\": 2}", "layer 1: expected an array, found a number");
    ck_refused("{\"1\": [4]}", "layer 1: expected numbers from 0 to 3");
    ck_refused("{\"1\": [-1]}", "layer 1: expected numbers from 0 to 3");
    ck_refused("{\"1\": [0.5]}", "layer 1: expected numbers from 0 to 3");
    ck_refused("{\"1\": [1e300]}", "layer 1: expected numbers from 0 to 3");
    ck_refused("{\"1\": [\"0\"]}", "layer 1: expected numbers from 0 to 3");
    ck_refused("{\"1\": [2, 2]}", "layer 1: head 2 is named twice");
    ck_refused("{\"1\": [3, 1, 0, 2]}", "layer 1 has no head left");
}
END_TEST

START_TEST(families_whose_layers_cannot_lack_heads_refuse_the_list)
{
    static const char *const others[] = {"albert", "mpnet", "longformer", "beit", "dinov2"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        ck_assert_int_eq(read_pruned(others[i], "{\"1\": [0]}"), ERR_UNSUPPORTED);
        ck_assert_msg(strstr(err.text, "$.pruned_heads is not supported") != NULL, "%s: %s",
                      others[i], err.text);
    }
}
END_TEST

SUITE("pruned_heads", a_layer_has_the_heads_that_are_not_named,
      pruned_heads_without_names_prune_nothing,
      tensors_have_the_rows_and_columns_of_the_heads_that_are_left,
      lists_that_no_model_can_have_are_refused,
      families_whose_layers_cannot_lack_heads_refuse_the_list)
