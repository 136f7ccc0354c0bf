/* Tags of a text's tokens as a view prepares them: with windows, left out lines and hidden words
 * each token keeps its tag. */
#include "tests/support/samples_fixture.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <string.h>

#define BERT GOLDEN "bert-3"
enum { PIECES = 26 };

struct bench {
    struct samples_fixture fixture;
    struct tempdir dir;
    struct tag_set set;
    struct samples_targets targets;
    const int32_t *all; /* [PIECES + 2] the text as one */
};

/* The letters of the alphabet, a piece each, a line of four; each is a span, and its label. */
static void setup(struct bench *bench)
{
    char line[2048], path[128];
    size_t len = (size_t)snprintf(line, sizeof line, "{\"text\":\"");
    for (unsigned i = 0; i < PIECES; i++)
        len += (size_t)snprintf(line + len, sizeof line - len, "%c%s", 'a' + i,
                                i % 4 == 3 ? "\\n" : " ");
    len += (size_t)snprintf(line + len, sizeof line - len, "\",\"spans\":[");
    for (unsigned i = 0; i < PIECES; i++)
        len += (size_t)snprintf(line + len, sizeof line - len,
                                "%s{\"label\":\"%c\",\"start\":%u,\"end\":%u}", i > 0 ? "," : "",
                                'a' + i, 2 * i, 2 * i + 1);
    len += (size_t)snprintf(line + len, sizeof line - len, "]}\n");
    tempdir_open(&bench->dir);
    tempdir_write(&bench->dir, "a.jsonl", line, len);
    snprintf(path, sizeof path, "%s/a.jsonl", bench->dir.path);
    struct samples_fixture *fixture = &bench->fixture;
    const struct dataset_options spans = {.kind = ENGINE_TEXT, .reads_spans = true};
    *fixture = (struct samples_fixture){0};
    arena_init(&fixture->arena);
    ck_assert(!spec_read(&fixture->spec, BERT, &fixture->arena, &fixture->err));
    ck_assert(!dataset_open(&fixture->dataset, path, &spans, &fixture->err));
    ck_assert(!tag_set_learn(&bench->set, &fixture->dataset, &fixture->spec, &fixture->arena,
                             &fixture->err));
    const struct samples_options options = {.threads = 1, .tags = &bench->set};
    ck_assert(!samples_open(&fixture->samples, &fixture->dataset, &fixture->spec, BERT, &options,
                            &fixture->err));
    bench->all = samples_fixture_input(fixture, 0, &(struct samples_view){0}, NULL).ids;
}

static void drop(struct bench *bench)
{
    samples_close(bench->fixture.samples);
    dataset_close(&bench->fixture.dataset);
    arena_deinit(&bench->fixture.arena);
    tempdir_close(&bench->dir);
}

/* Prepares, and checks that each target is the B- of the letter at its place; `hidden` may stand in
 * its place. Returns the targets' number. */
static unsigned check(struct bench *bench, const struct samples_view *view, struct rng *rng,
                      int32_t hidden, struct engine_input *input)
{
    struct samples_fixture *fixture = &bench->fixture;
    ck_assert(!samples_tagged_input(fixture->samples, 0, view, rng, &fixture->arena, input,
                                    &bench->targets, &fixture->err));
    for (unsigned i = 0; i < bench->targets.count; i++) {
        const unsigned place = bench->targets.places[i];
        const unsigned letter = bench->set.label_of[bench->targets.ids[i]];
        ck_assert(i == 0 || bench->targets.places[i - 1] < place);
        ck_assert_uint_eq((unsigned)bench->targets.ids[i], bench->set.begin[letter]);
        ck_assert_msg(input->ids[place] == bench->all[1 + letter] || input->ids[place] == hidden,
                      "place %u has another token than letter %u", place, letter);
    }
    return bench->targets.count;
}

START_TEST(all_tokens_of_the_text_are_targets)
{
    struct bench bench;
    struct engine_input input;
    setup(&bench);
    ck_assert_uint_eq(check(&bench, &(struct samples_view){0}, NULL, -1, &input), PIECES);
    ck_assert_uint_eq(bench.targets.places[0], 1);
    ck_assert_uint_eq(bench.targets.places[PIECES - 1], PIECES);
    size_t first;
    ck_assert_uint_eq(samples_misfits(bench.fixture.samples, &first), 0);
    ck_assert_uint_eq(first, 1);
    drop(&bench);
}
END_TEST

START_TEST(targets_of_windows_are_those_of_their_tokens)
{
    const struct samples_view whole = {.tokens_max = 8, .windows = 9, .window_stride = 5};
    const struct samples_view some = {.tokens_max = 8, .windows = 2};
    struct bench bench;
    struct engine_input input;
    setup(&bench);
    ck_assert_uint_eq(check(&bench, &whole, NULL, -1, &input), 5 * 6);
    ck_assert_uint_eq(input.windows, 5);
    for (unsigned seed = 0; seed < 20; seed++) {
        struct rng rng = rng_for(seed, 0, 0);
        ck_assert_uint_eq(check(&bench, &some, &rng, -1, &input), 2 * 6);
    }
    drop(&bench);
}
END_TEST

START_TEST(left_out_lines_and_hidden_words_leave_tags_in_their_places)
{
    struct samples_view view = {
        .tokens_max = 12, .any_window = true, .line_dropout = 0.8f, .word_dropout = 0.3f};
    struct bench bench;
    struct engine_input input;
    unsigned least = PIECES, hidden_words = 0;
    setup(&bench);
    const int32_t mask = bench.fixture.samples != NULL ? 4 : -1;
    for (unsigned seed = 0; seed < 60; seed++) {
        struct rng rng = rng_for(seed, 0, 0);
        view.windows = seed % 2 * 3;
        const unsigned count = check(&bench, &view, &rng, mask, &input);
        least = count < least ? count : least;
        for (unsigned t = 0; t < input.tokens; t++)
            hidden_words += input.ids[t] == mask;
    }
    ck_assert_uint_lt(least, 10);
    ck_assert_uint_gt(hidden_words, 0);
    drop(&bench);
}
END_TEST

SUITE("samples_tags", all_tokens_of_the_text_are_targets,
      targets_of_windows_are_those_of_their_tokens,
      left_out_lines_and_hidden_words_leave_tags_in_their_places)
