/* The network against others: the engine's logits on the committed checkpoints, and PyTorch's
 * logits and gradients of a masked language model (tests/data/train/make.py). */
#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "engine/engine.h"
#include "learn/train/network/network.h"
#include "tests/support/numbers.h"
#include "tests/support/run_logits.h"
#include "tests/support/sources.h"
#include "tests/support/step.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 8, LABELS_MAX = 12 };

/* ---- forward: the engine's logits ---- */

struct golden {
    struct engine_model *model;
    struct engine_session *session;
    struct spec spec;
    struct parameters parameters;
    struct network *network;
    struct arena arena;
    struct engine_input inputs[ROWS_MAX];
    const struct engine_input *pointers[ROWS_MAX];
    unsigned rows;
};

static void must(const struct err *err)
{
    ck_assert_msg(err->code == ERR_OK, "%s", err->text);
}

static void prepare_texts(struct golden *golden)
{
    static const char *const texts[] = {
        "supply current above limit on bin 7", "x",
        "scan chain 3 failed at vector 1024 and again at vector 2048, retest passed",
        "memory bist: repairable", "contact resistance 12.7 ohm (limit 5.0), touchdown 3 of 3"};
    struct err err = {0};
    for (golden->rows = 0; golden->rows < 5; golden->rows++)
        engine_prepare(golden->model, text_source(texts[golden->rows]), NULL, &golden->arena,
                       &golden->inputs[golden->rows], &err);
    must(&err);
}

static void prepare_images(struct golden *golden)
{
    size_t numbers = 3 * extent_area(golden->spec.image_size);
    for (golden->rows = 0; golden->rows < 3; golden->rows++) {
        float *patches = arena_alloc(&golden->arena, numbers * sizeof *patches);
        numbers_fill(patches, numbers, 1.5f, golden->rows + 1);
        golden->inputs[golden->rows] = (struct engine_input){
            .kind = ENGINE_IMAGE, .tokens = spec_image_tokens(&golden->spec), .patches = patches};
    }
}

static void open_network(struct golden *golden, const char *dir, enum family_head head,
                         unsigned threads)
{
    struct err err = {0};
    struct checkpoint *checkpoint;
    struct parameters_loaded loaded;
    struct network_options options = {
        .threads = threads, .tokens_max = 1100, .hidden_dropout = 0.5f};
    spec_read(&golden->spec, dir, &golden->arena, &err);
    must(&err);
    parameters_open(&golden->parameters, &golden->spec, head, &err);
    checkpoint_open(&checkpoint, dir, &err);
    must(&err);
    parameters_load(&golden->parameters, checkpoint, &loaded, &err);
    must(&err);
    ck_assert_uint_eq(loaded.missing, 0);
    checkpoint_close(checkpoint);
    network_open(&golden->network, &golden->parameters, &options, &err);
    must(&err);
    network_repack(golden->network, golden->parameters.values);
}

static void golden_open(struct golden *golden, const char *dir, unsigned threads)
{
    struct err err = {0};
    *golden = (struct golden){0};
    arena_init(&golden->arena);
    engine_open(&golden->model, dir, &(struct engine_options){0}, &err);
    must(&err);
    engine_session_open(&golden->session, golden->model, 1100, 1, &err);
    must(&err);
    open_network(golden, dir, HEAD_CLASSIFIER, threads);
    if (golden->spec.family->kind == ENGINE_TEXT)
        prepare_texts(golden);
    else
        prepare_images(golden);
    for (unsigned r = 0; r < golden->rows; r++)
        golden->pointers[r] = &golden->inputs[r];
}

static void golden_close(struct golden *golden)
{
    network_close(golden->network);
    parameters_close(&golden->parameters);
    engine_session_close(golden->session);
    engine_close(golden->model);
    arena_deinit(&golden->arena);
}

START_TEST(network_logits_are_the_engines)
{
    static const char *const names[] = {"bert-3", "bert-4", "distilbert-0", "vit-0",
                                        "vit-1",  "deit-0", "deit-1",       "swin-0"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char dir[64];
        float logits[ROWS_MAX][LABELS_MAX], *rows[ROWS_MAX];
        struct golden golden;
        snprintf(dir, sizeof dir, "tests/data/golden/%s", names[i]);
        golden_open(&golden, dir, 1 + (unsigned)i % 3);
        for (unsigned r = 0; r < golden.rows; r++)
            rows[r] = logits[r];
        run_logits(golden.session, golden.pointers, golden.rows, rows);
        network_forward(golden.network,
                        &(struct network_batch){.inputs = golden.pointers, .rows = golden.rows});
        for (unsigned r = 0; r < golden.rows; r++) {
            const float *got = network_logits(golden.network) + r * golden.spec.label_count;
            double error = numbers_relative_difference(got, logits[r], golden.spec.label_count);
            ck_assert_msg(error < 1e-5, "%s, row %u: %g", dir, r, error);
        }
        golden_close(&golden);
    }
}
END_TEST

/* ---- PyTorch's gradients ---- */

enum { LABELLED = 5, VOCAB = 40 };

static void read_expected(const struct safetensors *file, const char *name, float *out,
                          size_t count)
{
    struct err err = {0};
    const struct tensor_info *info = safetensors_find(file, name);
    ck_assert_msg(info != NULL && info->count == count, "%s", name);
    safetensors_read_f32(file, info, 0, count, out, &err);
    must(&err);
}

/* dlogits = (softmax(logits) - onehot(label)) / n */
static void cross_entropy(float *dlogits, const float *logits, const float *labels)
{
    for (size_t i = 0; i < LABELLED; i++) {
        double sum = 0;
        for (size_t w = 0; w < VOCAB; w++)
            sum += exp(logits[i * VOCAB + w]);
        for (size_t w = 0; w < VOCAB; w++)
            dlogits[i * VOCAB + w] =
                (float)((exp(logits[i * VOCAB + w]) / sum - (w == (size_t)labels[i])) / LABELLED);
    }
}

static void check_gradient(const struct safetensors *file, const struct parameter *parameter,
                           const float *gradient)
{
    char name[256];
    float *expected = malloc(parameter->row.count * sizeof *expected);
    ck_assert_ptr_nonnull(expected);
    snprintf(name, sizeof name, "gradient.%s", parameter->row.name);
    read_expected(file, name, expected, parameter->row.count);
    double error = numbers_difference(gradient + parameter->offset, expected, parameter->row.count);
    /* A key's bias has no gradient but noise: up to 8e-9 with AVX-512, 1.5e-8 with AVX2. */
    double size = 4e-3;
    for (size_t i = 0; i < parameter->row.count; i++)
        size = fmax(size, fabs(expected[i]));
    ck_assert_msg(error < 1e-5 * size, "%s: %g of %g", parameter->row.name, error, size);
    free(expected);
}

START_TEST(network_has_the_gradients_that_pytorch_has)
{
    static const unsigned kept[LABELLED] = {1, 4, 7, 8, 13};
    float words[14], labels[LABELLED], logits[LABELLED * VOCAB], dlogits[LABELLED * VOCAB];
    int32_t ids[14];
    struct err err = {0};
    struct safetensors *file;
    struct golden golden = {0};
    arena_init(&golden.arena);
    open_network(&golden, "tests/data/train/mlm", HEAD_MLM, 2);
    safetensors_open(&file, "tests/data/train/mlm/expected.safetensors", &err);
    must(&err);
    read_expected(file, "case.ids", words, 14);
    read_expected(file, "case.labels", labels, LABELLED);
    read_expected(file, "case.logits", logits, LABELLED * VOCAB);
    for (int t = 0; t < 14; t++)
        ids[t] = (int32_t)words[t];
    struct engine_input texts[2] = {{.tokens = 5, .ids = ids}, {.tokens = 9, .ids = ids + 5}};
    const struct engine_input *pointers[] = {&texts[0], &texts[1]};
    network_forward(golden.network,
                    &(struct network_batch){
                        .inputs = pointers, .rows = 2, .kept = kept, .kept_count = LABELLED});
    ck_assert_double_lt(
        numbers_relative_difference(network_logits(golden.network), logits, LABELLED * VOCAB),
        1e-5);
    cross_entropy(dlogits, logits, labels);
    network_backward(golden.network, dlogits, 1);
    for (unsigned p = 0; p < golden.parameters.count; p++)
        check_gradient(file, &golden.parameters.list[p], network_gradient(golden.network));
    safetensors_close(file);
    golden_close(&golden);
}
END_TEST

/* ---- a step on images ---- */

/* The images of a checkpoint's cases. */
static void prepare_cases(struct golden *golden, const char *dir)
{
    char path[256], *bytes;
    size_t len;
    struct err err = {0};
    struct json_t *cases;
    snprintf(path, sizeof path, "%s/cases.json", dir);
    doc_parse_file(&cases, path, 1 << 24, &err);
    must(&err);
    golden->rows = (unsigned)doc_array_count(cases);
    ck_assert_uint_le(golden->rows, ROWS_MAX);
    for (unsigned r = 0; r < golden->rows; r++) {
        const char *image = doc_as_string(doc_member(doc_array_item(cases, r), "image"));
        snprintf(path, sizeof path, "%s/../images/%s", dir, image);
        ck_assert(!file_read(&bytes, &len, path, 1 << 24, &err));
        engine_prepare(golden->model, picture_source(bytes, len, 1 << 25), NULL, &golden->arena,
                       &golden->inputs[r], &err);
        must(&err);
        free(bytes);
        golden->pointers[r] = &golden->inputs[r];
    }
    doc_free(cases);
}

START_TEST(loss_and_gradients_of_a_step_on_images_are_pytorchs)
{
    static const char *const dirs[] = {"tests/data/golden/swin-0", "tests/data/golden/swin-1"};
    for (size_t i = 0; i < 2; i++) {
        struct golden golden;
        struct json_t *expected = step_open(dirs[i]);
        golden_open(&golden, dirs[i], 2);
        prepare_cases(&golden, dirs[i]);
        /* The pass has no dropout. It is not training, but keeps what the way back reads. */
        step_check(dirs[i], golden.network, &golden.parameters,
                   &(struct network_batch){.inputs = golden.pointers, .rows = golden.rows},
                   expected);
        doc_free(expected);
        golden_close(&golden);
    }
}
END_TEST

SUITE("network_golden", network_logits_are_the_engines,
      loss_and_gradients_of_a_step_on_images_are_pytorchs,
      network_has_the_gradients_that_pytorch_has)
