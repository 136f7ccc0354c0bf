/* A model that is opened with dtype auto, on a CPU of any speed: the functions below stand in for
 * engine/tensor/linear/precision_speed.c. */
#include "engine/engine.h"
#include "engine/tensor/linear/precision_speed.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

/* ---- the CPU ---- */

static struct {
    bool has_bf16;
    double gain[PRECISION_COUNT];
} cpu;
static unsigned measured; /* times */
static struct product_shape seen[4];

enum err_code precision_speed_gains(double *gains, const struct linear_backend *const *backends,
                                    unsigned count, const struct product_shape *shapes,
                                    unsigned shape_count, struct err *err)
{
    measured++;
    ck_assert_uint_eq(shape_count, 4);
    memcpy(seen, shapes, sizeof seen);
    for (unsigned i = 0; i < count; i++)
        gains[i] = cpu.gain[backends[i]->precision];
    return err->code;
}

bool precision_speed_bf16_is_native(void)
{
    return cpu.has_bf16;
}

enum err_code precision_speed_judge_bf16(bool is_native, double gain, struct err *err)
{
    return is_native && gain > 1 ? ERR_OK : err_set(err, ERR_UNSUPPORTED, "no bf16 here");
}

enum err_code precision_speed_choose_bf16(const struct linear_backend **out, const char *name,
                                          struct err *err)
{
    *out = linear_backend_find(name, PRECISION_BF16);
    return precision_speed_judge_bf16(cpu.has_bf16, cpu.gain[PRECISION_BF16], err);
}

/* ---- a model of texts, small, with an attnd.json ---- */

static struct checkpoint_writer writer;
static char digest[72];

static void setup(void)
{
    static const char config[] =
        "{\"model_type\": \"bert\", \"hidden_size\": 64, \"num_hidden_layers\": 2, "
        "\"num_attention_heads\": 2, \"intermediate_size\": 128, \"vocab_size\": 40, "
        "\"max_position_embeddings\": 32, \"num_labels\": 3}";
    struct engine_model *model;
    struct err err = {0};
    checkpoint_writer_open(&writer);
    checkpoint_writer_file(&writer, "config.json", config);
    checkpoint_writer_bert(&writer, 64, 2, 128, 40, 32, 3);
    checkpoint_writer_finish(&writer);
    ck_assert_msg(!engine_open(&model, writer.dir, &(struct engine_options){0}, &err) &&
                      !engine_digest(model, NULL, digest, &err),
                  "%s", err.text);
    engine_close(model);
    cpu.has_bf16 = true;
    cpu.gain[PRECISION_F32] = 1;
    cpu.gain[PRECISION_BF16] = 2;
    cpu.gain[PRECISION_INT8] = 3;
    measured = 0;
}

static void teardown(void)
{
    checkpoint_writer_close(&writer);
}

static void write_agreement(const char *dtype, unsigned same_winner, const char *of)
{
    char text[512];
    snprintf(text, sizeof text,
             "{\"agreement\": {\"%s\": {\"inputs\": 1000, \"same_winner\": %u, "
             "\"macro_f1_points\": 0.01, \"digest\": \"%s\"}}}",
             dtype, same_winner, of);
    checkpoint_writer_file(&writer, "attnd.json", text);
}

static struct engine_model *open_with(const struct engine_options *options)
{
    struct engine_model *model;
    struct err err = {0};
    ck_assert_msg(!engine_open(&model, writer.dir, options, &err), "%s", err.text);
    ck_assert_msg(!engine_check(writer.dir, options, &err), "%s", err.text);
    return model;
}

static void expect(const struct engine_options *options, const char *dtype, const char *asked,
                   const char *reason)
{
    struct engine_model *model = open_with(options);
    const struct engine_info *info = engine_describe(model);
    ck_assert_str_eq(info->dtype, dtype);
    ck_assert_str_eq(info->dtype_asked, asked);
    ck_assert_pstr_eq(info->dtype_reason, reason);
    engine_close(model);
}

static const struct engine_options by_auto = {.dtype = "auto"};

START_TEST(auto_takes_int8_whose_agreement_is_of_these_weights)
{
    setup();
    write_agreement("int8", 999, digest);
    expect(&by_auto, "int8", "auto",
           "int8: 3.0 x f32; agreement 99.90 % of 1000 inputs; bf16 2.0 x f32");
    ck_assert_uint_eq(measured, 1);
    teardown();
}
END_TEST

START_TEST(auto_takes_no_int8_that_was_not_measured_with_these_weights)
{
    setup();
    expect(&by_auto, "bf16", "auto",
           "bf16: 2.0 x f32; int8 was not measured on this model (attnd-eval --against f32 "
           "--write-agreement --dtype int8)");
    digest[70] = digest[70] == '0' ? '1' : '0';
    write_agreement("int8", 999, digest);
    expect(&by_auto, "bf16", "auto",
           "bf16: 2.0 x f32; int8 was measured with other weights (attnd-eval --against f32 "
           "--write-agreement --dtype int8)");
    cpu.has_bf16 = false;
    expect(&by_auto, "f32", "auto",
           "f32: int8 was measured with other weights (attnd-eval --against f32 "
           "--write-agreement --dtype int8); bf16 is not fast on this CPU with this linear "
           "backend");
    teardown();
}
END_TEST

START_TEST(auto_takes_no_bf16_that_was_measured_to_differ)
{
    setup();
    write_agreement("bf16", 990, digest);
    expect(&by_auto, "f32", "auto",
           "f32: int8 was not measured on this model (attnd-eval --against f32 "
           "--write-agreement --dtype int8); bf16 agreement 99.00 % of 1000 inputs, less than "
           "99.5 %");
    ck_assert_uint_eq(measured, 0); /* there is nothing to choose from */
    teardown();
}
END_TEST

START_TEST(auto_measures_the_products_of_a_layer)
{
    static const struct product_shape shapes[] = {
        {32, 64, 192}, {32, 64, 64}, {32, 64, 128}, {32, 128, 64}};
    static const char wafer[] = "models/wafer-vit";
    struct engine_model *model;
    struct err err = {0};
    setup();
    expect(&by_auto, "bf16", "auto",
           "bf16: 2.0 x f32; int8 was not measured on this model (attnd-eval --against f32 "
           "--write-agreement --dtype int8)");
    ck_assert_mem_eq(seen, shapes, sizeof seen);
    ck_assert_msg(!engine_open(&model, wafer, &by_auto, &err), "%s", err.text);
    const struct engine_info *info = engine_describe(model);
    ck_assert_uint_eq(seen[0].rows, info->tokens_max - 1); /* an image's patches */
    ck_assert_uint_eq(seen[0].out, 3 * (size_t)info->hidden_size);
    ck_assert_uint_eq(seen[3].in, info->intermediate_size);
    engine_close(model);
    teardown();
}
END_TEST

START_TEST(auto_takes_what_attnd_json_pins)
{
    setup();
    checkpoint_writer_file(&writer, "attnd.json", "{\"dtype\": \"int8\"}");
    expect(&by_auto, "int8", "auto", "int8: attnd.json pins it");
    checkpoint_writer_file(&writer, "attnd.json", "{\"dtype\": \"bf16\"}");
    expect(&by_auto, "bf16", "auto", "bf16: attnd.json pins it");
    checkpoint_writer_file(&writer, "attnd.json", "{\"dtype\": \"f32\"}");
    expect(&by_auto, "f32", "auto", "f32: attnd.json pins it");
    ck_assert_uint_eq(measured, 0);
    teardown();
}
END_TEST

START_TEST(a_pin_that_this_cpu_cannot_serve_well_is_refused)
{
    struct engine_model *model;
    struct err err = {0};
    setup();
    cpu.has_bf16 = false;
    checkpoint_writer_file(&writer, "attnd.json", "{\"dtype\": \"bf16\"}");
    ck_assert_int_eq(engine_open(&model, writer.dir, &by_auto, &err), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "attnd.json pins dtype bf16: no bf16 here");
    err = (struct err){0};
    ck_assert_int_eq(engine_check(writer.dir, &by_auto, &err), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "attnd.json pins dtype bf16: no bf16 here");
    checkpoint_writer_file(&writer, "attnd.json", "{\"dtype\": \"int8\"}");
    err = (struct err){0};
    ck_assert_int_eq(engine_open(&model, writer.dir,
                                 &(struct engine_options){"openblas", .dtype = "auto"}, &err),
                     ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "attnd.json pins dtype int8: the linear backend 'openblas' cannot "
                               "multiply in int8");
    teardown();
}
END_TEST

START_TEST(a_dtype_by_name_wins_over_the_pin)
{
    setup();
    checkpoint_writer_file(&writer, "attnd.json", "{\"dtype\": \"bf16\"}");
    expect(&(struct engine_options){.dtype = "int8"}, "int8", "int8", NULL);
    expect(&(struct engine_options){0}, "f32", "f32", NULL);
    teardown();
}
END_TEST

/* The second copy meets other speeds than those measured when the first one was opened. */
START_TEST(a_copy_computes_as_the_first_does_and_is_not_measured)
{
    setup();
    for (int i = 0; i < 2; i++) {
        struct engine_options options = {.dtype = i == 0 ? "auto" : "bf16"};
        cpu.gain[PRECISION_BF16] = 2;
        struct engine_model *first = open_with(&options);
        options.copy_of = first;
        cpu.gain[PRECISION_BF16] = 0.5;
        measured = 0;
        expect(&options, "bf16", options.dtype, engine_describe(first)->dtype_reason);
        ck_assert_uint_eq(measured, 0);
        engine_close(first);
    }
    teardown();
}
END_TEST

/* fp32 alone is left where the backend has nothing else, or is the oracle. */
START_TEST(auto_is_fp32_with_a_backend_that_has_nothing_faster)
{
    static const char *const backends[] = {"openblas", "reference"};
    setup();
    write_agreement("int8", 1000, digest);
    for (int i = 0; i < 2; i++)
        expect(&(struct engine_options){backends[i], .dtype = "auto"}, "f32", "auto",
               "f32: int8 is not fast on this CPU with this linear backend; bf16 is not fast on "
               "this CPU with this linear backend");
    ck_assert_uint_eq(measured, 0);
    teardown();
}
END_TEST

/* The dtype of auto is known only when the model is open. */
START_TEST(the_cost_of_auto_is_the_most_of_all_or_that_of_the_pin)
{
    static const char *const dtypes[] = {"f32", "bf16", "int8"};
    struct engine_cost of[3], cost, pinned;
    struct err err = {0};
    setup();
    size_t model_bytes = 0, session_bytes = 0;
    for (int i = 0; i < 3; i++) {
        const struct engine_options options = {.dtype = dtypes[i]};
        ck_assert(!engine_measure(&of[i], writer.dir, &options, 64, 1, &err));
        model_bytes = of[i].model_bytes > model_bytes ? of[i].model_bytes : model_bytes;
        session_bytes = of[i].session_bytes > session_bytes ? of[i].session_bytes : session_bytes;
    }
    ck_assert(!engine_measure(&cost, writer.dir, &by_auto, 64, 1, &err));
    ck_assert_uint_eq(cost.model_bytes, model_bytes);
    ck_assert_uint_eq(cost.session_bytes, session_bytes);
    ck_assert_uint_eq(cost.label_count, 3);
    checkpoint_writer_file(&writer, "attnd.json", "{\"dtype\": \"int8\"}");
    ck_assert(!engine_measure(&cost, writer.dir, &by_auto, 64, 1, &err));
    ck_assert(!engine_measure(&pinned, writer.dir, &(struct engine_options){.dtype = "int8"}, 64, 1,
                              &err));
    ck_assert_uint_eq(cost.session_bytes, pinned.session_bytes);
    ck_assert_uint_lt(cost.model_bytes, model_bytes);
    teardown();
}
END_TEST

SUITE("dtype_auto", auto_takes_int8_whose_agreement_is_of_these_weights,
      auto_takes_no_int8_that_was_not_measured_with_these_weights,
      auto_takes_no_bf16_that_was_measured_to_differ, auto_measures_the_products_of_a_layer,
      auto_takes_what_attnd_json_pins, a_pin_that_this_cpu_cannot_serve_well_is_refused,
      a_dtype_by_name_wins_over_the_pin, a_copy_computes_as_the_first_does_and_is_not_measured,
      auto_is_fp32_with_a_backend_that_has_nothing_faster,
      the_cost_of_auto_is_the_most_of_all_or_that_of_the_pin)
