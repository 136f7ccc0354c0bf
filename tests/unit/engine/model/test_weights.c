/* Small BERT checkpoints through weights_open with the oracle's linear layers, whose products with
 * unit vectors give the weights back exactly, however a backend lays them out. */
#include "engine/base/half.h"
#include "engine/model/weights.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LAYERS = 2, VOCAB = 40, POSITIONS = 32, LABELS = 3 };

#define WEIGHTS "model.safetensors"

static struct checkpoint_writer writer;
static struct weights weights;
static struct spec spec;
static struct arena arena;
static struct err err;

static void write_bert(size_t hidden, size_t intermediate)
{
    char config[512];
    snprintf(config, sizeof config,
             "{\"model_type\": \"bert\", \"hidden_size\": %zu, \"num_hidden_layers\": %d, "
             "\"num_attention_heads\": 2, \"intermediate_size\": %zu, \"vocab_size\": %d, "
             "\"max_position_embeddings\": %d, \"num_labels\": %d}",
             hidden, LAYERS, intermediate, VOCAB, POSITIONS, LABELS);
    checkpoint_writer_open(&writer);
    checkpoint_writer_file(&writer, "config.json", config);
    checkpoint_writer_bert(&writer, hidden, LAYERS, intermediate, VOCAB, POSITIONS, LABELS);
}

/* The numbers of a tensor inside writer.data, found through the header as it was written. */
static float *written(const char *name)
{
    char key[160];
    size_t start;
    snprintf(key, sizeof key, "\"%s\":{", name);
    const char *entry = strstr(writer.header, key);
    ck_assert_msg(entry != NULL, "%s", name);
    ck_assert_int_eq(sscanf(strstr(entry, "data_offsets"), "data_offsets\":[%zu", &start), 1);
    return writer.data + start / sizeof(float);
}

static void open_weights(struct checkpoint **checkpoint)
{
    err = (struct err){0};
    arena_init(&arena);
    spec_read(&spec, writer.dir, &arena, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    checkpoint_open(checkpoint, writer.dir, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
}

static enum err_code load(unsigned threads)
{
    struct checkpoint *checkpoint;
    open_weights(&checkpoint);
    enum err_code code = weights_open(&weights, &spec, checkpoint, &linear_reference,
                                      &linear_reference, threads, &err);
    ck_assert_int_eq(code, err.code);
    checkpoint_close(checkpoint);
    return err.code;
}

static void unload(void)
{
    weights_close(&weights, &spec);
    arena_deinit(&arena);
}

/* Rows [first, first + rows) of the linear are the tensors base.weight and base.bias. */
static void check_rows(const struct linear *linear, size_t first, size_t rows, const char *base)
{
    char name[128];
    struct thread_pool *pool;
    ck_assert_int_eq(thread_pool_open(&pool, 1, &err), ERR_OK);
    float *x = numbers_new(linear->in * linear->in, 0, 0);
    float *y = numbers_new(linear->in * linear->out, 0, 0);
    for (size_t i = 0; i < linear->in; i++)
        x[i * linear->in + i] = 1;
    struct linear_io io = {
        .x = operand_f32(x, linear->in), .rows = linear->in, .y = y, .y_stride = linear->out};
    linear_run(linear, &kernels_reference, pool, &io);
    snprintf(name, sizeof name, "%s.weight", base);
    const float *weight = written(name);
    snprintf(name, sizeof name, "%s.bias", base);
    const float *bias = written(name);
    for (size_t r = 0; r < rows; r++)
        for (size_t k = 0; k < linear->in; k++)
            ck_assert_msg(y[k * linear->out + first + r] == weight[r * linear->in + k] + bias[r],
                          "%s: row %zu column %zu", base, r, k);
    free(x), free(y);
    thread_pool_close(pool);
}

static void check_layer(const struct layer *layer, unsigned number, size_t hidden)
{
    static const char *const qkv[] = {"query", "key", "value"};
    const struct {
        const struct linear *linear;
        const char *name;
    } rest[] = {{&layer->attention_out, "attention.output.dense"},
                {&layer->mlp_in, "intermediate.dense"},
                {&layer->mlp_out, "output.dense"}};
    char base[128];
    for (size_t i = 0; i < 3; i++) {
        snprintf(base, sizeof base, "bert.encoder.layer.%u.attention.self.%s", number, qkv[i]);
        check_rows(&layer->qkv, i * hidden, hidden, base);
        snprintf(base, sizeof base, "bert.encoder.layer.%u.%s", number, rest[i].name);
        check_rows(rest[i].linear, 0, rest[i].linear->out, base);
    }
}

static void check_table(const float *table, const char *name, size_t count)
{
    ck_assert_msg(memcmp(table, written(name), count * sizeof *table) == 0, "%s", name);
}

/* 16: one group of rows holds query and key; 48, 80: groups straddle; 96, 128: they do not. The
 * wide one has several chunks in a matrix. */
START_TEST(weights_are_those_of_the_file_whatever_the_hidden_size)
{
    static const size_t sizes[][2] = {{2, 6}, {16, 24}, {48, 100}, {80, 33}, {96, 64}, {128, 1100}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t hidden = sizes[i][0];
        write_bert(hidden, sizes[i][1]);
        checkpoint_writer_finish(&writer);
        ck_assert_msg(load(1 + (unsigned)i % 3) == ERR_OK, "%s", err.text);
        check_table(weights.word.f32, "bert.embeddings.word_embeddings.weight", VOCAB * hidden);
        check_table(weights.embedding_norm.beta, "bert.embeddings.LayerNorm.bias", hidden);
        for (unsigned l = 0; l < LAYERS; l++)
            check_layer(&weights.layers[l], l, hidden);
        check_rows(&weights.classifier, 0, LABELS, "classifier");
        unload();
        checkpoint_writer_close(&writer);
    }
}
END_TEST

/* Each dtype of 16 bits is kept as it is, and read as the same numbers. */
START_TEST(weights_keep_the_halves_of_the_words)
{
    enum { HIDDEN = 48, COUNT = VOCAB * HIDDEN };
    static const char name[] = "bert.embeddings.word_embeddings.weight";
    static const char *const dtypes[] = {"F16", "BF16"};
    float expected[COUNT], read[COUNT];
    for (size_t i = 0; i < 2; i++) {
        const char *dtype = dtypes[i];
        write_bert(HIDDEN, 64);
        writer.header_len = writer.count = 0;
        writer.halved = name, writer.halved_dtype = dtype;
        checkpoint_writer_bert(&writer, HIDDEN, LAYERS, 64, VOCAB, POSITIONS, LABELS);
        checkpoint_writer_finish(&writer);
        ck_assert_msg(load(1 + (unsigned)i) == ERR_OK, "%s", err.text);
        const uint16_t *halves = (const void *)written(name);
        ck_assert_ptr_null(weights.word.f32);
        ck_assert_mem_eq(i == 0 ? weights.word.f16 : weights.word.bf16, halves, 2 * COUNT);
        (i == 0 ? half_f16_to_f32 : half_bf16_to_f32)(expected, halves, COUNT);
        word_table_read(&weights.word, HIDDEN, COUNT - HIDDEN, read);
        ck_assert_mem_eq(read, expected + HIDDEN, (COUNT - HIDDEN) * sizeof *read);
        unload();
        checkpoint_writer_close(&writer);
    }
}
END_TEST

START_TEST(weights_names_a_number_of_the_words_that_is_not_finite)
{
    static const char name[] = "bert.embeddings.word_embeddings.weight";
    static const uint16_t bad[] = {0x7C00, 0xFF80};
    for (size_t i = 0; i < 2; i++) {
        write_bert(48, 64);
        writer.header_len = writer.count = 0;
        writer.halved = name, writer.halved_dtype = i == 0 ? "F16" : "BF16";
        checkpoint_writer_bert(&writer, 48, LAYERS, 64, VOCAB, POSITIONS, LABELS);
        ((uint16_t *)(void *)written(name))[77] = bad[i];
        checkpoint_writer_finish(&writer);
        ck_assert_int_eq(load(2), ERR_UNSUPPORTED);
        ck_assert_msg(strstr(err.text, name) != NULL && strstr(err.text, "number 77 is not finite"),
                      "%s", err.text);
        arena_deinit(&arena);
        checkpoint_writer_close(&writer);
    }
}
END_TEST

START_TEST(weights_names_a_number_that_is_not_finite_in_the_last_tensor)
{
    write_bert(48, 64);
    written("classifier.bias")[LABELS - 1] = INFINITY;
    checkpoint_writer_finish(&writer);
    for (unsigned threads = 1; threads <= 4; threads++) {
        ck_assert_int_eq(load(threads), ERR_UNSUPPORTED);
        ck_assert_str_eq(err.text, WEIGHTS ": tensor 'classifier.bias': number 2 is not finite");
        arena_deinit(&arena);
    }
    checkpoint_writer_close(&writer);
}
END_TEST

/* The matrices have 48 rows each, so the second group of the stack is the end of the query and the
 * start of the key. */
START_TEST(weights_names_the_tensor_and_index_of_a_bad_number_in_a_group_of_two_tensors)
{
    write_bert(48, 64);
    written("bert.encoder.layer.1.attention.self.key.weight")[48 + 7] = NAN;
    checkpoint_writer_finish(&writer);
    ck_assert_int_eq(load(2), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, WEIGHTS
                     ": tensor 'bert.encoder.layer.1.attention.self.key.weight': number 55 is not "
                     "finite");
    arena_deinit(&arena);
    checkpoint_writer_close(&writer);
}
END_TEST

START_TEST(weights_tells_the_first_error_of_the_file_with_any_number_of_threads)
{
    write_bert(64, 1200);
    written("bert.encoder.layer.0.output.dense.weight")[64 * 1200 - 1] = NAN;
    written("bert.encoder.layer.0.output.dense.bias")[0] = NAN;
    written("bert.encoder.layer.1.attention.self.query.weight")[0] = NAN;
    written("classifier.bias")[0] = NAN;
    checkpoint_writer_finish(&writer);
    for (unsigned round = 0; round < 40; round++) {
        ck_assert_int_eq(load(1 + round % 4), ERR_UNSUPPORTED);
        ck_assert_str_eq(err.text, WEIGHTS
                         ": tensor 'bert.encoder.layer.0.output.dense.weight': number 76799 "
                         "is not finite");
        arena_deinit(&arena);
    }
    checkpoint_writer_close(&writer);
}
END_TEST

START_TEST(weights_settles_every_name_before_a_number_is_read)
{
    write_bert(48, 64);
    written("bert.embeddings.word_embeddings.weight")[0] = NAN;
    char *last = strstr(writer.header, "classifier.bias");
    memcpy(last, "classifier.Bias", strlen("classifier.Bias"));
    checkpoint_writer_finish(&writer);
    ck_assert_int_eq(load(2), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "tensor 'classifier.bias' is missing");
    arena_deinit(&arena);
    checkpoint_writer_close(&writer);
}
END_TEST

START_TEST(weights_reports_a_file_that_becomes_shorter_while_it_is_read)
{
    char path[128];
    struct checkpoint *checkpoint;
    write_bert(64, 64);
    checkpoint_writer_finish(&writer);
    open_weights(&checkpoint);
    snprintf(path, sizeof path, "%s/" WEIGHTS, writer.dir);
    ck_assert_int_eq(truncate(path, 60000), 0);
    for (unsigned threads = 1; threads <= 3; threads++) {
        err = (struct err){0};
        weights_open(&weights, &spec, checkpoint, &linear_reference, &linear_reference, threads,
                     &err);
        ck_assert_int_eq(err.code, ERR_IO);
        ck_assert_msg(strstr(err.text, "became shorter while it was read") != NULL, "%s", err.text);
    }
    checkpoint_close(checkpoint);
    arena_deinit(&arena);
    checkpoint_writer_close(&writer);
}
END_TEST

START_TEST(weights_names_both_shapes_of_a_tensor_of_four_dimensions)
{
    static const char dir[] = "tests/data/golden/vit-0";
    struct checkpoint *checkpoint;
    err = (struct err){0};
    arena_init(&arena);
    ck_assert_int_eq(spec_read(&spec, dir, &arena, &err), ERR_OK);
    ck_assert_int_eq(checkpoint_open(&checkpoint, dir, &err), ERR_OK);
    spec.patch = extent_square(8); /* of an image of half the size: as many positions */
    ck_assert_int_eq(
        weights_open(&weights, &spec, checkpoint, &linear_reference, &linear_reference, 1, &err),
        ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "tensor 'vit.embeddings.patch_embeddings.projection.weight' has "
                               "shape [48, 3, 16, 16]; config.json asks for [48, 3, 8, 8]");
    ck_assert_ptr_null(weights.layers);
    checkpoint_close(checkpoint);
    arena_deinit(&arena);
}
END_TEST

START_TEST(weights_counts_its_bytes_and_its_numbers)
{
    enum { HIDDEN = 48, INNER = 64 };
    size_t layer = 4 * (HIDDEN * HIDDEN + HIDDEN) + 2 * HIDDEN * INNER + INNER + 5 * HIDDEN;
    size_t tables = (VOCAB + POSITIONS + 2) * HIDDEN, norm = 2 * HIDDEN;
    size_t head = HIDDEN * HIDDEN + HIDDEN + LABELS * HIDDEN + LABELS;
    write_bert(HIDDEN, INNER);
    checkpoint_writer_finish(&writer);
    ck_assert_int_eq(load(1), ERR_OK);
    ck_assert_uint_eq(weights.parameters, LAYERS * layer + tables + norm + head);
    size_t matrices =
        LAYERS * (4 * HIDDEN * HIDDEN + 2 * HIDDEN * INNER) + HIDDEN * HIDDEN + LABELS * HIDDEN;
    ck_assert_uint_eq(weights_bytes(&weights, &spec), weights.arena.bytes + 4 * matrices);
    ck_assert_uint_eq(weights.unbound_count, 0);
    unload();
    ck_assert_uint_eq(weights.parameters, 0);
    checkpoint_writer_close(&writer);
}
END_TEST

SUITE("weights", weights_names_both_shapes_of_a_tensor_of_four_dimensions,
      weights_counts_its_bytes_and_its_numbers,
      weights_are_those_of_the_file_whatever_the_hidden_size, weights_keep_the_halves_of_the_words,
      weights_names_a_number_of_the_words_that_is_not_finite,
      weights_names_a_number_that_is_not_finite_in_the_last_tensor,
      weights_names_the_tensor_and_index_of_a_bad_number_in_a_group_of_two_tensors,
      weights_tells_the_first_error_of_the_file_with_any_number_of_threads,
      weights_settles_every_name_before_a_number_is_read,
      weights_reports_a_file_that_becomes_shorter_while_it_is_read)
