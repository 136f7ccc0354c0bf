/* A library that multiplies wrongly is found when a model is opened, in every shape that the model
 * multiplies in. The sgemm below stands in place of OpenBLAS'. */
#include "engine/base/openblas.h"
#include "engine/engine.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

static int wrong_out, wrong_in; /* the shape whose products are wrong */

static void multiply(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE transpose_x, CBLAS_TRANSPOSE transpose_w,
                     blasint rows, blasint out, blasint in, float alpha, const float *x,
                     blasint x_stride, const float *w, blasint w_stride, float beta, float *y,
                     blasint y_stride)
{
    ck_assert(layout == CblasRowMajor && transpose_x == CblasNoTrans && transpose_w == CblasTrans);
    ck_assert(alpha == 1 && beta == 0);
    for (blasint r = 0; r < rows; r++)
        for (blasint c = 0; c < out; c++) {
            double sum = out == wrong_out && in == wrong_in ? 0.5 : 0;
            for (blasint k = 0; k < in; k++)
                sum += (double)x[r * x_stride + k] * (double)w[c * w_stride + k];
            y[r * y_stride + c] = (float)sum;
        }
}

enum err_code openblas_open(struct err *err)
{
    return err->code;
}

const struct openblas *openblas_functions(void)
{
    static const struct openblas functions = {.sgemm = multiply};
    return &functions;
}

static const struct engine_options openblas = {.linear_backend = "openblas"};

static void expect_refusal(const char *dir, int out, int in)
{
    struct engine_model *model;
    struct err err = {0};
    char text[160];
    wrong_out = out;
    wrong_in = in;
    snprintf(text, sizeof text,
             "the linear backend 'openblas' computes a wrong %d x %d product on this CPU; choose "
             "another one",
             out, in);
    ck_assert_int_eq(engine_open(&model, dir, &openblas, &err), ERR_INTERNAL);
    ck_assert_ptr_null(model);
    ck_assert_str_eq(err.text, text);
}

static void expect_success(const char *dir)
{
    struct engine_model *model;
    struct err err = {0};
    wrong_out = wrong_in = 0;
    ck_assert_msg(engine_open(&model, dir, &openblas, &err) == ERR_OK, "%s", err.text);
    engine_close(model);
}

START_TEST(each_shape_of_a_text_model_is_tested)
{
    static const char config[] =
        "{\"model_type\": \"bert\", \"hidden_size\": 16, \"num_hidden_layers\": 1, "
        "\"num_attention_heads\": 2, \"intermediate_size\": 24, \"vocab_size\": 40, "
        "\"max_position_embeddings\": 32, \"num_labels\": 3}";
    static const int shapes[][2] = {{48, 16}, {16, 16}, {24, 16}, {16, 24}, {3, 16}};
    struct checkpoint_writer writer;
    checkpoint_writer_open(&writer);
    checkpoint_writer_file(&writer, "config.json", config);
    checkpoint_writer_bert(&writer, 16, 1, 24, 40, 32, 3);
    checkpoint_writer_finish(&writer);
    expect_success(writer.dir);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        expect_refusal(writer.dir, shapes[i][0], shapes[i][1]);
    checkpoint_writer_close(&writer);
}
END_TEST

START_TEST(each_shape_of_an_image_model_is_tested)
{
    static const char dir[] = "tests/data/golden/vit-0";
    static const int shapes[][2] = {{144, 48}, {48, 48}, {96, 48}, {48, 96}, {48, 768}, {4, 48}};
    expect_success(dir);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        expect_refusal(dir, shapes[i][0], shapes[i][1]);
}
END_TEST

SUITE("products", each_shape_of_a_text_model_is_tested, each_shape_of_an_image_model_is_tested)
