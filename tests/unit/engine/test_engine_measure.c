/* Memory that the engine says it will take, compared with the memory that it took. */
#include "engine/base/thread_pool.h"
#include "engine/engine.h"
#include "engine/format/checkpoint.h"
#include "engine/model/workspace.h"
#include "engine/tensor/linear/linear.h"
#include "engine/text/tokenizer.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"

#include <string.h>

static const char *const dirs[] = {"models/wafer-vit",         "models/kernel-bert",
                                   "models/testlog-bert",      "tests/data/golden/dinov2-1",
                                   "tests/data/golden/beit-0", "tests/data/golden/swin-0",
                                   "tests/data/golden/clip-0", "tests/data/embedding/st-cls-0"};
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
        const struct engine_info *info = engine_describe(model);
        check_bound("weights", dir, cost.model_bytes, info->weight_bytes + info->head_bytes);
        ck_assert_uint_eq(cost.label_count, info->label_count);
        engine_close(model);
    }
}
END_TEST

static void check_workspace(const char *dir, enum precision precision, unsigned threads)
{
    struct spec spec;
    struct arena arena;
    struct workspace workspace;
    struct thread_pool *pool;
    struct err err = {0};
    arena_init(&arena);
    ck_assert_msg(spec_read(&spec, dir, &arena, &err) == ERR_OK, "%s", err.text);
    const struct linear_backend *encoder = linear_backend_find("auto", precision);
    ck_assert_int_eq(thread_pool_open(&pool, threads, &err), ERR_OK);
    ck_assert_msg(workspace_open(&workspace, &spec, encoder, 512, pool, kernels_best(), &err) ==
                      ERR_OK,
                  "%s", err.text);
    size_t bytes = 0; /* of every stage */
    for (const struct workspace *at = &workspace; at != NULL; at = at->stage.next)
        bytes += at->arena.bytes;
    check_bound("workspace", dir, workspace_bytes(&spec, encoder, 512, threads), bytes);
    workspace_close(&workspace);
    thread_pool_close(pool);
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

/* Disentangled attention has matrices by distance beside attention's own. */
START_TEST(workspace_bytes_bound_that_of_disentangled_attention)
{
    static const char dir[] = "tests/data/encoders/deberta-v2-0";
    for (unsigned threads = 1; threads <= 4; threads += 3) {
        check_workspace(dir, PRECISION_F32, threads);
        check_workspace(dir, PRECISION_INT8, threads);
    }
}
END_TEST

START_TEST(engine_measure_names_the_file_that_cannot_be_opened)
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
        engine_prepare(model, text_source(texts[i]), NULL, &arena, &input, &err);
        struct engine_need need = engine_need(model, text_source(texts[i]));
        ck_assert_uint_le(arena.bytes, need.kept);
        ck_assert_uint_eq(need.passing, 0);
        arena_deinit(&arena);
    }
    engine_close(model);
}
END_TEST

/* ---- the bound itself, number by number ---- */

enum { HIDDEN = 48, LAYERS = 2, INNER = 72, WORDS = 40, POSITIONS = 32, LABELS = 3 };
static const char config[] =
    "{\"model_type\": \"bert\", \"hidden_size\": 48, \"num_hidden_layers\": 2, "
    "\"num_attention_heads\": 4, \"intermediate_size\": 72, \"vocab_size\": 40, "
    "\"max_position_embeddings\": 32, \"num_labels\": 3}";
static const char attnd[] = "{\"version\": \"7\"}";

static void write_bert(struct checkpoint_writer *writer)
{
    checkpoint_writer_open(writer);
    checkpoint_writer_file(writer, "config.json", config);
    checkpoint_writer_bert(writer, HIDDEN, LAYERS, INNER, WORDS, POSITIONS, LABELS);
    checkpoint_writer_finish(writer);
}

static struct engine_cost measure(const char *dir, const char *dtype, unsigned tokens,
                                  unsigned threads)
{
    struct engine_cost cost = {1, 2, 3, 4};
    struct err err = {0};
    const struct engine_options options = {.dtype = dtype, .linear_backend = "native"};
    ck_assert_msg(!engine_measure(&cost, dir, &options, tokens, threads, &err), "%s", err.text);
    return cost;
}

/* The bytes that spec_read_config and the tokenizer hold. */
static size_t small_parts(const char *dir, struct spec *spec)
{
    struct arena arena;
    struct tokenizer *tokenizer;
    struct err err = {0};
    arena_init(&arena);
    ck_assert(!spec_read_config(spec, dir, &arena, &err));
    ck_assert(!tokenizer_open(&tokenizer, dir, POSITIONS, &err));
    size_t bytes = arena.bytes + tokenizer_bytes(tokenizer);
    tokenizer_close(tokenizer);
    arena_deinit(&arena);
    return bytes;
}

START_TEST(the_bound_is_the_numbers_a_thirty_second_and_a_megabyte)
{
    struct checkpoint_writer writer;
    struct spec spec;
    write_bert(&writer);
    size_t linear = LAYERS * (4 * HIDDEN * HIDDEN + 2 * HIDDEN * INNER);
    size_t small = small_parts(writer.dir, &spec), megabyte = (size_t)1 << 20;
    size_t whole = writer.count * 4, eighth = (writer.count - linear) * 4 + linear;
    size_t half = (writer.count - linear) * 4 + 2 * linear;
    ck_assert_uint_eq(measure(writer.dir, NULL, 1, 1).model_bytes,
                      whole + whole / 32 + megabyte + small);
    ck_assert_uint_eq(measure(writer.dir, "bf16", 1, 1).model_bytes,
                      half + half / 32 + megabyte + small);
    ck_assert_uint_eq(measure(writer.dir, "int8", 1, 1).model_bytes,
                      eighth + eighth / 32 + megabyte + small);
    checkpoint_writer_file(&writer, "attnd.json", attnd);
    ck_assert_uint_eq(measure(writer.dir, NULL, 1, 1).model_bytes,
                      whole + whole / 32 + megabyte + small + sizeof attnd / 2 * 4 + 3 * 64);
    checkpoint_writer_close(&writer);
}
END_TEST

START_TEST(a_session_is_measured_for_the_longer_of_batch_and_model)
{
    struct checkpoint_writer writer;
    struct spec spec;
    write_bert(&writer);
    small_parts(writer.dir, &spec);
    spec.token_pruning.full_layers = 1; /* its attnd.json may say so */
    for (unsigned tokens = POSITIONS - 1; tokens <= POSITIONS + 1; tokens++)
        for (unsigned threads = 1; threads <= 3; threads++) {
            struct engine_cost cost = measure(writer.dir, "int8", tokens, threads);
            unsigned longer = tokens > POSITIONS ? tokens : POSITIONS;
            ck_assert_uint_eq(
                cost.session_bytes,
                workspace_bytes(&spec, &linear_native[PRECISION_INT8], longer, threads));
            ck_assert_uint_eq(cost.label_count, LABELS);
        }
    checkpoint_writer_close(&writer);
}
END_TEST

START_TEST(an_image_model_is_measured_without_a_tokenizer)
{
    static const char dir[] = "tests/data/golden/vit-0";
    struct engine_cost cost = measure(dir, NULL, 1, 1);
    struct spec spec;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    ck_assert(!spec_read_config(&spec, dir, &arena, &err));
    spec.token_pruning.full_layers = 1;
    size_t layer = 4 * (48 * 48 + 48) + 2 * 48 * 96 + 96 + 48 + 4 * 48;
    size_t rest = 48 * 3 * 16 * 16 + 48 + 17 * 48 + 48 + 2 * 48 + 4 * 48 + 4;
    size_t bytes = (2 * layer + rest) * 4;
    ck_assert_uint_eq(cost.model_bytes, bytes + bytes / 32 + (1 << 20) + arena.bytes);
    ck_assert_uint_eq(cost.session_bytes,
                      workspace_bytes(&spec, &linear_native[PRECISION_F32], 17, 1));
    ck_assert_uint_eq(measure(dir, NULL, 18, 1).session_bytes,
                      workspace_bytes(&spec, &linear_native[PRECISION_F32], 18, 1));
    arena_deinit(&arena);
}
END_TEST

/* The errors of engine_measure are those of engine_open, for each file that is missing or
 * broken. */
START_TEST(measure_gives_the_error_that_opening_gives)
{
    static const char *const broken[] = {"config.json", "vocab.txt", "model.safetensors"};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        struct checkpoint_writer writer;
        struct engine_cost cost = {1, 2, 3, 4};
        struct engine_model *model;
        struct err measured = {0}, opened = {0};
        write_bert(&writer);
        checkpoint_writer_file(&writer, broken[i], "{");
        engine_open(&model, writer.dir, &(struct engine_options){0}, &opened);
        ck_assert_int_eq(
            engine_measure(&cost, writer.dir, &(struct engine_options){0}, 1, 1, &measured),
            opened.code);
        ck_assert_int_ne(measured.code, ERR_OK);
        ck_assert_str_eq(measured.text, opened.text);
        ck_assert_uint_eq(cost.model_bytes, 0);
        ck_assert_uint_eq(cost.session_bytes, 0);
        ck_assert_uint_eq(cost.label_count, 0);
        checkpoint_writer_close(&writer);
    }
}
END_TEST

SUITE("engine_measure", the_bound_is_the_numbers_a_thirty_second_and_a_megabyte,
      a_session_is_measured_for_the_longer_of_batch_and_model,
      an_image_model_is_measured_without_a_tokenizer, measure_gives_the_error_that_opening_gives,
      engine_measure_bounds_the_weights, workspace_bytes_bound_a_workspace,
      workspace_bytes_bound_that_of_disentangled_attention,
      engine_measure_names_the_file_that_cannot_be_opened, engine_need_bounds_what_a_text_keeps)
