#include "engine/dtype_choice.h"

#include "engine/engine.h"
#include "engine/tensor/linear/precision_speed.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/run_logits.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- whether an agreement is good enough ---- */

START_TEST(an_agreement_is_trusted_from_its_targets_on)
{
    static const struct {
        struct precision_agreement agreement;
        enum dtype_trust trust;
    } cases[] = {
        {{0, 0, 0, ""}, TRUST_UNMEASURED},
        {{1, 1, 0, ""}, TRUST_FEW},
        {{267, 267, 0, ""}, TRUST_FEW},
        {{268, 268, 0, ""}, TRUST_GOOD},
        {{445, 444, 0, ""}, TRUST_FEW},
        {{446, 445, 0, ""}, TRUST_GOOD},
        {{602, 600, 0, ""}, TRUST_GOOD},
        {{200, 199, 0, ""}, TRUST_FEW},
        {{199, 198, 0, ""}, TRUST_WINNERS},
        {{100000, 99500, 0, ""}, TRUST_GOOD},
        {{100000, 99499, 0, ""}, TRUST_WINNERS},
        {{PRECISION_INPUTS_MAX, PRECISION_INPUTS_MAX, 0, ""}, TRUST_GOOD},
        {{PRECISION_INPUTS_MAX, 0, 0, ""}, TRUST_WINNERS},
        {{25937, 25915, -0.5, ""}, TRUST_GOOD},
        {{25937, 25915, 0.5, ""}, TRUST_GOOD},
        {{25937, 25915, -0.51, ""}, TRUST_F1},
        {{25937, 25915, 0.51, ""}, TRUST_F1},
        {{25937, 25915, NAN, ""}, TRUST_F1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_msg(dtype_choice_judge(&cases[i].agreement) == cases[i].trust, "case %zu", i);
}
END_TEST

/* ---- the decision ---- */

#define BF16(trust_, gain_)                                                                        \
    {                                                                                              \
        .is_served = true, .trust = trust_, .gain = gain_                                          \
    }
#define INT8 BF16
#define NOT_SERVED(trust_, gain_)                                                                  \
    {                                                                                              \
        .is_served = false, .trust = trust_, .gain = gain_                                         \
    }
#define FACTS(bf16, int8)                                                                          \
    {                                                                                              \
        {                                                                                          \
            [PRECISION_BF16] = bf16, [PRECISION_INT8] = int8                                       \
        }                                                                                          \
    }

static const struct precision_record record = {
    .agreement = {
        [PRECISION_BF16] = {731, 731, 0, ""}, [PRECISION_INT8] = {25937, 25915, -0.75, ""}}};

static const struct {
    struct dtype_facts facts;
    enum precision precision;
    const char *reason;
} decisions[] = {
    {FACTS(BF16(TRUST_UNMEASURED, 1.96), INT8(TRUST_GOOD, 2.94)), PRECISION_INT8,
     "int8: 2.9 x f32; agreement 99.92 % of 25937 inputs; bf16 2.0 x f32"},
    {FACTS(BF16(TRUST_UNMEASURED, 2), INT8(TRUST_UNMEASURED, 0)), PRECISION_BF16,
     "bf16: 2.0 x f32; int8 was not measured on this model (attnd-eval --against f32 "
     "--write-agreement --dtype int8)"},
    {FACTS(BF16(TRUST_GOOD, 2), INT8(TRUST_OTHER_WEIGHTS, 9)), PRECISION_BF16,
     "bf16: 2.0 x f32; agreement 100.00 % of 731 inputs; int8 was measured with other weights "
     "(attnd-eval --against f32 --write-agreement --dtype int8)"},
    {FACTS(BF16(TRUST_FEW, 1.1), INT8(TRUST_FEW, 9)), PRECISION_BF16,
     "bf16: 1.1 x f32; int8 agreement 99.92 % of 25937 inputs, too few"},
    {FACTS(BF16(TRUST_OTHER_WEIGHTS, 1.1), INT8(TRUST_WINNERS, 9)), PRECISION_BF16,
     "bf16: 1.1 x f32; int8 agreement 99.92 % of 25937 inputs, less than 99.5 %"},
    {FACTS(BF16(TRUST_WINNERS, 9), INT8(TRUST_F1, 9)), PRECISION_F32,
     "f32: int8 agreement 99.92 % of 25937 inputs, but macro-F1 differs by -0.75 points, more "
     "than 0.5; bf16 agreement 100.00 % of 731 inputs, less than 99.5 %"},
    {FACTS(BF16(TRUST_F1, 9), INT8(TRUST_GOOD, 1.09)), PRECISION_F32, NULL},
    {FACTS(BF16(TRUST_UNMEASURED, 1.09), INT8(TRUST_GOOD, 1.1)), PRECISION_INT8, NULL},
    {FACTS(BF16(TRUST_UNMEASURED, 3), INT8(TRUST_GOOD, 2)), PRECISION_BF16,
     "bf16: 3.0 x f32; int8 2.0 x f32"},
    {FACTS(BF16(TRUST_UNMEASURED, 0.5), INT8(TRUST_GOOD, 1)), PRECISION_F32,
     "f32: int8 1.0 x f32; bf16 0.5 x f32"},
    {FACTS(BF16(TRUST_UNMEASURED, NAN), INT8(TRUST_GOOD, INFINITY)), PRECISION_F32, NULL},
    {FACTS(NOT_SERVED(TRUST_UNMEASURED, 9), NOT_SERVED(TRUST_GOOD, 9)), PRECISION_F32,
     "f32: int8 is not fast on this CPU with this linear backend; bf16 is not fast on this CPU "
     "with this linear backend"},
};

START_TEST(the_fastest_that_is_served_and_trusted_is_taken)
{
    for (size_t i = 0; i < sizeof decisions / sizeof decisions[0]; i++)
        ck_assert_msg(dtype_choice_decide(&decisions[i].facts) == decisions[i].precision,
                      "case %zu", i);
}
END_TEST

START_TEST(the_reason_tells_of_every_precision)
{
    for (size_t i = 0; i < sizeof decisions / sizeof decisions[0]; i++) {
        char text[DTYPE_REASON_BYTES];
        dtype_choice_explain(text, &decisions[i].facts, &record);
        if (decisions[i].reason != NULL)
            ck_assert_str_eq(text, decisions[i].reason);
        ck_assert_uint_lt(strlen(text), DTYPE_REASON_BYTES - 1);
    }
}
END_TEST

/* int8 needs a good agreement of these weights, for any measured gain. */
START_TEST(int8_is_never_taken_without_its_agreement)
{
    static const double gains[] = {0, 1, 1.1, 2, 1e300, INFINITY, NAN};
    for (enum dtype_trust trust = 0; trust < TRUST_COUNT; trust++)
        for (size_t i = 0; i < sizeof gains / sizeof gains[0]; i++) {
            const struct dtype_facts facts = FACTS(BF16(trust, 0), INT8(trust, gains[i]));
            const bool is_taken = dtype_choice_decide(&facts) == PRECISION_INT8;
            ck_assert(!is_taken || trust == TRUST_GOOD);
        }
}
END_TEST

/* ---- on this CPU ---- */

static const char config[] =
    "{\"model_type\": \"bert\", \"hidden_size\": 64, \"num_hidden_layers\": 2, "
    "\"num_attention_heads\": 2, \"intermediate_size\": 128, \"vocab_size\": 40, "
    "\"max_position_embeddings\": 32, \"num_labels\": 3}";

static void run_text(const char *dir, const char *dtype, float logits[3], char chosen[8])
{
    const struct engine_options options = {.dtype = dtype};
    struct engine_model *model;
    struct engine_session *session;
    struct engine_input input = {0};
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    ck_assert_msg(!engine_open(&model, dir, &options, &err) &&
                      !engine_session_open(&session, model, 0, 1, &err) &&
                      !engine_prepare(model, text_source("w7 w8 w9"), NULL, &arena, &input, &err),
                  "%s", err.text);
    run_logits_one(session, &input, logits);
    snprintf(chosen, 8, "%s", engine_describe(model)->dtype);
    engine_session_close(session);
    engine_close(model);
    arena_deinit(&arena);
}

START_TEST(auto_answers_as_the_dtype_that_it_chose)
{
    struct checkpoint_writer writer;
    struct engine_model *model;
    struct err err = {0};
    char digest[72], text[256], chosen[8], same[8];
    float logits[3], expected[3];
    checkpoint_writer_open(&writer);
    checkpoint_writer_file(&writer, "config.json", config);
    checkpoint_writer_bert(&writer, 64, 2, 128, 40, 32, 3);
    checkpoint_writer_finish(&writer);
    ck_assert(!engine_open(&model, writer.dir, &(struct engine_options){0}, &err));
    ck_assert(!engine_digest(model, NULL, digest, &err));
    engine_close(model);
    for (int is_measured = 0; is_measured < 2; is_measured++) {
        run_text(writer.dir, "auto", logits, chosen);
        ck_assert(strcmp(chosen, "f32") == 0 ||
                  (strcmp(chosen, "bf16") == 0 && precision_speed_bf16_is_native()) ||
                  (strcmp(chosen, "int8") == 0 && is_measured));
        /* bf16 by name is measured again, and may be refused now */
        if (strcmp(chosen, "bf16") != 0) {
            run_text(writer.dir, chosen, expected, same);
            ck_assert_mem_eq(logits, expected, sizeof logits);
        }
        snprintf(text, sizeof text,
                 "{\"agreement\": {\"int8\": {\"inputs\": 1000, \"same_winner\": 1000, "
                 "\"macro_f1_points\": 0, \"digest\": \"%s\"}}}",
                 digest);
        checkpoint_writer_file(&writer, "attnd.json", text);
    }
    checkpoint_writer_close(&writer);
}
END_TEST

SUITE("dtype_choice", an_agreement_is_trusted_from_its_targets_on,
      the_fastest_that_is_served_and_trusted_is_taken, the_reason_tells_of_every_precision,
      int8_is_never_taken_without_its_agreement, auto_answers_as_the_dtype_that_it_chose)
