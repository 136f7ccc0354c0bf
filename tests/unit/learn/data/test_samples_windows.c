/* Texts in windows, prepared for training: all of them as serving cuts them, or a choice. */
#include "tests/support/samples_fixture.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <string.h>

#define BERT GOLDEN "bert-3"
enum { ROOM = 4, PIECES = 26 };

struct bench {
    struct samples_fixture fixture;
    struct tempdir dir;
    const int32_t *all; /* [PIECES + 2] the text as one */
};

/* The letters of the alphabet, a piece each. */
static void setup(struct bench *bench)
{
    char line[256], path[128], text[2 * PIECES + 1] = "";
    for (unsigned i = 0; i < PIECES; i++) {
        text[2 * i] = (char)('a' + i);
        text[2 * i + 1] = ' ';
    }
    snprintf(line, sizeof line, "{\"text\": \"%s\", \"label\": \"a\"}\n", text);
    tempdir_open(&bench->dir);
    tempdir_write(&bench->dir, "a.jsonl", line, strlen(line));
    snprintf(path, sizeof path, "%s/a.jsonl", bench->dir.path);
    samples_fixture_open(&bench->fixture, BERT, path);
    bench->all = samples_fixture_input(&bench->fixture, 0, &(struct samples_view){0}, NULL).ids;
}

static void drop(struct bench *bench)
{
    samples_fixture_close(&bench->fixture);
    tempdir_close(&bench->dir);
}

static void check_windows(const struct bench *bench, const struct engine_input *input,
                          const unsigned *first, unsigned windows)
{
    ck_assert_uint_eq(input->windows, windows);
    ck_assert_uint_eq(input->tokens, windows * (ROOM + 2));
    ck_assert(!input->truncated);
    for (unsigned i = 0; i < windows; i++) {
        const struct engine_input window = engine_input_window(input, i);
        ck_assert_uint_eq(input->window_first[i], first[i]);
        ck_assert_int_eq(window.ids[0], bench->all[0]);
        ck_assert_mem_eq(window.ids + 1, bench->all + 1 + first[i], ROOM * sizeof *window.ids);
        ck_assert_int_eq(window.ids[ROOM + 1], bench->all[PIECES + 1]);
    }
}

START_TEST(all_windows_are_those_of_serving)
{
    static const unsigned plain[] = {0, 4, 8, 12, 16, 20, 22};
    static const unsigned overlapping[] = {0, 3, 6, 9, 12, 15, 18, 21, 22};
    struct bench bench;
    struct samples_view view = {.tokens_max = ROOM + 2, .windows = 9};
    setup(&bench);
    struct engine_input input = samples_fixture_input(&bench.fixture, 0, &view, NULL);
    check_windows(&bench, &input, plain, 7);
    ck_assert_uint_eq(samples_tokens_max(bench.fixture.samples, &view), 7 * (ROOM + 2));
    view.window_stride = 3;
    input = samples_fixture_input(&bench.fixture, 0, &view, NULL);
    check_windows(&bench, &input, overlapping, 9);
    drop(&bench);
}
END_TEST

START_TEST(too_many_windows_are_spread_evenly_without_chance)
{
    static const unsigned three[] = {0, 12, 22}, one[] = {0};
    struct bench bench;
    struct samples_view view = {.tokens_max = ROOM + 2, .windows = 3};
    setup(&bench);
    struct engine_input input = samples_fixture_input(&bench.fixture, 0, &view, NULL);
    check_windows(&bench, &input, three, 3);
    ck_assert_uint_eq(samples_tokens_max(bench.fixture.samples, &view), 3 * (ROOM + 2));
    view.windows = 1;
    input = samples_fixture_input(&bench.fixture, 0, &view, NULL);
    check_windows(&bench, &input, one, 1);
    drop(&bench);
}
END_TEST

START_TEST(a_choice_by_chance_is_ascending_and_each_window_as_likely)
{
    enum { DRAWS = 700 };
    struct bench bench;
    struct samples_view view = {.tokens_max = ROOM + 2, .windows = 3};
    unsigned drawn[PIECES] = {0};
    setup(&bench);
    for (unsigned i = 0; i < DRAWS; i++) {
        struct rng rng = rng_for(1, 2, i);
        struct engine_input input = samples_fixture_input(&bench.fixture, 0, &view, &rng);
        ck_assert_uint_eq(input.windows, 3);
        for (unsigned w = 0; w < 3; w++) {
            ck_assert(w == 0 || input.window_first[w - 1] < input.window_first[w]);
            drawn[input.window_first[w]]++;
        }
    }
    for (unsigned first = 0; first <= 22; first += first == 20 ? 2 : 4) {
        ck_assert_uint_gt(drawn[first], DRAWS * 3 / 7 - 80); /* six deviations */
        ck_assert_uint_lt(drawn[first], DRAWS * 3 / 7 + 80);
    }
    drop(&bench);
}
END_TEST

START_TEST(a_stride_that_windows_do_not_allow_is_refused)
{
    struct bench bench;
    struct err err = {0};
    struct samples_view view = {.tokens_max = 14, .windows = 2, .window_stride = 2};
    setup(&bench);
    ck_assert_int_eq(samples_check_windows(bench.fixture.samples, &view, &err), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "the window stride is 2; this model's windows hold 12 tokens of a "
                               "text, so it must be from 3 to 12");
    err = (struct err){0};
    view.window_stride = 3;
    ck_assert_int_eq(samples_check_windows(bench.fixture.samples, &view, &err), ERR_OK);
    drop(&bench);
}
END_TEST

SUITE("samples_windows", all_windows_are_those_of_serving,
      too_many_windows_are_spread_evenly_without_chance,
      a_choice_by_chance_is_ascending_and_each_window_as_likely,
      a_stride_that_windows_do_not_allow_is_refused)
