/* Serving is the oracle: samples of a text without an rng must be the input that engine_prepare
 * gives. */
#include "learn/data/samples_form.h"
#include "tests/support/samples_fixture.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <string.h>

#define BERT GOLDEN "bert-3"
#define REPORTS "tests/data/eval/kernel.jsonl"

static void expect_served_texts(struct samples_fixture *fixture)
{
    for (size_t i = 0; i < fixture->samples->count; i++) {
        const struct dataset_item *item = &fixture->dataset.items[i];
        struct engine_input ours =
                                samples_fixture_input(fixture, i, &(struct samples_view){0}, NULL),
                            served;
        ck_assert(!engine_prepare(fixture->model, text_source_len(item->input, item->input_len),
                                  NULL, &fixture->arena, &served, &fixture->err));
        ck_assert_uint_eq(ours.tokens, served.tokens);
        ck_assert_int_eq(ours.truncated, served.truncated);
        ck_assert_mem_eq(ours.ids, served.ids, ours.tokens * sizeof *ours.ids);
    }
}

START_TEST(samples_prepare_texts_as_serving_does)
{
    struct samples_fixture fixture;
    samples_fixture_open(&fixture, BERT, REPORTS);
    expect_served_texts(&fixture);
    samples_fixture_close(&fixture);
}
END_TEST

/* A text whose pieces can be told apart: one digit or letter is one piece. */
static void setup_words(struct samples_fixture *fixture, struct tempdir *dir, const char *text)
{
    char line[8192], path[128];
    snprintf(line, sizeof line, "{\"text\": \"%s\", \"label\": \"a\"}\n", text);
    tempdir_open(dir);
    tempdir_write(dir, "a.jsonl", line, strlen(line));
    snprintf(path, sizeof path, "%s/a.jsonl", dir->path);
    samples_fixture_open(fixture, BERT, path);
}

static const int32_t *all_ids(struct samples_fixture *fixture)
{
    return samples_fixture_input(fixture, 0, &(struct samples_view){0}, NULL).ids;
}

START_TEST(samples_draw_every_window)
{
    struct samples_fixture fixture;
    struct tempdir dir;
    setup_words(&fixture, &dir, "a b c d e f g h i j");
    struct samples_view view = {.tokens_max = 6, .any_window = true};
    const int32_t *all = all_ids(&fixture);
    unsigned seen[11] = {0};
    for (unsigned i = 0; i < 60; i++) {
        struct rng rng = rng_for(1, 2, i);
        struct engine_input input = samples_fixture_input(&fixture, 0, &view, &rng);
        for (unsigned at = 0; at <= 10; at++)
            seen[at] += input.ids[1] == all[at + 1];
    }
    ck_assert_uint_gt(seen[0], 8);
    ck_assert_uint_gt(seen[4], 8);
    ck_assert_uint_gt(seen[6], 8);
    ck_assert_uint_eq(seen[0] + seen[4] + seen[6], 60);
    samples_fixture_close(&fixture);
    tempdir_close(&dir);
}
END_TEST

START_TEST(samples_keep_more_pieces_than_the_model_reads)
{
    struct samples_fixture fixture;
    struct tempdir dir;
    char text[2 * 2000 + 1] = "";
    for (unsigned i = 0; i < 2000; i++)
        memcpy(text + (size_t)2 * i, "a ", 3);
    setup_words(&fixture, &dir, text);
    expect_served_texts(&fixture);
    ck_assert(samples_fixture_input(&fixture, 0, &(struct samples_view){0}, NULL).truncated);
    samples_fixture_close(&fixture);
    tempdir_close(&dir);
}
END_TEST

START_TEST(samples_bound_the_pieces_of_a_text)
{
    struct samples_fixture fixture;
    struct samples_options options = {.threads = 1, .pieces_max = 5};
    samples_fixture_open_with(&fixture, BERT, REPORTS, &options);
    ck_assert_int_eq(fixture.err.code, ERR_OK);
    struct engine_input input = samples_fixture_input(&fixture, 0, &(struct samples_view){0}, NULL);
    ck_assert_uint_eq(input.tokens, 7);
    ck_assert(input.truncated);
    samples_fixture_close(&fixture);
}
END_TEST

START_TEST(samples_drop_words_at_the_rate)
{
    struct samples_fixture fixture;
    samples_fixture_open(&fixture, BERT, REPORTS);
    struct samples_view view = {.word_dropout = 0.25f};
    size_t changed = 0, pieces = 0;
    for (unsigned i = 0; i < 40; i++) {
        struct rng rng = rng_for(1, 2, i);
        size_t item = i % fixture.samples->count;
        struct engine_input plain =
            samples_fixture_input(&fixture, item, &(struct samples_view){0}, NULL);
        struct engine_input input = samples_fixture_input(&fixture, item, &view, &rng);
        ck_assert_uint_eq(input.tokens, plain.tokens);
        ck_assert_int_eq(input.ids[0], plain.ids[0]);
        ck_assert_int_eq(input.ids[input.tokens - 1], plain.ids[input.tokens - 1]);
        for (unsigned t = 1; t < input.tokens - 1; t++)
            changed += input.ids[t] != plain.ids[t];
        pieces += input.tokens - 2;
    }
    ck_assert_double_eq_tol((double)changed / (double)pieces, 0.25, 0.03);
    samples_fixture_close(&fixture);
}
END_TEST

/* Lines of one, two and three pieces; each line begins with a letter of its own. */
#define LINES "a\\nb 1\\n\\nc 2 3\\r\\n d\\ne 4"

START_TEST(samples_leave_out_whole_lines)
{
    struct samples_fixture fixture;
    struct tempdir dir;
    setup_words(&fixture, &dir, LINES);
    struct samples_view view = {.line_dropout = 0.9f};
    const int32_t *all = all_ids(&fixture);
    const unsigned begins[] = {1, 2, 4,
                               7, 8, 10}; /* places of the lines' first pieces, and the end */
    unsigned kept[5] = {0};
    for (unsigned i = 0; i < 400; i++) {
        struct rng rng = rng_for(1, 2, i);
        struct engine_input input = samples_fixture_input(&fixture, 0, &view, &rng);
        unsigned at = 1;
        for (unsigned line = 0; line < 5; line++) {
            if (input.ids[at] != all[begins[line]])
                continue;
            unsigned pieces = begins[line + 1] - begins[line];
            ck_assert_mem_eq(input.ids + at, all + begins[line], pieces * sizeof *all);
            at += pieces;
            kept[line]++;
        }
        ck_assert_uint_eq(at + 1, input.tokens);
        ck_assert_int_eq(input.ids[at], all[10]);
    }
    /* All lines are kept where all would have been left out: the mean of (0.9 u)^5. */
    double all_left_out = 0.9 * 0.9 * 0.9 * 0.9 * 0.9 / 6;
    for (unsigned line = 0; line < 5; line++)
        ck_assert_double_eq_tol(kept[line] / 400.0, 1 - 0.45 + all_left_out, 0.07);
    samples_fixture_close(&fixture);
    tempdir_close(&dir);
}
END_TEST

START_TEST(samples_move_later_lines_up_into_the_room)
{
    struct samples_fixture fixture;
    struct tempdir dir;
    setup_words(&fixture, &dir, LINES);
    struct samples_view view = {.line_dropout = 0.9f, .tokens_max = 5};
    const int32_t *all = all_ids(&fixture);
    unsigned reached = 0;
    for (unsigned i = 0; i < 100; i++) {
        struct rng rng = rng_for(1, 2, i);
        struct engine_input input = samples_fixture_input(&fixture, 0, &view, &rng);
        ck_assert_uint_le(input.tokens, 5);
        for (unsigned t = 1; t + 1 < input.tokens; t++)
            reached += input.ids[t] == all[7];
    }
    ck_assert_uint_gt(reached, 10);
    samples_fixture_close(&fixture);
    tempdir_close(&dir);
}
END_TEST

/* ---- masked language modelling ---- */

struct masked_tally {
    size_t plain, chosen, masked, kept, other;
    int32_t mask;
};

static void count_masked(struct samples_fixture *fixture, size_t item, unsigned seed,
                         struct masked_tally *tally)
{
    struct rng rng = rng_for(1, 2, seed);
    struct engine_input plain =
                            samples_fixture_input(fixture, item, &(struct samples_view){0}, NULL),
                        input;
    struct samples_targets masked;
    ck_assert_msg(!samples_masked_input(fixture->samples, item, &(struct samples_view){0}, &rng,
                                        &fixture->arena, &input, &masked, &fixture->err),
                  "%s", fixture->err.text);
    ck_assert_uint_eq(input.tokens, plain.tokens);
    ck_assert_uint_ge(masked.count, 1);
    for (unsigned t = 0, k = 0; t < input.tokens; t++) {
        bool chosen = k < masked.count && masked.places[k] == t;
        tally->plain += plain.ids[t] >= 5;
        if (!chosen) {
            ck_assert_int_eq(input.ids[t], plain.ids[t]);
            continue;
        }
        ck_assert_int_eq(masked.ids[k++], plain.ids[t]);
        tally->chosen++;
        if (input.ids[t] == tally->mask)
            tally->masked++;
        else if (input.ids[t] == plain.ids[t])
            tally->kept++;
        else
            tally->other++;
    }
}

/* The id of a token by its line in vocab.txt. */
static int32_t id_of(const char *dir, const char *token)
{
    char path[128], line[256];
    int32_t id = 0;
    snprintf(path, sizeof path, "%s/vocab.txt", dir);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\r\n")] = '\0';
        if (strcmp(line, token) == 0)
            break;
        id++;
    }
    fclose(file);
    return id;
}

START_TEST(samples_mask_fifteen_percent_as_bert_does)
{
    struct samples_fixture fixture;
    samples_fixture_open(&fixture, BERT, REPORTS);
    struct masked_tally tally = {.mask = id_of(BERT, "[MASK]")};
    for (unsigned i = 0; i < 200; i++)
        count_masked(&fixture, i % fixture.samples->count, i, &tally);
    double chosen = (double)tally.chosen;
    ck_assert_uint_gt(tally.chosen, 1000);
    ck_assert_double_eq_tol(chosen / (double)tally.plain, 0.15, 0.015);
    ck_assert_double_eq_tol((double)tally.masked / chosen, 0.8, 0.04);
    ck_assert_double_eq_tol((double)tally.kept / chosen, 0.1, 0.03);
    ck_assert_double_eq_tol((double)tally.other / chosen, 0.1, 0.03);
    samples_fixture_close(&fixture);
}
END_TEST

START_TEST(samples_mask_one_piece_at_least_and_never_a_special_token)
{
    struct samples_fixture fixture;
    struct tempdir dir;
    setup_words(&fixture, &dir, "[SEP] a [MASK]");
    for (unsigned i = 0; i < 50; i++) {
        struct rng rng = rng_for(1, 2, i);
        struct engine_input input;
        struct samples_targets masked;
        ck_assert(!samples_masked_input(fixture.samples, 0, &(struct samples_view){0}, &rng,
                                        &fixture.arena, &input, &masked, &fixture.err));
        ck_assert_uint_eq(input.tokens, 5);
        ck_assert_uint_eq(masked.count, 1);
        ck_assert_uint_eq(masked.places[0], 2);
    }
    samples_fixture_close(&fixture);
    tempdir_close(&dir);
}
END_TEST

/* Opens samples of the fixture's data set with another spec; nothing opens. */
static void expect_refused(struct samples_fixture *fixture, const struct spec *spec,
                           enum err_code code, const char *text)
{
    struct samples *samples;
    struct err err = {0};
    ck_assert_int_eq(samples_open(&samples, &fixture->dataset, spec, BERT,
                                  &(struct samples_options){.threads = 1}, &err),
                     code);
    ck_assert_str_eq(err.text, text);
    ck_assert_ptr_null(samples);
}

START_TEST(samples_refuse_a_model_that_does_not_fit)
{
    struct samples_fixture fixture;
    struct spec images, spec;
    samples_fixture_open(&fixture, BERT, REPORTS);
    spec = fixture.spec;
    unsigned words = spec.vocab_size;
    ck_assert(!spec_read(&images, GOLDEN "vit-0", &fixture.arena, &fixture.err));
    expect_refused(&fixture, &images, ERR_UNUSABLE, "the model takes images");
    spec.vocab_size = 7;
    char text[120];
    snprintf(text, sizeof text, "the vocabulary has %u entries but config.json's vocab_size is 7",
             words);
    expect_refused(&fixture, &spec, ERR_UNSUPPORTED, text);
    samples_fixture_close(&fixture);
}
END_TEST

START_TEST(samples_mask_words_of_texts_only)
{
    struct samples_fixture fixture;
    struct samples_targets masked;
    struct engine_input input;
    struct rng rng = rng_for(1, 2, 3);
    samples_fixture_open(&fixture, GOLDEN "vit-0", "tests/data/eval/wafer.jsonl");
    ck_assert_int_eq(samples_masked_input(fixture.samples, 0, &(struct samples_view){0}, &rng,
                                          &fixture.arena, &input, &masked, &fixture.err),
                     ERR_UNUSABLE);
    ck_assert_str_eq(fixture.err.text, "words are masked in texts only");
    samples_fixture_close(&fixture);
}
END_TEST

START_TEST(samples_mask_nothing_without_a_mask_token_or_of_an_unusable_text)
{
    static const char list[] = "text,label\nword,a\n\xFF,a\n\" \",a\n";
    struct samples_fixture fixture;
    struct samples_targets masked;
    struct engine_input input;
    struct tempdir dir;
    struct rng rng = rng_for(1, 2, 3);
    char path[128];
    tempdir_open(&dir);
    tempdir_write(&dir, "a.csv", list, strlen(list));
    snprintf(path, sizeof path, "%s/a.csv", dir.path);
    samples_fixture_open(&fixture, BERT, path);
    ck_assert_ptr_null(samples_problem(fixture.samples, 0));
    ck_assert_str_eq(
        samples_problem(fixture.samples, 1),
        "invalid UTF-8 at byte 0 of the text (iconv -f windows-1252 -t UTF-8 converts a file)");
    ck_assert_str_eq(samples_problem(fixture.samples, 2),
                     "the text has no token: it is empty, blank or holds only control characters");
    for (size_t item = 1; item < 3; item++) {
        struct err err = {0};
        masked.count = 7;
        ck_assert_int_eq(samples_masked_input(fixture.samples, item, &(struct samples_view){0},
                                              &rng, &fixture.arena, &input, &masked, &err),
                         ERR_UNUSABLE);
        ck_assert_ptr_nonnull(strstr(err.text, samples_problem(fixture.samples, item)));
        ck_assert_uint_eq(masked.count, 0);
    }
    fixture.samples->pipeline.tokenizer->specials.mask = -1;
    ck_assert_int_eq(samples_masked_input(fixture.samples, 0, &(struct samples_view){0}, &rng,
                                          &fixture.arena, &input, &masked, &fixture.err),
                     ERR_UNSUPPORTED);
    ck_assert_str_eq(fixture.err.text, "the vocabulary has no mask_token");
    samples_fixture_close(&fixture);
    tempdir_close(&dir);
}

static void count_rounds(void *context, size_t done)
{
    char *text = context;
    sprintf(text + strlen(text), "%zu ", done);
}

/* The list has more items than two rounds, of 1, 2, .. 7 pieces in turn. The number of threads does
 * not divide them. Every hundredth item is blank. */
START_TEST(samples_read_every_item_of_every_round)
{
    enum { ITEMS = 1030 };
    static char list[ITEMS * 64];
    struct samples_fixture fixture;
    struct tempdir dir;
    char path[128], rounds[64] = "";
    size_t used = 0, first = 7;
    for (unsigned i = 0; i < ITEMS; i++)
        used += (size_t)snprintf(list + used, sizeof list - used,
                                 "{\"text\": \"%.*s\", \"label\": \"a\"}\n",
                                 i % 100 == 50 ? 0 : (int)(2 * (i % 7) + 1), "a b c d e f g");
    tempdir_open(&dir);
    tempdir_write(&dir, "a.jsonl", list, used);
    snprintf(path, sizeof path, "%s/a.jsonl", dir.path);
    struct samples_options options = {.threads = 3, .progress = count_rounds, .context = rounds};
    samples_fixture_open_with(&fixture, BERT, path, &options);
    ck_assert_str_eq(fixture.err.text, "");
    ck_assert_str_eq(rounds, "512 1024 1030 ");
    ck_assert_uint_eq(fixture.samples->count, ITEMS);
    ck_assert_uint_eq(samples_failed(fixture.samples, &first), 10);
    ck_assert_uint_eq(first, 50);
    for (unsigned i = 0; i < ITEMS; i++) {
        const char *problem = samples_problem(fixture.samples, i);
        ck_assert_int_eq(problem != NULL, i % 100 == 50);
        if (problem != NULL)
            ck_assert_str_eq(problem, "the text has no token: it is empty, blank or holds only "
                                      "control characters");
        else
            ck_assert_uint_eq(
                samples_fixture_input(&fixture, i, &(struct samples_view){0}, NULL).tokens,
                i % 7 + 3);
    }
    struct samples_view view = {0};
    ck_assert_uint_eq(samples_tokens_max(fixture.samples, &view), 9);
    view.tokens_max = 9;
    ck_assert_uint_eq(samples_tokens_max(fixture.samples, &view), 9);
    view.tokens_max = 8;
    ck_assert_uint_eq(samples_tokens_max(fixture.samples, &view), 8);
    view.tokens_max = 1;
    ck_assert_uint_eq(samples_tokens_max(fixture.samples, &view), 3);
    struct engine_input input;
    ck_assert_int_eq(
        samples_input(fixture.samples, 50, &view, NULL, &fixture.arena, &input, &fixture.err),
        ERR_UNUSABLE);
    ck_assert_str_eq(fixture.err.text, samples_problem(fixture.samples, 50));
    samples_fixture_close(&fixture);
    tempdir_close(&dir);
}
END_TEST

START_TEST(samples_failed_leaves_the_count_if_no_sample_failed)
{
    struct samples_fixture fixture;
    size_t first = 99;
    samples_fixture_open(&fixture, BERT, REPORTS);
    ck_assert_uint_eq(samples_failed(fixture.samples, &first), 0);
    ck_assert_uint_eq(first, fixture.samples->count);
    samples_fixture_close(&fixture);
}
END_TEST

/* A view is [CLS], the window and [SEP]. `truncated`: pieces were cut off, by the view or when the
 * text was read. */
START_TEST(samples_cut_a_text_to_the_view)
{
    static const struct {
        unsigned pieces_max, tokens_max, tokens;
        bool truncated;
    } cases[] = {{0, 0, 7, false}, {0, 7, 7, false}, {0, 6, 6, true}, {0, 2, 3, true},
                 {5, 0, 7, false}, {4, 0, 6, true},  {4, 4, 4, true}, {1 << 25, 0, 7, false}};
    struct tempdir dir;
    char path[128];
    tempdir_open(&dir);
    tempdir_write(&dir, "a.csv", "text,label\na b c d e,x\n", 23);
    snprintf(path, sizeof path, "%s/a.csv", dir.path);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct samples_fixture fixture;
        struct samples_options options = {.threads = 1, .pieces_max = cases[i].pieces_max};
        samples_fixture_open_with(&fixture, BERT, path, &options);
        struct samples_view view = {.tokens_max = cases[i].tokens_max};
        struct engine_input input = samples_fixture_input(&fixture, 0, &view, NULL);
        ck_assert_int_eq(input.kind, ENGINE_TEXT);
        ck_assert_uint_eq(input.tokens, cases[i].tokens);
        ck_assert_int_eq(input.truncated, cases[i].truncated);
        ck_assert_int_eq(input.ids[0], id_of(BERT, "[CLS]"));
        ck_assert_int_eq(input.ids[input.tokens - 1], id_of(BERT, "[SEP]"));
        for (unsigned t = 1; t + 1 < input.tokens; t++)
            ck_assert_int_eq(input.ids[t], id_of(BERT, (char[]){(char)('a' + t - 1), '\0'}));
        samples_fixture_close(&fixture);
    }
    tempdir_close(&dir);
}
END_TEST

/* Every piece is hidden at a rate of one, whatever it is, and none at a rate of nothing. */
START_TEST(samples_hide_every_piece_at_a_rate_of_one)
{
    struct samples_fixture fixture;
    struct tempdir dir;
    struct rng rng = rng_for(1, 2, 3);
    setup_words(&fixture, &dir, "a b c d");
    struct samples_view view = {.word_dropout = 1};
    struct engine_input input = samples_fixture_input(&fixture, 0, &view, &rng);
    const int32_t *all = all_ids(&fixture);
    ck_assert_uint_eq(input.tokens, 6);
    ck_assert_int_eq(input.ids[0], all[0]);
    ck_assert_int_eq(input.ids[5], all[5]);
    for (unsigned t = 1; t < 5; t++)
        ck_assert_int_eq(input.ids[t], id_of(BERT, "[MASK]"));
    input = samples_fixture_input(&fixture, 0, &view, NULL);
    ck_assert_mem_eq(input.ids, all, 6 * sizeof *all);
    struct rng untouched = rng;
    view.word_dropout = 0;
    input = samples_fixture_input(&fixture, 0, &view, &rng);
    ck_assert_mem_eq(input.ids, all, 6 * sizeof *all);
    ck_assert_uint_eq(rng.state, untouched.state); /* nothing was drawn */
    samples_fixture_close(&fixture);
    tempdir_close(&dir);
}
END_TEST

/* The lines fill their memory to the last byte, and one more does not fit. Another text lies behind
 * them. */
START_TEST(samples_know_every_line_of_a_text)
{
    for (unsigned lines = 15; lines <= 18; lines++) {
        struct samples_fixture fixture;
        struct tempdir dir;
        char list[1024], path[128];
        struct rng rng = rng_for(1, 2, 3);
        size_t used = (size_t)snprintf(list, sizeof list, "{\"label\": \"a\", \"text\": \"");
        for (unsigned i = 0; i < lines; i++)
            used += (size_t)snprintf(list + used, sizeof list - used, i > 0 ? "\\n%c" : "%c",
                                     (int)('a' + i));
        snprintf(list + used, sizeof list - used,
                 "\"}\n{\"label\": \"a\", \"text\": \"z z z z z z z z\"}\n");
        tempdir_open(&dir);
        tempdir_write(&dir, "a.jsonl", list, strlen(list));
        snprintf(path, sizeof path, "%s/a.jsonl", dir.path);
        samples_fixture_open_with(&fixture, BERT, path, &(struct samples_options){.threads = 1});
        ck_assert_str_eq(fixture.err.text, "");
        struct samples_view view = {.line_dropout = 1e-30f};
        struct engine_input input = samples_fixture_input(&fixture, 0, &view, &rng);
        ck_assert_uint_eq(input.tokens, lines + 2);
        ck_assert_mem_eq(input.ids, all_ids(&fixture), input.tokens * sizeof *input.ids);
        samples_fixture_close(&fixture);
        tempdir_close(&dir);
    }
}
END_TEST

START_TEST(samples_draw_no_window_unless_asked_to)
{
    struct samples_fixture fixture;
    struct tempdir dir;
    setup_words(&fixture, &dir, "a b c d e f g h i j");
    const int32_t *all = all_ids(&fixture);
    for (unsigned i = 0; i < 20; i++) {
        struct rng rng = rng_for(1, 2, i), again = rng;
        struct samples_view view = {.tokens_max = 6};
        struct engine_input input = samples_fixture_input(&fixture, 0, &view, &rng);
        ck_assert_uint_eq(input.tokens, 6);
        ck_assert_mem_eq(input.ids, all, 5 * sizeof *all);
        ck_assert_uint_eq(rng.state, again.state);
        view.any_window = true;
        input = samples_fixture_input(&fixture, 0, &view, NULL);
        ck_assert_mem_eq(input.ids, all, 5 * sizeof *all);
        input = samples_fixture_input(&fixture, 0, &view, &rng);
        static const unsigned starts[] = {1, 5, 7};
        const int32_t *window = all + starts[rng_below(&again, 3)];
        ck_assert_mem_eq(input.ids + 1, window, 4 * sizeof *all);
    }
    samples_fixture_close(&fixture);
    tempdir_close(&dir);
}
END_TEST

SUITE("samples_text", samples_refuse_a_model_that_does_not_fit, samples_mask_words_of_texts_only,
      samples_prepare_texts_as_serving_does, samples_draw_every_window,
      samples_keep_more_pieces_than_the_model_reads, samples_bound_the_pieces_of_a_text,
      samples_drop_words_at_the_rate, samples_leave_out_whole_lines,
      samples_move_later_lines_up_into_the_room, samples_mask_fifteen_percent_as_bert_does,
      samples_mask_one_piece_at_least_and_never_a_special_token,
      samples_mask_nothing_without_a_mask_token_or_of_an_unusable_text,
      samples_read_every_item_of_every_round, samples_failed_leaves_the_count_if_no_sample_failed,
      samples_cut_a_text_to_the_view, samples_hide_every_piece_at_a_rate_of_one,
      samples_know_every_line_of_a_text, samples_draw_no_window_unless_asked_to)
