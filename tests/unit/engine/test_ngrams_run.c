/* A model with a table of n-grams: its logits are the sum of the encoder's and the table's, in
 * batches, in windows and pooled. */
#include "engine/engine.h"
#include "engine/format/head_file.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/numbers.h"
#include "tests/support/run_logits.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { ROOM = 10, LABELS = 3, WIDTH = 16, FEATURES = 2 * WIDTH, ROWS = 128, INPUTS = 3 };

static const char config[] =
    "{\"model_type\": \"bert\", \"hidden_size\": 16, \"num_hidden_layers\": 2, "
    "\"num_attention_heads\": 4, \"intermediate_size\": 24, \"vocab_size\": 40, "
    "\"max_position_embeddings\": 12, \"id2label\": {\"0\": \"a\", \"1\": \"b\", \"2\": \"c\"}}";

static const char *const key_words[] = {"w30", "w31"};
static float weight[ROWS * LABELS], bias[LABELS] = {1, -2, 3};
static struct ngram_table table = {.reading = {.characters = 40,
                                               .key_lines = 2,
                                               .key_words = key_words,
                                               .key_word_count = 2,
                                               .rows = ROWS},
                                   .labels = LABELS,
                                   .weight = weight,
                                   .bias = bias,
                                   .scale = 1};

/* The last is longer than the model, and has a line with a key word behind its end. */
static const char *const texts[INPUTS] = {
    "w5 w6 w7", "w8 w30 w9",
    "w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17\nw31 w18 w19\nw20 w21"};

struct fixture {
    struct checkpoint_writer writer;
    struct engine_model *with, *without;
    struct arena arena;
    struct err err;
};

static enum err_code try_open(struct fixture *f, const struct ngram_table *ngrams)
{
    *f = (struct fixture){0};
    arena_init(&f->arena);
    checkpoint_writer_open(&f->writer);
    checkpoint_writer_file(&f->writer, "config.json", config);
    checkpoint_writer_bert(&f->writer, WIDTH, 2, 24, 40, ROOM + 2, LABELS);
    checkpoint_writer_finish(&f->writer);
    ck_assert(!engine_open(&f->without, f->writer.dir, &(struct engine_options){0}, &f->err));
    ck_assert(!head_file_write(f->writer.dir, &(struct head_content){.ngrams = ngrams}, &f->err));
    checkpoint_writer_file(&f->writer, "attnd.json", "{\"head\": \"" HEAD_FILE_NAME "\"}");
    return engine_open(&f->with, f->writer.dir, &(struct engine_options){0}, &f->err);
}

static void setup(struct fixture *f)
{
    for (unsigned i = 0; i < ROWS * LABELS; i++)
        weight[i] = (float)((int)(i * 37 % 64) - 32) / 16; /* as F16 holds them */
    ck_assert_msg(!try_open(f, &table), "%s", f->err.text);
}

static void drop(struct fixture *f)
{
    engine_close(f->with);
    engine_close(f->without);
    checkpoint_writer_close(&f->writer);
    arena_deinit(&f->arena);
}

static struct engine_input prepare(struct fixture *f, const struct engine_model *model,
                                   const char *text, bool in_windows)
{
    const struct engine_reading reading = {.long_text =
                                               in_windows ? LONG_TEXT_WINDOWS : LONG_TEXT_TRUNCATE};
    struct engine_input input;
    ck_assert_msg(!engine_prepare(model,
                                  text_source_with(text, .is_utf8 = true, .reading = reading), NULL,
                                  &f->arena, &input, &f->err),
                  "%s", f->err.text);
    return input;
}

/* All texts in one batch. */
static void run(struct fixture *f, const struct engine_model *model, bool in_windows,
                float logits[INPUTS][LABELS])
{
    struct engine_session *session;
    struct engine_input inputs[INPUTS];
    for (unsigned i = 0; i < INPUTS; i++)
        inputs[i] = prepare(f, model, texts[i], in_windows);
    ck_assert(!engine_session_open(&session, model, 64, 1, &f->err));
    run_logits_rows(session, inputs, INPUTS, logits[0], LABELS);
    engine_session_close(session);
}

START_TEST(the_table_adds_its_evidence_to_every_texts_logits)
{
    struct fixture f;
    setup(&f);
    ck_assert_uint_eq(engine_describe(f.with)->ngram_rows, ROWS);
    ck_assert_uint_eq(engine_describe(f.without)->ngram_rows, 0);
    for (unsigned in_windows = 0; in_windows < 2; in_windows++) {
        float with[INPUTS][LABELS], without[INPUTS][LABELS];
        run(&f, f.with, in_windows > 0, with);
        run(&f, f.without, in_windows > 0, without);
        for (unsigned i = 0; i < INPUTS; i++) {
            float evidence[LABELS], sum[LABELS];
            ck_assert(!ngram_table_evidence(&table, texts[i], strlen(texts[i]), &f.arena, evidence,
                                            &f.err));
            for (unsigned c = 0; c < LABELS; c++)
                sum[c] = without[i][c] + evidence[c];
            ck_assert_double_lt(numbers_difference(with[i], sum, LABELS), 1e-6);
        }
    }
    drop(&f);
}
END_TEST

START_TEST(windows_that_run_in_steps_have_the_evidence)
{
    struct fixture f;
    struct engine_session *session;
    float kept[FEATURES], stepped[LABELS], whole[INPUTS][LABELS];
    setup(&f);
    run(&f, f.with, true, whole);
    const struct engine_input input = prepare(&f, f.with, texts[2], true);
    ck_assert_uint_gt(input.windows, 1);
    ck_assert(!engine_session_open(&session, f.with, 64, 1, &f.err));
    struct engine_result result = {.logits = stepped, .pooled = kept, .step = 1};
    while (!result.is_done)
        engine_step(session, (const struct engine_input *const[]){&input}, 1,
                    (struct engine_result *const[]){&result});
    ck_assert_double_lt(numbers_difference(stepped, whole[2], LABELS), 5e-6);
    engine_session_close(session);
    drop(&f);
}
END_TEST

START_TEST(ngrams_phrases_have_offsets_in_characters)
{
    const char text[] = "\xc3\xbc\xc3\xbc\xc3\xbc, w30";
    const struct engine_source source = {
        .kind = ENGINE_TEXT, .bytes = text, .len = sizeof text - 1};
    const struct explain_options how = {.method = EXPLAIN_GRADIENT};
    struct explanation explanation;
    struct engine_input input;
    struct fixture f;
    float logits[LABELS];
    setup(&f);
    struct engine_session *session;
    ck_assert(!engine_session_open(&session, f.with, 64, 1, &f.err));
    ck_assert(!engine_prepare(f.with, &source, NULL, &f.arena, &input, &f.err));
    ck_assert(!engine_capture(f.with, &input, &how, &f.arena, &f.err));
    run_logits_one(session, &input, logits);
    ck_assert(!engine_explain(f.without, &source, &input, &how, 0, &f.arena, &explanation, &f.err));
    ck_assert(!explanation.has_phrases);
    for (unsigned label = 0, found = 0; label < LABELS; label++) {
        ck_assert(
            !engine_explain(f.with, &source, &input, &how, label, &f.arena, &explanation, &f.err));
        ck_assert(explanation.has_phrases);
        for (unsigned i = 0; i < explanation.phrase_count; i++, found++) {
            const struct excerpt *phrase = &explanation.phrases[i];
            ck_assert(phrase->start == 0 || phrase->start == 5);
            ck_assert(phrase->end == 3 || phrase->end == 8);
        }
        ck_assert(label < LABELS - 1 || found > 0);
    }
    engine_session_close(session);
    ck_assert_uint_gt(engine_phrases_bytes(f.with, 100), 0);
    ck_assert_uint_eq(engine_phrases_bytes(f.without, 100), 0);
    drop(&f);
}
END_TEST

START_TEST(the_bounds_of_memory_know_of_the_table)
{
    struct fixture f;
    setup(&f);
    const size_t len = strlen(texts[2]);
    const struct engine_need with = engine_need(f.with, text_source_len(texts[2], len));
    const struct engine_need without = engine_need(f.without, text_source_len(texts[2], len));
    ck_assert_uint_ge(with.kept - without.kept,
                      LABELS * sizeof(float) + ngrams_list_bytes(&table.reading, len));
    struct engine_cost cost;
    ck_assert(!engine_measure(&cost, f.writer.dir, &(struct engine_options){0}, 64, 1, &f.err));
    const size_t measured = cost.model_bytes;
    checkpoint_writer_file(&f.writer, "attnd.json", "{}");
    ck_assert(!engine_measure(&cost, f.writer.dir, &(struct engine_options){0}, 64, 1, &f.err));
    ck_assert_uint_ge(measured, cost.model_bytes);
    drop(&f);
}
END_TEST

SUITE("ngrams_run", the_table_adds_its_evidence_to_every_texts_logits,
      windows_that_run_in_steps_have_the_evidence, ngrams_phrases_have_offsets_in_characters,
      the_bounds_of_memory_know_of_the_table)
