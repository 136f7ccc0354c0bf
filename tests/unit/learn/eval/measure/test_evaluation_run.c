/* evaluation.h with a tiny model whose words are chosen: some make a batch of exactly its size, one
 * makes logits that are not finite. A batch has at most 256 tokens and never parts of two chunks of
 * 64 items; a text of n words has n + 2 tokens. */
#include "engine/base/clock.h"
#include "learn/eval/measure/evaluation.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ITEMS_MAX = 150, LABELS = 3, HIDDEN = 16, VOCAB = 40, LOST_WORD = 9, TOLD_MAX = 64 };

static const char config[] =
    "{\"model_type\": \"bert\", \"hidden_size\": 16, \"num_hidden_layers\": 1, "
    "\"num_attention_heads\": 2, \"intermediate_size\": 24, \"vocab_size\": 40, "
    "\"max_position_embeddings\": 32, \"id2label\": {\"0\": \"a\", \"1\": \"b\", \"2\": \"c\"}}";

static struct made {
    struct engine_model *model;
    struct dataset_item items[ITEMS_MAX];
    struct dataset dataset;
    struct evaluation evaluation;
    size_t told[TOLD_MAX];
    unsigned told_count;
} made;

static struct err err;

/* The embedding of word w9 has a sum that no float holds. */
static void open_model(void)
{
    static struct checkpoint_writer writer;
    made = (struct made){0};
    checkpoint_writer_open(&writer);
    checkpoint_writer_file(&writer, "config.json", config);
    checkpoint_writer_bert(&writer, HIDDEN, 1, 24, VOCAB, 32, LABELS);
    for (unsigned d = 0; d < HIDDEN; d++)
        writer.data[LOST_WORD * HIDDEN + d] = 3e38f;
    checkpoint_writer_finish(&writer);
    ck_assert_msg(!engine_open(&made.model, writer.dir, &(struct engine_options){0}, &err), "%s",
                  err.text);
    checkpoint_writer_close(&writer);
}

static void put(unsigned item, const char *text)
{
    made.items[item] = (struct dataset_item){
        .name = item == 0 ? "first" : "other", .input = text, .input_len = strlen(text)};
}

static void note(void *context, size_t done)
{
    struct made *to = context;
    ck_assert_uint_lt(to->told_count, TOLD_MAX);
    to->told[to->told_count++] = done;
}

static enum err_code run(size_t count, bool features)
{
    const struct evaluation_options options = {
        .threads = 2, .features = features, .progress = note, .context = &made};
    made.dataset = (struct dataset){.kind = ENGINE_TEXT, .items = made.items, .count = count};
    made.told_count = 0;
    return evaluation_run(&made.evaluation, made.model, &made.dataset, &options, &err);
}

static void close_made(void)
{
    evaluation_close(&made.evaluation);
    engine_close(made.model);
    ck_assert(made.evaluation.logits == NULL && made.evaluation.problems == NULL);
}

/* 16 texts of 16 tokens fill a batch. 15 texts of 17 tokens fit, and leave one token free. */
START_TEST(evaluation_fills_batches_and_never_overfills_them)
{
    static const struct {
        const char *text;
        size_t count, told[12];
    } cases[] = {{"w5 w6 w7 w8 w5 w6 w7 w8 w5 w6 w7 w8 w5 w6", 70, {16, 32, 48, 64, 70}},
                 {"w5 w6 w7 w8 w5 w6 w7 w8 w5 w6 w7 w8 w5 w6 w7",
                  130,
                  {15, 30, 45, 60, 64, 79, 94, 109, 124, 128, 130}},
                 {"w5", 150, {64, 128, 150}},
                 {"w5", 64, {64}},
                 {"w5", 1, {1}}};
    open_model();
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        unsigned told = 0;
        for (unsigned i = 0; i < cases[c].count; i++)
            put(i, cases[c].text);
        ck_assert_msg(!run(cases[c].count, false), "%s", err.text);
        for (; cases[c].told[told] > 0; told++)
            ck_assert_uint_eq(made.told[told], cases[c].told[told]);
        ck_assert_uint_eq(made.told_count, told);
        ck_assert_uint_eq(made.evaluation.failed, 0);
        ck_assert(made.evaluation.count == cases[c].count && made.evaluation.label_count == LABELS);
        ck_assert(made.evaluation.features == NULL && made.evaluation.seconds > 0);
        for (unsigned i = 0; i < cases[c].count; i++) {
            ck_assert(made.evaluation.problems[i] == NULL &&
                      evaluation_logits(&made.evaluation, i)[0] != 0);
            ck_assert(fabsf(evaluation_logits(&made.evaluation, i)[2] -
                            evaluation_logits(&made.evaluation, 0)[2]) < 1e-5f);
        }
        evaluation_close(&made.evaluation);
    }
    close_made();
}
END_TEST

static bool is_zero(const float *numbers, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (numbers[i] != 0)
            return false;
    return true;
}

/* Every fifth item has no token, every seventh no finite logits, in both chunks. The logits of the
 * others are those of the item alone. */
START_TEST(evaluation_fails_item_by_item)
{
    enum { COUNT = 100 };
    static const char *const words[] = {"w5", "w6 w7", "w8 w10 w11", "w12"};
    static const char empty[] =
        "the text has no token: it is empty, blank or holds only control characters";
    unsigned classes[COUNT];
    struct confusion confusion;
    float alone[4][LABELS];
    size_t failed = 0;
    open_model();
    for (unsigned i = 0; i < 4; i++) {
        put(0, words[i]);
        ck_assert(!run(1, false));
        memcpy(alone[i], evaluation_logits(&made.evaluation, 0), sizeof alone[i]);
        evaluation_close(&made.evaluation);
    }
    for (unsigned i = 0; i < COUNT; i++)
        put(i, i % 5 == 2 ? "" : i % 7 == 3 ? "w5 w9" : words[i % 4]);
    ck_assert(!run(COUNT, true));
    for (unsigned i = 0; i < COUNT; i++) {
        const float *logits = evaluation_logits(&made.evaluation, i);
        const float *features = evaluation_features(&made.evaluation, i);
        bool fails = i % 5 == 2 || i % 7 == 3;
        const char *problem = i % 5 == 2 ? empty : "the logits are not finite";
        failed += fails;
        classes[i] = fails ? 0 : (evaluation_argmax(&made.evaluation, i) + (i % 3 == 0)) % LABELS;
        ck_assert_int_eq(is_zero(logits, LABELS), fails);
        ck_assert_int_eq(is_zero(features, HIDDEN), fails);
        if (fails)
            ck_assert_str_eq(made.evaluation.problems[i], problem);
        else
            ck_assert_ptr_null(made.evaluation.problems[i]);
        for (unsigned k = 0; k < LABELS && !fails; k++)
            ck_assert(fabsf(logits[k] - alone[i % 4][k]) < 1e-5f);
    }
    ck_assert_uint_eq(made.evaluation.failed, failed);
    ck_assert(!evaluation_measure(&made.evaluation, classes, &confusion, &err));
    ck_assert_uint_eq(confusion.count, COUNT - failed);
    ck_assert(confusion.hits > 0 && confusion.hits < confusion.count);
    ck_assert_uint_eq(confusion.class_count, LABELS);
    confusion_close(&confusion);
    close_made();
}
END_TEST

START_TEST(evaluation_of_nothing_that_can_be_used_is_an_error)
{
    open_model();
    for (unsigned i = 0; i < 70; i++)
        put(i, i == 0 ? "w9" : "");
    ck_assert_int_eq(run(70, true), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "none of 70 inputs can be used; first: the logits are not finite");
    ck_assert_uint_eq(made.evaluation.failed, 70);
    err = (struct err){0};
    close_made();
}
END_TEST

START_TEST(evaluation_runs_without_a_progress_callback)
{
    const struct evaluation_options options = {.threads = 1};
    open_model();
    put(0, "w5");
    made.dataset = (struct dataset){.kind = ENGINE_TEXT, .items = made.items, .count = 1};
    uint64_t start = clock_now_ns();
    ck_assert(!evaluation_run(&made.evaluation, made.model, &made.dataset, &options, &err));
    double within_ms = clock_ms_between(start, clock_now_ns());
    ck_assert_uint_eq(made.told_count, 0);
    ck_assert(made.evaluation.seconds > 0 && made.evaluation.seconds * 1e3 <= within_ms);
    close_made();
}
END_TEST

/* Fifteen of 16 tokens and one of 17 are one too many. */
START_TEST(evaluation_leaves_an_item_for_the_next_batch)
{
    static const char long_text[] = "w5 w6 w7 w8 w5 w6 w7 w8 w5 w6 w7 w8 w5 w6 w7";
    static char text[sizeof long_text];
    open_model();
    memcpy(text, long_text, sizeof long_text - 4); /* without the last word */
    for (unsigned i = 0; i < 17; i++)
        put(i, i == 15 ? long_text : text);
    ck_assert(!run(17, true));
    ck_assert(made.told_count == 2 && made.told[0] == 15 && made.told[1] == 17);
    close_made();
}
END_TEST

SUITE("evaluation_run", evaluation_fills_batches_and_never_overfills_them,
      evaluation_fails_item_by_item, evaluation_of_nothing_that_can_be_used_is_an_error,
      evaluation_runs_without_a_progress_callback, evaluation_leaves_an_item_for_the_next_batch)
