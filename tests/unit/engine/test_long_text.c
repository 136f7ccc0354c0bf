/* Texts that are longer than a model: as windows in one answer, within bounds, and explained as a
 * whole. */
#include "engine/engine.h"
#include "engine/model/attention_stats.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/numbers.h"
#include "tests/support/run_logits.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

enum { ROOM = 10, LABELS = 3, WIDTH = 16, FEATURES = 2 * WIDTH, WORDS_MAX = 200 };
enum { BYTES_MAX = WORDS_MAX * 4 };

static const char config[] =
    "{\"model_type\": \"bert\", \"hidden_size\": 16, \"num_hidden_layers\": 2, "
    "\"num_attention_heads\": 4, \"intermediate_size\": 24, \"vocab_size\": 40, "
    "\"max_position_embeddings\": 12, \"id2label\": {\"0\": \"a\", \"1\": \"b\", \"2\": \"c\"}}";

struct fixture {
    struct checkpoint_writer writer;
    struct engine_model *model;
    struct engine_session *session;
    struct arena arena;
    struct err err;
    char text[BYTES_MAX];
};

static enum err_code try_open(struct fixture *f, const char *attnd)
{
    *f = (struct fixture){0};
    arena_init(&f->arena);
    checkpoint_writer_open(&f->writer);
    checkpoint_writer_file(&f->writer, "config.json", config);
    if (attnd != NULL)
        checkpoint_writer_file(&f->writer, "attnd.json", attnd);
    checkpoint_writer_bert(&f->writer, WIDTH, 2, 24, 40, ROOM + 2, LABELS);
    checkpoint_writer_finish(&f->writer);
    return engine_open(&f->model, f->writer.dir, &(struct engine_options){0}, &f->err);
}

/* The least session: room for two windows. */
static void setup(struct fixture *f, const char *attnd)
{
    ck_assert_msg(try_open(f, attnd) == ERR_OK, "%s", f->err.text);
    ck_assert_int_eq(engine_session_open(&f->session, f->model, 2 * (ROOM + 2), 2, &f->err),
                     ERR_OK);
    engine_session_take_means(f->session); /* behind the features */
}

static void drop(struct fixture *f)
{
    engine_session_close(f->session);
    engine_close(f->model);
    checkpoint_writer_close(&f->writer);
    arena_deinit(&f->arena);
}

/* Words w5, w6, ... of one token each, from `first` on. */
static const char *words(struct fixture *f, unsigned first, unsigned count)
{
    size_t len = 0;
    ck_assert_uint_le(count, WORDS_MAX);
    for (unsigned i = first; i < first + count; i++)
        len += (size_t)snprintf(f->text + len, BYTES_MAX - len, "w%u ", 5 + i % 30);
    return f->text;
}

static const struct engine_reading the_models_own = {.long_text = LONG_TEXT_OWN};
static const struct engine_reading in_windows = {.long_text = LONG_TEXT_WINDOWS};
static const struct engine_reading truncated = {.long_text = LONG_TEXT_TRUNCATE};

static struct engine_input prepare(struct fixture *f, const char *text,
                                   const struct engine_reading *reading)
{
    struct engine_input input;
    ck_assert_msg(!engine_prepare(f->model,
                                  text_source_with(text, .is_utf8 = true, .reading = *reading),
                                  NULL, &f->arena, &input, &f->err),
                  "%s", f->err.text);
    return input;
}

static void run(struct fixture *f, const struct engine_input *input, float *logits, float *features)
{
    run_logits_one(f->session, input, logits);
    memcpy(features, run_features[0], FEATURES * sizeof *features);
}

START_TEST(a_long_text_has_the_mean_of_its_windows_if_attnd_json_says_so)
{
    struct fixture f;
    float logits[LABELS], features[FEATURES], one[LABELS], part[FEATURES], mean[WIDTH] = {0};
    setup(&f, "{\"window_pooling\": \"mean\"}");
    struct engine_input input = prepare(&f, words(&f, 0, 47), &in_windows);
    ck_assert_uint_eq(input.windows, 5);
    ck_assert(!input.truncated);
    run(&f, &input, logits, features);
    for (unsigned w = 0; w < 5; w++) {
        unsigned first = w < 4 ? w * ROOM : 47 - ROOM;
        struct engine_input alone = prepare(&f, words(&f, first, ROOM), &truncated);
        run(&f, &alone, one, part);
        for (unsigned i = 0; i < WIDTH; i++)
            mean[i] += part[i] / 5;
    }
    ck_assert_double_lt(numbers_difference(features, mean, WIDTH), 1e-5);
    drop(&f);
}
END_TEST

START_TEST(the_largest_of_each_feature_is_pooled_by_default)
{
    struct fixture f;
    float logits[LABELS], features[FEATURES], one[LABELS], part[FEATURES], most[WIDTH];
    setup(&f, "{\"long_text\": \"windows\", \"window_stride\": 5}");
    struct engine_input input = prepare(&f, words(&f, 0, 20), &the_models_own);
    ck_assert_uint_eq(input.windows, 3);
    run(&f, &input, logits, features);
    for (unsigned w = 0; w < 3; w++) {
        struct engine_input alone = prepare(&f, words(&f, 5 * w, ROOM), &the_models_own);
        ck_assert_uint_eq(alone.windows, 0);
        run(&f, &alone, one, part);
        for (unsigned i = 0; i < WIDTH; i++)
            most[i] = w == 0 || part[i] > most[i] ? part[i] : most[i];
    }
    ck_assert_double_lt(numbers_difference(features, most, WIDTH), 1e-5);
    const struct engine_info *info = engine_describe(f.model);
    ck_assert(info->reads_windows);
    ck_assert_uint_eq(info->window_stride, 5);
    ck_assert_str_eq(info->window_pooling, "max");
    drop(&f);
}
END_TEST

/* The server does the same: between two steps, other inputs run. */
START_TEST(windows_that_run_in_steps_give_what_the_whole_gives)
{
    static const char *const ways[] = {"{}", "{\"window_pooling\": \"mean\"}"};
    static const unsigned steps[] = {1, 2, 7}, done[] = {1, 3, 4};
    for (unsigned way = 0; way < 2; way++) {
        struct fixture f;
        float logits[LABELS], features[FEATURES], part[FEATURES], one[LABELS], stepped[LABELS];
        float kept[FEATURES];
        setup(&f, ways[way]);
        const struct engine_input input = prepare(&f, words(&f, 3, 33), &in_windows);
        const struct engine_input last = engine_input_window(&input, 3);
        ck_assert_uint_eq(input.windows, 4);
        run(&f, &input, logits, features);
        struct engine_result result = {.logits = stepped, .pooled = kept};
        for (unsigned i = 0; i < 3; i++) {
            run(&f, &last, one, part);
            result.step = steps[i];
            engine_step(f.session, (const struct engine_input *const[]){&input}, 1,
                        (struct engine_result *const[]){&result});
            ck_assert_uint_eq(result.windows_done, done[i]);
            ck_assert_int_eq(result.is_done, i == 2);
        }
        ck_assert_double_lt(numbers_difference(result.features, features, FEATURES), 5e-6);
        ck_assert_double_lt(numbers_difference(stepped, logits, LABELS), 5e-6);
        ck_assert_double_gt(numbers_difference(one, logits, LABELS), 2e-5);
        drop(&f);
    }
}
END_TEST

START_TEST(texts_with_and_without_windows_share_a_run)
{
    struct fixture f;
    struct engine_input inputs[3];
    float alone[3][LABELS], together[3][LABELS], features[FEATURES];
    static const unsigned counts[3] = {4, 37, 9};
    setup(&f, NULL);
    for (unsigned i = 0; i < 3; i++) {
        inputs[i] = prepare(&f, words(&f, 7 * i, counts[i]), &in_windows);
        run(&f, &inputs[i], alone[i], features);
    }
    run_logits_rows(f.session, inputs, 3, together[0], LABELS);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_double_lt(numbers_difference(together[i], alone[i], LABELS), 1e-5);
    drop(&f);
}
END_TEST

START_TEST(a_text_of_more_tokens_than_allowed_is_refused_with_both_ways_out)
{
    struct fixture f;
    struct engine_reading reading = {.long_text = LONG_TEXT_WINDOWS, .text_tokens_max = 30};
    struct engine_input input;
    setup(&f, NULL);
    ck_assert_uint_eq(prepare(&f, words(&f, 0, 30), &reading).windows, 3);
    words(&f, 0, 31);
    ck_assert_int_eq(engine_prepare(f.model,
                                    text_source_with(f.text, .is_utf8 = true, .reading = reading),
                                    NULL, &f.arena, &input, &f.err),
                     ERR_TOO_LARGE);
    ck_assert_str_eq(f.err.text,
                     "the text has more than 30 tokens, the limit for a text in windows "
                     "(text_tokens_max); send less of it, or \"long_text\": \"truncate\"");
    f.err = (struct err){0};
    reading.long_text = LONG_TEXT_TRUNCATE;
    ck_assert(prepare(&f, f.text, &reading).truncated);
    drop(&f);
}
END_TEST

START_TEST(the_memory_of_windows_is_foreseen)
{
    struct fixture f;
    setup(&f, "{\"window_stride\": 3}");
    for (unsigned count = 1; count <= WORDS_MAX; count += 7) {
        struct arena arena, whole = f.arena;
        const char *text = words(&f, 0, count);
        struct engine_need need =
            engine_need(f.model, text_source_with(text, .reading = in_windows));
        arena_init(&f.arena);
        struct engine_input input = prepare(&f, text, &in_windows);
        arena = f.arena;
        ck_assert_uint_le(arena.bytes, need.kept);
        ck_assert_uint_le(input.windows, need.windows);
        arena_deinit(&f.arena);
        f.arena = whole;
    }
    drop(&f);
}
END_TEST

START_TEST(an_explanation_is_of_the_whole_text)
{
    struct fixture f;
    struct explain_options options = {.statistics = true};
    struct explanation found;
    float logits[LABELS], features[FEATURES], sum = 0;
    setup(&f, "{\"window_stride\": 4}");
    struct engine_input input = prepare(&f, words(&f, 0, 25), &in_windows);
    for (unsigned method = 0; method < 4; method++) {
        static const enum explain_method methods[] = {EXPLAIN_ROLLOUT, EXPLAIN_ATTENTION,
                                                      EXPLAIN_GRADIENT, EXPLAIN_GRADIENT_LAST};
        options.method = methods[method];
        sum = 0;
        ck_assert(!engine_capture(f.model, &input, &options, &f.arena, &f.err));
        run(&f, &input, logits, features);
        ck_assert(!engine_explain(f.model, NULL, &input, &options, 1, &f.arena, &found, &f.err));
        ck_assert_uint_eq(found.word_count, 25);
        for (unsigned i = 0; i < 25; i++) {
            sum += found.words[i].relevance;
            ck_assert_float_ge(found.words[i].relevance, 0);
            ck_assert_mem_eq(f.text + found.words[i].start, "w", 1);
            ck_assert_int_eq(f.text[found.words[i].end], ' ');
        }
        ck_assert_float_eq_tol(sum, 1, 1e-5);
        ck_assert_float_gt(found.stats[0].entropy, 0);
    }
    drop(&f);
}
END_TEST

/* Two windows without overlap: each word's share of its own window, weighted by what that window
 * alone scores for the label. */
START_TEST(a_window_weighs_what_it_alone_scores)
{
    struct fixture f;
    const struct explain_options options = {.method = EXPLAIN_ROLLOUT};
    const float *whole, *parts[2];
    float logits[LABELS], features[FEATURES], scores[2][LABELS];
    setup(&f, NULL);
    struct engine_input input = prepare(&f, words(&f, 0, 20), &in_windows);
    ck_assert(!engine_capture(f.model, &input, &options, &f.arena, &f.err));
    run(&f, &input, logits, features);
    ck_assert(!engine_relevance(f.model, &input, &options, 2, &f.arena, &whole, &f.err));
    for (unsigned w = 0; w < 2; w++) {
        struct engine_input alone = prepare(&f, words(&f, w * ROOM, ROOM), &truncated);
        ck_assert(!engine_capture(f.model, &alone, &options, &f.arena, &f.err));
        run(&f, &alone, logits, features);
        ck_assert(engine_scores(f.model, logits, scores[w]));
        ck_assert(!engine_relevance(f.model, &alone, &options, 2, &f.arena, &parts[w], &f.err));
        for (unsigned t = 0; t < ROOM + 2; t++)
            ck_assert_float_eq_tol(whole[w * (ROOM + 2) + t], parts[w][t] * scores[w][2], 1e-5);
    }
    drop(&f);
}
END_TEST

/* One capture, explained by two methods: the second answer is that of a run for it alone. */
static void check_again(struct fixture *f, struct engine_input *input, enum explain_method first,
                        enum explain_method second)
{
    const struct explain_options all = {.method = EXPLAIN_GRADIENT, .statistics = true};
    struct explanation alone, before, after;
    float logits[LABELS], features[FEATURES];
    const size_t heads = sizeof(struct attention_stats) * 2 * 4;
    struct explain_options how = all;
    ck_assert(!engine_capture(f->model, input, &all, &f->arena, &f->err));
    run(f, input, logits, features);
    how.method = second;
    ck_assert(!engine_explain(f->model, NULL, input, &how, 1, &f->arena, &alone, &f->err));
    ck_assert(!engine_capture(f->model, input, &all, &f->arena, &f->err));
    run(f, input, logits, features);
    how.method = first;
    ck_assert(!engine_explain(f->model, NULL, input, &how, 1, &f->arena, &before, &f->err));
    how.method = second;
    ck_assert(!engine_explain(f->model, NULL, input, &how, 1, &f->arena, &after, &f->err));
    ck_assert_uint_eq(after.word_count, alone.word_count);
    for (unsigned i = 0; i < alone.word_count; i++)
        ck_assert_float_eq(after.words[i].relevance, alone.words[i].relevance);
    ck_assert_mem_eq(after.stats, alone.stats, heads);
    ck_assert_mem_eq(before.stats, alone.stats, heads);
}

START_TEST(a_second_method_explains_as_it_would_alone)
{
    struct fixture f;
    setup(&f, "{\"window_stride\": 4}");
    struct engine_input input = prepare(&f, words(&f, 0, 25), &in_windows);
    ck_assert_uint_gt(input.windows, 2);
    for (unsigned first = EXPLAIN_ROLLOUT; first < EXPLAIN_LABEL_METHODS; first++)
        for (unsigned second = EXPLAIN_ROLLOUT; second < EXPLAIN_LABEL_METHODS; second++)
            check_again(&f, &input, first, second);
    drop(&f);
}
END_TEST

START_TEST(windows_refuse_bad_settings_of_attnd_json)
{
    static const struct {
        const char *attnd, *text;
    } cases[] = {
        {"{\"long_text\": \"split\"}",
         "attnd.json: $.long_text must be \"truncate\" or \"windows\""},
        {"{\"long_text\": 1}", "attnd.json: $.long_text: expected a string, found a number"},
        {"{\"window_pooling\": \"sum\"}",
         "attnd.json: $.window_pooling must be \"mean\" or \"max\""},
        {"{\"window_stride\": -1}", "attnd.json: $.window_stride must be a number of tokens"},
        {"{\"window_stride\": 2.5}", "attnd.json: $.window_stride must be a number of tokens"},
        {"{\"window_stride\": 2}",
         "attnd.json: the window stride is 2; this model's windows hold 10 "
         "tokens of a text, so it must be from 3 to 10"},
        {"{\"window_stride\": 11}",
         "attnd.json: the window stride is 11; this model's windows hold "
         "10 tokens of a text, so it must be from 3 to 10"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture f;
        ck_assert_int_eq(try_open(&f, cases[i].attnd), ERR_UNSUPPORTED);
        ck_assert_str_eq(f.err.text, cases[i].text);
        checkpoint_writer_close(&f.writer);
        arena_deinit(&f.arena);
    }
}
END_TEST

SUITE("long_text", a_long_text_has_the_mean_of_its_windows_if_attnd_json_says_so,
      the_largest_of_each_feature_is_pooled_by_default,
      windows_that_run_in_steps_give_what_the_whole_gives,
      texts_with_and_without_windows_share_a_run,
      a_text_of_more_tokens_than_allowed_is_refused_with_both_ways_out,
      the_memory_of_windows_is_foreseen, an_explanation_is_of_the_whole_text,
      a_second_method_explains_as_it_would_alone, a_window_weighs_what_it_alone_scores,
      windows_refuse_bad_settings_of_attnd_json)
