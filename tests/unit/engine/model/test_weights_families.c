/* Made-up checkpoints of the text families: each tensor missing or of another shape is refused by
 * name, shared blocks are opened once, and relative positions reach the attention in every
 * precision. */
#include "engine/engine.h"
#include "engine/model/family_tensors.h"
#include "engine/model/weights.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/numbers.h"
#include "tests/support/run_logits.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABELS = 3, TOKENS = 40 };

static struct checkpoint_writer writer;

static const char *const configs[] = {
    "{\"model_type\": \"roberta\", \"hidden_size\": 16, \"num_hidden_layers\": 2, "
    "\"num_attention_heads\": 2, \"intermediate_size\": 24, \"vocab_size\": 30, "
    "\"max_position_embeddings\": 42, \"num_labels\": 3, \"type_vocab_size\": 1}",
    "{\"model_type\": \"electra\", \"hidden_size\": 16, \"num_hidden_layers\": 2, "
    "\"num_attention_heads\": 2, \"intermediate_size\": 24, \"vocab_size\": 30, "
    "\"max_position_embeddings\": 42, \"num_labels\": 3, \"embedding_size\": 20}",
    "{\"model_type\": \"albert\", \"hidden_size\": 16, \"num_hidden_layers\": 3, "
    "\"num_attention_heads\": 2, \"intermediate_size\": 24, \"vocab_size\": 30, "
    "\"max_position_embeddings\": 42, \"num_labels\": 3, \"embedding_size\": 12, "
    "\"num_hidden_groups\": 2, \"inner_group_num\": 2}",
    "{\"model_type\": \"mpnet\", \"hidden_size\": 64, \"num_hidden_layers\": 2, "
    "\"num_attention_heads\": 2, \"intermediate_size\": 96, \"vocab_size\": 30, "
    "\"max_position_embeddings\": 42, \"num_labels\": 3, \"relative_attention_num_buckets\": 40}",
    "{\"model_type\": \"deberta-v2\", \"hidden_size\": 64, \"num_hidden_layers\": 2, "
    "\"num_attention_heads\": 2, \"intermediate_size\": 96, \"vocab_size\": 30, "
    "\"max_position_embeddings\": 42, \"num_labels\": 3, \"relative_attention\": true, "
    "\"share_att_key\": true, \"position_biased_input\": false, \"pos_att_type\": \"c2p|p2c\", "
    "\"position_buckets\": 12, \"norm_rel_ebd\": \"layer_norm\"}",
    "{\"model_type\": \"longformer\", \"hidden_size\": 64, \"num_hidden_layers\": 2, "
    "\"num_attention_heads\": 2, \"intermediate_size\": 96, \"vocab_size\": 30, "
    "\"max_position_embeddings\": 42, \"num_labels\": 3, \"attention_window\": [6, 8]}",
    "{\"model_type\": \"modernbert\", \"hidden_size\": 16, \"num_hidden_layers\": 3, "
    "\"num_attention_heads\": 2, \"intermediate_size\": 24, \"vocab_size\": 30, "
    "\"max_position_embeddings\": 42, \"num_labels\": 3, \"local_attention\": 8, "
    "\"mlp_bias\": true, \"attention_bias\": true}",
};
enum { FAMILIES = sizeof configs / sizeof *configs, MPNET = 3, DEBERTA, LONGFORMER };

/* Every tensor that config.json asks for, with the norms' gammas near 1. */
static void write_model(const char *config)
{
    struct spec spec;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    checkpoint_writer_file(&writer, "config.json", config);
    checkpoint_writer_file(&writer, "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\n");
    checkpoint_writer_file(&writer, "tokenizer_config.json",
                           "{\"tokenizer_class\": \"BertTokenizer\"}");
    ck_assert_msg(spec_read(&spec, writer.dir, &arena, &err) == ERR_OK, "%s", err.text);
    struct tensor_walk walk = {.spec = &spec, .head = HEAD_CLASSIFIER};
    for (struct tensor_row row; family_tensors_next(&walk, &row);) {
        size_t before = writer.count;
        ck_assert_uint_le(row.rank, 2);
        checkpoint_writer_add(&writer, row.name, row.shape[0], row.rank > 1 ? row.shape[1] : 0);
        for (size_t i = before; row.part == TENSOR_GAMMA && i < writer.count; i++)
            writer.data[i] += 1;
        bool is_strengthened =
            row.field == TENSOR_RELATIVE_BIAS ||
            (spec.disentangled.span > 0 && (row.field == TENSOR_QUERY || row.field == TENSOR_KEY));
        for (size_t i = before; is_strengthened && i < writer.count; i++)
            writer.data[i] *= 20; /* so that a score without it is another */
    }
    checkpoint_writer_finish(&writer);
    arena_deinit(&arena);
}

static enum err_code open_engine(struct engine_model **model, const char *backend,
                                 const char *dtype, struct err *err)
{
    const struct engine_options options = {.linear_backend = backend, .dtype = dtype};
    return engine_open(model, writer.dir, &options, err);
}

/* The names of a family's tensors, [count] in the arena. */
static unsigned list_names(const char *config, const char *names[128], struct arena *arena)
{
    struct spec spec;
    struct err err = {0};
    unsigned count = 0;
    checkpoint_writer_open(&writer);
    checkpoint_writer_file(&writer, "config.json", config);
    ck_assert_int_eq(spec_read(&spec, writer.dir, arena, &err), ERR_OK);
    struct tensor_walk walk = {.spec = &spec, .head = HEAD_CLASSIFIER};
    for (struct tensor_row row; family_tensors_next(&walk, &row);) {
        ck_assert_uint_lt(count, 128);
        names[count++] = arena_copy(arena, row.name, strlen(row.name));
    }
    checkpoint_writer_close(&writer);
    return count;
}

static void expect_refused(const char *config, const char *name, bool is_missing)
{
    struct engine_model *model;
    struct err err = {0};
    char quoted[160];
    checkpoint_writer_open(&writer);
    if (is_missing)
        writer.leave_out = name;
    else
        writer.misshape = name;
    write_model(config);
    ck_assert_int_eq(open_engine(&model, "auto", "f32", &err), ERR_UNSUPPORTED);
    snprintf(quoted, sizeof quoted, "tensor '%s' %s", name,
             is_missing ? "is missing" : "has shape");
    ck_assert_msg(strstr(err.text, quoted) != NULL, "%s: %s", name, err.text);
    checkpoint_writer_close(&writer);
}

START_TEST(each_tensor_that_is_missing_or_misshapen_is_refused_by_name)
{
    for (int f = 0; f < FAMILIES; f++) {
        const char *names[128];
        struct arena arena;
        arena_init(&arena);
        unsigned count = list_names(configs[f], names, &arena);
        ck_assert_uint_gt(count, 30);
        for (unsigned i = 0; i < count; i++) {
            expect_refused(configs[f], names[i], true);
            expect_refused(configs[f], names[i], false);
        }
        arena_deinit(&arena);
    }
}
END_TEST

START_TEST(blocks_of_albert_are_named_by_group_and_place)
{
    const char *names[128];
    struct arena arena;
    unsigned found = 0;
    arena_init(&arena);
    unsigned count = list_names(configs[2], names, &arena);
    for (unsigned i = 0; i < count; i++)
        found += strcmp(names[i],
                        "albert.encoder.albert_layer_groups.1.albert_layers.0.ffn.bias") == 0 ||
                 strcmp(names[i], "albert.encoder.albert_layer_groups.0.albert_layers.1.attention."
                                  "query.weight") == 0;
    ck_assert_uint_eq(found, 2);
    ck_assert_uint_eq(count, 7 + 4 * 16 + 4);
    arena_deinit(&arena);
}
END_TEST

static void fill_input(struct engine_input *input, int32_t *ids)
{
    for (int i = 0; i < TOKENS; i++)
        ids[i] = 4 + i * 7 % 26;
    *input = (struct engine_input){.kind = ENGINE_TEXT, .tokens = TOKENS, .ids = ids};
}

/* logits, and the rollout of the first token. */
static void answer(const char *backend, const char *dtype, float *logits, float *rollout)
{
    const struct explain_options options = {.method = EXPLAIN_ROLLOUT};
    int32_t ids[TOKENS];
    struct engine_input input;
    struct engine_model *model;
    struct engine_session *session;
    struct arena arena;
    struct err err = {0};
    const float *relevance;
    arena_init(&arena);
    fill_input(&input, ids);
    ck_assert_msg(open_engine(&model, backend, dtype, &err) == ERR_OK, "%s", err.text);
    ck_assert_int_eq(engine_session_open(&session, model, 0, 1, &err), ERR_OK);
    ck_assert_int_eq(engine_capture(model, &input, &options, &arena, &err), ERR_OK);
    run_logits_one(session, &input, logits);
    engine_relevance(model, &input, &options, 0, &arena, &relevance, &err);
    memcpy(rollout, relevance, TOKENS * sizeof *rollout);
    engine_session_close(session);
    engine_close(model);
    arena_deinit(&arena);
}

/* Heads are 32 wide: int8 encoders attend in bf16 if the processor multiplies it. */
START_TEST(relative_positions_reach_attention_in_every_precision)
{
    float exact[LABELS], rounded[LABELS], rollouts[2][TOKENS];
    for (int f = MPNET; f <= DEBERTA; f++) {
        checkpoint_writer_open(&writer);
        write_model(configs[f]);
        answer("reference", "f32", exact, rollouts[0]);
        answer("auto", "f32", rounded, rollouts[1]);
        ck_assert_double_lt(numbers_relative_difference(rounded, exact, LABELS), 1e-5);
        ck_assert_double_lt(numbers_difference(rollouts[1], rollouts[0], TOKENS), 1e-6);
        answer("auto", "int8", rounded, rollouts[1]);
        ck_assert_double_lt(numbers_relative_difference(rounded, exact, LABELS), 0.06);
        ck_assert_double_lt(numbers_difference(rollouts[1], rollouts[0], TOKENS), 0.004);
        checkpoint_writer_close(&writer);
    }
}
END_TEST

/* The same weights with the table of positions at zero give other rollouts than these bounds. */
START_TEST(relative_positions_are_more_than_what_rounding_costs)
{
    static const struct {
        int family;
        const char *tensor;
        size_t numbers;
    } cases[] = {{MPNET, "relative_attention_bias", 40 * 2},
                 {DEBERTA, "encoder.LayerNorm.weight", 64}};
    float logits[2][LABELS], rollouts[2][TOKENS];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        checkpoint_writer_open(&writer);
        write_model(configs[cases[i].family]);
        answer("auto", "f32", logits[0], rollouts[0]);
        const char *entry = strstr(writer.header, cases[i].tensor);
        size_t start = 0;
        ck_assert_int_eq(sscanf(strstr(entry, "data_offsets"), "data_offsets\":[%zu", &start), 1);
        memset((char *)writer.data + start, 0, cases[i].numbers * sizeof(float));
        writer.header_len--; /* of the brace at its end, which is written again */
        checkpoint_writer_finish(&writer);
        answer("auto", "f32", logits[1], rollouts[1]);
        ck_assert_double_gt(numbers_relative_difference(logits[1], logits[0], LABELS), 0.12);
        ck_assert_double_gt(numbers_difference(rollouts[1], rollouts[0], TOKENS), 0.02);
        checkpoint_writer_close(&writer);
    }
}
END_TEST

/* Three layers that reach four tokens each: [CLS] sees twelve, and what they hold of those. */
START_TEST(rollout_through_local_layers_goes_no_further_than_they_reach)
{
    static const char config[] =
        "{\"model_type\": \"modernbert\", \"hidden_size\": 64, \"num_hidden_layers\": 3, "
        "\"num_attention_heads\": 2, \"intermediate_size\": 24, \"vocab_size\": 30, "
        "\"max_position_embeddings\": 42, \"num_labels\": 3, \"local_attention\": 8, "
        "\"layer_types\": [\"sliding_attention\", \"sliding_attention\", \"sliding_attention\"]}";
    static const char *const dtypes[] = {"f32", "int8"};
    float logits[LABELS], rollout[TOKENS];
    checkpoint_writer_open(&writer);
    write_model(config);
    for (int d = 0; d < 2; d++) {
        double total = 0;
        answer("auto", dtypes[d], logits, rollout);
        for (int t = 0; t < TOKENS; t++) {
            total += (double)rollout[t];
            ck_assert_msg((rollout[t] > 0) == (t <= 12), "%s, token %d: %g", dtypes[d], t,
                          (double)rollout[t]);
        }
        ck_assert_double_eq_tol(total, 1, 1e-5);
    }
    checkpoint_writer_close(&writer);
}
END_TEST

/* The first token sees what no window reaches, whatever the precision of the linear layers. */
START_TEST(windows_and_the_token_that_sees_all_are_there_in_every_precision)
{
    float exact[LABELS], other[LABELS], rollouts[2][TOKENS];
    checkpoint_writer_open(&writer);
    write_model(configs[LONGFORMER]);
    answer("reference", "f32", exact, rollouts[0]);
    answer("auto", "f32", other, rollouts[1]);
    ck_assert_double_lt(numbers_relative_difference(other, exact, LABELS), 1e-5);
    ck_assert_double_lt(numbers_difference(rollouts[1], rollouts[0], TOKENS), 1e-6);
    for (int t = 0; t < TOKENS; t++)
        ck_assert_float_gt(rollouts[0][t], 0);
    answer("auto", "int8", other, rollouts[1]);
    ck_assert_double_lt(numbers_relative_difference(other, exact, LABELS), 0.06);
    ck_assert_double_lt(numbers_difference(rollouts[1], rollouts[0], TOKENS), 0.004);
    checkpoint_writer_close(&writer);
}
END_TEST

SUITE("weights_families", rollout_through_local_layers_goes_no_further_than_they_reach,
      each_tensor_that_is_missing_or_misshapen_is_refused_by_name,
      blocks_of_albert_are_named_by_group_and_place,
      relative_positions_reach_attention_in_every_precision,
      relative_positions_are_more_than_what_rounding_costs,
      windows_and_the_token_that_sees_all_are_there_in_every_precision)
