/* probe.h with a tiny model of texts: the contents of a batch, its memory, log-odds by hand. A text
 * of n words has n + 2 tokens, and a batch has room for 1024. */
#include "learn/eval/explain/probe.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/labels_model.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LABELS = 3, WORDS_MAX = 30, ASKED = 70 };

static const char words[] =
    "w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19 w20 w21 w22 w23 "
    "w24 w25 w26 w27 w28 w29 w30 w31 w32 w33 w34";

static struct fixture {
    struct engine_model *model;
    struct arena arena;
    struct engine_input input;
    struct perturbation parts;
    struct probe probe;
    struct scorer scorer;
    bool kept[WORDS_MAX];
} fixture;

static struct err err;

/* The first so many words. */
static void take(unsigned count)
{
    size_t len = 0;
    for (unsigned i = 0; i < count; i++)
        len += strcspn(words + len + (i > 0), " ") + (i > 0);
    engine_prepare(fixture.model, text_source_len(words, len), NULL, &fixture.arena, &fixture.input,
                   &err);
    perturbation_open(&fixture.parts, &fixture.input, (struct extent){0}, (struct extent){0},
                      PERTURBATION_MEDIAN, &fixture.arena, &err);
    ck_assert_msg(!probe_take(&fixture.probe, &fixture.parts, 1, &err), "%s", err.text);
    ck_assert(fixture.parts.count == count && fixture.input.tokens == count + 2);
}

static void open_fixture(void)
{
    static const char *const labels[] = {"a", "b", "c"};
    fixture = (struct fixture){.model = labels_model_open(labels, LABELS)};
    arena_init(&fixture.arena);
    ck_assert_msg(!probe_open(&fixture.probe, fixture.model, 1, &err), "%s", err.text);
    fixture.scorer = probe_scorer(&fixture.probe);
    memset(fixture.kept, true, sizeof fixture.kept);
}

static void close_fixture(void)
{
    probe_close(&fixture.probe);
    ck_assert(fixture.probe.rooms == NULL && fixture.probe.session == NULL);
    arena_deinit(&fixture.arena);
    engine_close(fixture.model);
}

static void ask(struct score *out)
{
    fixture.scorer.ask(fixture.scorer.context, fixture.kept, out);
}

/* A batch is full at 64 rows or 1024 tokens: 32 rows of 32 tokens fill it. Further rows begin a new
 * batch. */
START_TEST(probe_runs_a_batch_when_it_is_full)
{
    static const struct {
        unsigned words, rows;
    } cases[] = {{30, 32}, {29, 33}, {1, 64}, {14, 64}, {15, 60}};
    open_fixture();
    ck_assert_uint_eq(fixture.probe.tokens_max, 1024);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct score scores[ASKED];
        take(cases[c].words);
        for (unsigned i = 0; i < cases[c].rows + 1; i++) {
            scores[i] = (struct score){{-7, -7}};
            ck_assert_uint_eq(fixture.probe.rows, i);
            ask(&scores[i]);
        }
        ck_assert_uint_eq(fixture.probe.rows, 1);
        ck_assert_uint_eq(fixture.probe.tokens, cases[c].words + 2);
        for (unsigned i = 0; i < cases[c].rows; i++)
            ck_assert(scores[i].on[SCORE_PROBABILITY] > 0 &&
                      fabs(scores[i].on[SCORE_LOG_ODDS] - scores[0].on[SCORE_LOG_ODDS]) < 1e-5);
        ck_assert(scores[cases[c].rows].on[SCORE_PROBABILITY] == -7);
        fixture.scorer.flush(fixture.scorer.context);
        ck_assert(scores[cases[c].rows].on[SCORE_PROBABILITY] > 0);
        ck_assert(fixture.probe.rows == 0 && fixture.probe.tokens == 0);
        fixture.scorer.flush(fixture.scorer.context); /* of nothing is nothing */
    }
    close_fixture();
}
END_TEST

/* Each with another word removed; the scores are those of the texts without it. */
START_TEST(probe_gives_each_question_its_own_answer)
{
    struct score scores[5];
    open_fixture();
    take(5);
    for (unsigned i = 0; i < 5; i++) {
        fixture.kept[i] = false;
        ask(&scores[i]);
        fixture.kept[i] = true;
    }
    fixture.scorer.flush(fixture.scorer.context);
    struct score whole;
    ask(&whole); /* alone in its batch */
    fixture.scorer.flush(fixture.scorer.context);
    for (unsigned i = 0; i < 5; i++) {
        char text[64] = "";
        ck_assert(fabs(whole.on[SCORE_LOG_ODDS] - scores[i].on[SCORE_LOG_ODDS]) > 1e-7);
        float logits[LABELS], probabilities[LABELS];
        struct engine_input alone;
        for (unsigned w = 0; w < 5; w++)
            if (w != i)
                snprintf(text + strlen(text), 8, "w%u ", 5 + w);
        engine_prepare(fixture.model, text_source(text), NULL, &fixture.arena, &alone, &err);
        probe_run(&fixture.probe, &alone, &(struct engine_result){.logits = logits});
        engine_scores(fixture.model, logits, probabilities);
        double p = (double)probabilities[1];
        ck_assert(fabs(scores[i].on[SCORE_PROBABILITY] - p) < 1e-6);
        ck_assert(fabs(scores[i].on[SCORE_LOG_ODDS] - log(p / (1 - p))) < 1e-5);
    }
    close_fixture();
}
END_TEST

/* Rooms are whole multiples of the alignment; a smaller input takes those that are there. */
START_TEST(probe_memory_grows_when_it_must)
{
    static const unsigned counts[] = {1, 13, 14, 15, 29, 30, 2};
    size_t most = 0;
    open_fixture();
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        const char *before = fixture.probe.rooms;
        size_t bytes = (counts[c] + 2) * sizeof(int32_t);
        take(counts[c]);
        ck_assert_uint_ge(fixture.probe.room_bytes, bytes);
        ck_assert_uint_lt(fixture.probe.room_bytes, bytes + ARENA_ALIGNMENT);
        ck_assert_uint_eq(fixture.probe.room_bytes % ARENA_ALIGNMENT, 0);
        ck_assert(fixture.probe.room_bytes > most || fixture.probe.rooms == before);
        most = fixture.probe.room_bytes > most ? fixture.probe.room_bytes : most;
        ck_assert_uint_eq(fixture.probe.rooms_bytes, PROBE_ROWS * most);
    }
    close_fixture();
}
END_TEST

/* log p - log(1 - p) of p = e^z / sum; beyond what a double's exponential holds as well. */
START_TEST(probe_log_odds_are_what_was_computed_by_hand)
{
    static const float logits[] = {1, 3, -2}, steep[] = {2000, -2000, 1999};
    open_fixture();
    for (unsigned label = 0; label < LABELS; label++) {
        double others = 0;
        for (unsigned i = 0; i < LABELS; i++)
            others += i != label ? exp((double)logits[i]) : 0;
        double found = probe_log_odds(fixture.model, logits, label);
        ck_assert(fabs(found - ((double)logits[label] - log(others))) < 1e-12);
    }
    ck_assert(probe_log_odds(fixture.model, steep, 0) == 1);
    ck_assert(fabs(probe_log_odds(fixture.model, steep, 1) + 4000 + log1p(exp(-1))) < 1e-9);
    ck_assert(probe_log_odds(fixture.model, steep, 2) == -1);
    close_fixture();
}
END_TEST

/* Independent labels, at a temperature of 2: the logit itself; and of a softmax at it. */
START_TEST(probe_log_odds_follow_scores_and_temperature)
{
    static const float logits[] = {1, 3, -2};
    for (unsigned sigmoid = 0; sigmoid < 2; sigmoid++) {
        static struct checkpoint_writer writer;
        struct engine_model *model;
        char config[512];
        snprintf(config, sizeof config,
                 "{\"model_type\": \"bert\", \"hidden_size\": 16, \"num_hidden_layers\": 1, "
                 "\"num_attention_heads\": 2, \"intermediate_size\": 24, \"vocab_size\": 40, "
                 "\"max_position_embeddings\": 32, \"id2label\": {\"0\": \"a\", \"1\": \"b\", "
                 "\"2\": \"c\"}%s}",
                 sigmoid ? ", \"problem_type\": \"multi_label_classification\"" : "");
        checkpoint_writer_open(&writer);
        checkpoint_writer_file(&writer, "config.json", config);
        checkpoint_writer_file(&writer, "attnd.json", "{\"temperature\": 2}");
        checkpoint_writer_bert(&writer, 16, 1, 24, 40, 32, LABELS);
        checkpoint_writer_finish(&writer);
        ck_assert_msg(!engine_open(&model, writer.dir, &(struct engine_options){0}, &err), "%s",
                      err.text);
        double expected = sigmoid ? -1 : -1 - log(exp(0.5) + exp(1.5));
        ck_assert(fabs(probe_log_odds(model, logits, 2) - expected) < 1e-12);
        engine_close(model);
        checkpoint_writer_close(&writer);
    }
}
END_TEST

SUITE("probe_batches", probe_runs_a_batch_when_it_is_full, probe_gives_each_question_its_own_answer,
      probe_memory_grows_when_it_must, probe_log_odds_are_what_was_computed_by_hand,
      probe_log_odds_follow_scores_and_temperature)
