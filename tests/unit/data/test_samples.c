/* Serving is the oracle: what samples prepare without an rng must be what engine_prepare_* gives.
 */
#include "engine/base/file.h"
#include "engine/data/samples.h"
#include "engine/engine.h"
#include "tests/support/stdf_writer.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN "tests/data/golden/"

/* A model's spec, a data set and its samples; the model itself is the oracle. */
struct fixture {
    struct arena arena;
    struct spec spec;
    struct dataset dataset;
    struct samples *samples;
    struct engine_model *model;
    struct err err;
};

static void setup_with(struct fixture *fixture, const char *dir, const char *data,
                       const struct samples_options *options)
{
    *fixture = (struct fixture){0};
    struct err *err = &fixture->err;
    arena_init(&fixture->arena);
    ck_assert_msg(!spec_read(&fixture->spec, dir, &fixture->arena, err), "%s", err->text);
    struct dataset_options kind = {.kind = fixture->spec.family->kind};
    ck_assert_msg(!dataset_open(&fixture->dataset, data, &kind, err), "%s", err->text);
    ck_assert_msg(!engine_open(&fixture->model, dir, &(struct engine_options){0}, err), "%s",
                  err->text);
    samples_open(&fixture->samples, &fixture->dataset, &fixture->spec, dir, options, err);
}

static void setup(struct fixture *fixture, const char *dir, const char *data)
{
    setup_with(fixture, dir, data, &(struct samples_options){.threads = 2});
    ck_assert_msg(fixture->err.code == ERR_OK, "%s", fixture->err.text);
}

static void drop(struct fixture *fixture)
{
    samples_close(fixture->samples);
    dataset_close(&fixture->dataset);
    engine_close(fixture->model);
    arena_deinit(&fixture->arena);
}

static struct engine_input input_of(struct fixture *fixture, size_t item,
                                    const struct samples_view *view, struct rng *rng)
{
    struct engine_input input;
    ck_assert_msg(
        !samples_input(fixture->samples, item, view, rng, &fixture->arena, &input, &fixture->err),
        "%s", fixture->err.text);
    return input;
}

/* ---- images ---- */

static struct engine_input served_image(struct fixture *fixture, const char *path)
{
    struct engine_input input;
    char *bytes;
    size_t len;
    ck_assert(!file_read(&bytes, &len, path, 1 << 24, &fixture->err));
    ck_assert_msg(!engine_prepare_image(fixture->model, bytes, len, 1 << 24, &fixture->arena,
                                        &input, &fixture->err),
                  "%s", fixture->err.text);
    free(bytes);
    return input;
}

static size_t patch_bytes(const struct fixture *fixture, unsigned patches)
{
    return (size_t)patches * 3 * fixture->spec.patch * fixture->spec.patch * sizeof(float);
}

static void expect_served_images(const char *dir)
{
    static const char list[] = "0_center.png,a\n1_scratch.png,a\n2_edge-ring.png,a\n"
                               "3_donut.png,a\n4_loc.png,a\n5_random.png,a\n6_texture.png,a\n";
    struct tempdir folder;
    char path[128], text[8 * PATH_MAX] = "image,label\n", here[PATH_MAX];
    ck_assert_ptr_nonnull(realpath(GOLDEN "images", here));
    for (const char *at = list; *at != '\0'; at = strchr(at, '\n') + 1)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s/%.*s\n", here,
                 (int)strcspn(at, "\n"), at);
    tempdir_open(&folder);
    tempdir_write(&folder, "list.csv", text, strlen(text));
    snprintf(path, sizeof path, "%s/list.csv", folder.path);
    struct fixture fixture;
    setup(&fixture, dir, path);
    ck_assert_uint_eq(samples_count(fixture.samples), 7);
    for (size_t i = 0; i < 7; i++) {
        struct engine_input ours = input_of(&fixture, i, &(struct samples_view){0}, NULL);
        struct engine_input served = served_image(&fixture, fixture.dataset.items[i].input);
        ck_assert_uint_eq(ours.tokens, served.tokens);
        ck_assert_int_eq(ours.kind, ENGINE_IMAGE);
        ck_assert_mem_eq(ours.patches, served.patches, patch_bytes(&fixture, fixture.spec.patches));
    }
    drop(&fixture);
    tempdir_close(&folder);
}

START_TEST(samples_prepare_images_bit_for_bit_as_serving_does)
{
    expect_served_images(GOLDEN "vit-0");
    expect_served_images(GOLDEN "vit-1");
    expect_served_images(GOLDEN "deit-0");
}
END_TEST

START_TEST(samples_prepare_an_image_at_another_size)
{
    struct fixture fixture;
    setup(&fixture, GOLDEN "deit-0", "tests/data/eval/wafer");
    unsigned patch = fixture.spec.patch, specials = fixture.spec.family->image_specials;
    for (unsigned side = 1; side <= 6; side++) {
        struct samples_view view = {.image_size = side * patch};
        struct engine_input input = input_of(&fixture, 0, &view, NULL);
        ck_assert_uint_eq(input.tokens, side * side + specials);
        ck_assert_uint_eq(samples_tokens_max(fixture.samples, &view), input.tokens);
    }
    struct engine_input input;
    ck_assert_int_eq(samples_input(fixture.samples, 0,
                                   &(struct samples_view){.image_size = patch - 1}, NULL,
                                   &fixture.arena, &input, &fixture.err),
                     ERR_UNUSABLE);
    drop(&fixture);
}
END_TEST

START_TEST(samples_augment_only_with_an_rng_and_repeat_themselves)
{
    struct fixture fixture;
    setup(&fixture, GOLDEN "vit-0", "tests/data/eval/wafer");
    struct samples_view view = {
        .augment = {.mirror = 1, .turn = 1, .shift = 0.1f, .die_noise = 0.1f}};
    struct rng one = rng_for(1, 2, 3), again = rng_for(1, 2, 3), other = rng_for(1, 2, 4);
    struct engine_input inputs[] = {
        input_of(&fixture, 0, &view, NULL), input_of(&fixture, 0, &(struct samples_view){0}, NULL),
        input_of(&fixture, 0, &view, &one), input_of(&fixture, 0, &view, &again),
        input_of(&fixture, 0, &view, &other)};
    size_t bytes = patch_bytes(&fixture, fixture.spec.patches);
    ck_assert_mem_eq(inputs[0].patches, inputs[1].patches, bytes);
    ck_assert_mem_ne(inputs[0].patches, inputs[2].patches, bytes);
    ck_assert_mem_eq(inputs[2].patches, inputs[3].patches, bytes);
    ck_assert_mem_ne(inputs[2].patches, inputs[4].patches, bytes);
    drop(&fixture);
}
END_TEST

START_TEST(samples_keep_a_grey_image_in_one_byte_a_pixel)
{
    struct fixture fixture;
    setup(&fixture, GOLDEN "vit-0", "tests/data/eval/wafer");
    ck_assert_uint_lt(samples_bytes(fixture.samples), 6 * 64 * 64 + 6 * 256);
    drop(&fixture);
}
END_TEST

START_TEST(samples_shrink_an_image_above_the_bound)
{
    struct fixture whole, bound;
    struct samples_options options = {.threads = 1, .pixels_max = 100};
    setup(&whole, GOLDEN "vit-0", "tests/data/eval/wafer");
    setup_with(&bound, GOLDEN "vit-0", "tests/data/eval/wafer", &options);
    ck_assert_int_eq(bound.err.code, ERR_OK);
    ck_assert_uint_lt(samples_bytes(bound.samples), samples_bytes(whole.samples) - 3000);
    ck_assert_uint_eq(input_of(&bound, 0, &(struct samples_view){0}, NULL).tokens,
                      input_of(&whole, 0, &(struct samples_view){0}, NULL).tokens);
    drop(&whole);
    drop(&bound);
}
END_TEST

static void count_calls(void *context, size_t done)
{
    size_t *last = context;
    ck_assert_uint_gt(done, *last);
    *last = done;
}

START_TEST(samples_name_an_item_that_fails_and_go_on)
{
    static const char list[] = "image,label\nmissing.png,a\nnone.png,a\n";
    struct tempdir folder;
    struct fixture fixture;
    char path[128], text[PATH_MAX + 64], here[PATH_MAX];
    size_t done = 0, first;
    ck_assert_ptr_nonnull(realpath(GOLDEN "images/0_center.png", here));
    snprintf(text, sizeof text, "image,label\n%s,a\nmissing.png,a\nnone.png,a\n", here);
    tempdir_open(&folder);
    tempdir_write(&folder, "good.csv", text, strlen(text));
    tempdir_write(&folder, "bad.csv", list, strlen(list));
    tempdir_write(&folder, "none.png", "not an image", 12);
    snprintf(path, sizeof path, "%s/good.csv", folder.path);
    struct samples_options options = {.threads = 3, .progress = count_calls, .context = &done};
    setup_with(&fixture, GOLDEN "vit-0", path, &options);
    ck_assert_int_eq(fixture.err.code, ERR_OK);
    ck_assert_uint_eq(done, 3);
    ck_assert_uint_eq(samples_failed(fixture.samples, &first), 2);
    ck_assert_uint_eq(first, 1);
    ck_assert_ptr_null(samples_problem(fixture.samples, 0));
    ck_assert_ptr_nonnull(strstr(samples_problem(fixture.samples, 1), "No such file"));
    ck_assert_ptr_nonnull(strstr(samples_problem(fixture.samples, 2), "neither PNG nor JPEG"));
    struct engine_input input;
    ck_assert_int_eq(samples_input(fixture.samples, 2, &(struct samples_view){0}, NULL,
                                   &fixture.arena, &input, &fixture.err),
                     ERR_UNUSABLE);
    drop(&fixture);
    snprintf(path, sizeof path, "%s/bad.csv", folder.path);
    setup_with(&fixture, GOLDEN "vit-0", path, &(struct samples_options){.threads = 1});
    ck_assert_int_eq(fixture.err.code, ERR_UNUSABLE);
    ck_assert_msg(strstr(fixture.err.text, "none of 2 inputs can be used; missing.png: ") != NULL,
                  "%s", fixture.err.text);
    drop(&fixture);
    tempdir_close(&folder);
}
END_TEST

/* A wafer of an STDF file is what its picture would be. */
START_TEST(samples_read_wafers_from_stdf)
{
    struct tempdir dir;
    struct fixture fixture;
    struct stdf_writer writer;
    char path[128];
    static const char list[] = "image,label\nlot.stdf#B,a\nlot.stdf#A,a\nlot.stdf,a\n";
    tempdir_open(&dir);
    stdf_writer_open(&writer, false);
    for (unsigned w = 0; w < 2; w++) {
        stdf_writer_wafer(&writer, 1, w == 0 ? "A" : "B");
        for (int i = 0; i < 30; i++)
            stdf_writer_die(&writer, 1, i % 6, i / 6, w == 0 ? STDF_WRITER_FAIL : 0, 1);
    }
    stdf_writer_close(&writer);
    tempdir_write(&dir, "lot.stdf", writer.bytes, writer.len);
    tempdir_write(&dir, "a.csv", list, strlen(list));
    snprintf(path, sizeof path, "%s/a.csv", dir.path);
    setup(&fixture, GOLDEN "vit-0", path);
    float passes = input_of(&fixture, 0, &(struct samples_view){0}, NULL).patches[0];
    float fails = input_of(&fixture, 1, &(struct samples_view){0}, NULL).patches[0];
    ck_assert_float_eq_tol(passes, 127 / 127.5f - 1, 1e-6f);
    ck_assert_float_eq_tol(fails, 1, 1e-6f);
    ck_assert_ptr_nonnull(strstr(samples_problem(fixture.samples, 2), "2 wafers: name one"));
    drop(&fixture);
    tempdir_close(&dir);
}
END_TEST

/* ---- texts ---- */

#define BERT GOLDEN "bert-3"
#define REPORTS "tests/data/eval/kernel.jsonl"

static void expect_served_texts(struct fixture *fixture)
{
    for (size_t i = 0; i < samples_count(fixture->samples); i++) {
        const struct dataset_item *item = &fixture->dataset.items[i];
        struct engine_input ours = input_of(fixture, i, &(struct samples_view){0}, NULL), served;
        ck_assert(!engine_prepare_text(fixture->model, item->input, item->input_len,
                                       &fixture->arena, &served, &fixture->err));
        ck_assert_uint_eq(ours.tokens, served.tokens);
        ck_assert_int_eq(ours.truncated, served.truncated);
        ck_assert_mem_eq(ours.ids, served.ids, ours.tokens * sizeof *ours.ids);
    }
}

START_TEST(samples_prepare_texts_as_serving_does)
{
    struct fixture fixture;
    setup(&fixture, BERT, REPORTS);
    expect_served_texts(&fixture);
    drop(&fixture);
}
END_TEST

/* A text whose pieces can be told apart: one digit or letter is one piece. */
static void setup_words(struct fixture *fixture, struct tempdir *dir, const char *text)
{
    char line[8192], path[128];
    snprintf(line, sizeof line, "{\"text\": \"%s\", \"label\": \"a\"}\n", text);
    tempdir_open(dir);
    tempdir_write(dir, "a.jsonl", line, strlen(line));
    snprintf(path, sizeof path, "%s/a.jsonl", dir->path);
    setup(fixture, BERT, path);
}

static const int32_t *all_ids(struct fixture *fixture)
{
    return input_of(fixture, 0, &(struct samples_view){0}, NULL).ids;
}

START_TEST(samples_draw_every_window)
{
    struct fixture fixture;
    struct tempdir dir;
    setup_words(&fixture, &dir, "a b c d e f g h i j");
    struct samples_view view = {.tokens_max = 6, .any_window = true};
    const int32_t *all = all_ids(&fixture);
    unsigned seen[11] = {0};
    for (unsigned i = 0; i < 60; i++) {
        struct rng rng = rng_for(1, 2, i);
        struct engine_input input = input_of(&fixture, 0, &view, &rng);
        for (unsigned at = 0; at <= 10; at++)
            seen[at] += input.ids[1] == all[at + 1];
    }
    ck_assert_uint_gt(seen[0], 8);
    ck_assert_uint_gt(seen[4], 8);
    ck_assert_uint_gt(seen[6], 8);
    ck_assert_uint_eq(seen[0] + seen[4] + seen[6], 60);
    drop(&fixture);
    tempdir_close(&dir);
}
END_TEST

START_TEST(samples_keep_more_pieces_than_the_model_reads)
{
    struct fixture fixture;
    struct tempdir dir;
    char text[2 * 2000 + 1] = "";
    for (unsigned i = 0; i < 2000; i++)
        memcpy(text + (size_t)2 * i, "a ", 3);
    setup_words(&fixture, &dir, text);
    expect_served_texts(&fixture);
    ck_assert(input_of(&fixture, 0, &(struct samples_view){0}, NULL).truncated);
    drop(&fixture);
    tempdir_close(&dir);
}
END_TEST

START_TEST(samples_bound_the_pieces_of_a_text)
{
    struct fixture fixture;
    struct samples_options options = {.threads = 1, .pieces_max = 5};
    setup_with(&fixture, BERT, REPORTS, &options);
    ck_assert_int_eq(fixture.err.code, ERR_OK);
    struct engine_input input = input_of(&fixture, 0, &(struct samples_view){0}, NULL);
    ck_assert_uint_eq(input.tokens, 7);
    ck_assert(input.truncated);
    drop(&fixture);
}
END_TEST

START_TEST(samples_drop_words_at_the_rate)
{
    struct fixture fixture;
    setup(&fixture, BERT, REPORTS);
    struct samples_view view = {.word_dropout = 0.25f};
    size_t changed = 0, pieces = 0;
    for (unsigned i = 0; i < 40; i++) {
        struct rng rng = rng_for(1, 2, i);
        size_t item = i % samples_count(fixture.samples);
        struct engine_input plain = input_of(&fixture, item, &(struct samples_view){0}, NULL);
        struct engine_input input = input_of(&fixture, item, &view, &rng);
        ck_assert_uint_eq(input.tokens, plain.tokens);
        ck_assert_int_eq(input.ids[0], plain.ids[0]);
        ck_assert_int_eq(input.ids[input.tokens - 1], plain.ids[input.tokens - 1]);
        for (unsigned t = 1; t < input.tokens - 1; t++)
            changed += input.ids[t] != plain.ids[t];
        pieces += input.tokens - 2;
    }
    ck_assert_double_eq_tol((double)changed / (double)pieces, 0.25, 0.03);
    drop(&fixture);
}
END_TEST

/* ---- masked language modelling ---- */

struct masked_tally {
    size_t plain, chosen, masked, kept, other;
    int32_t mask;
};

static void count_masked(struct fixture *fixture, size_t item, unsigned seed,
                         struct masked_tally *tally)
{
    struct rng rng = rng_for(1, 2, seed);
    struct engine_input plain = input_of(fixture, item, &(struct samples_view){0}, NULL), input;
    struct samples_masked masked;
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
    struct fixture fixture;
    setup(&fixture, BERT, REPORTS);
    struct masked_tally tally = {.mask = id_of(BERT, "[MASK]")};
    for (unsigned i = 0; i < 200; i++)
        count_masked(&fixture, i % samples_count(fixture.samples), i, &tally);
    double chosen = (double)tally.chosen;
    ck_assert_uint_gt(tally.chosen, 1000);
    ck_assert_double_eq_tol(chosen / (double)tally.plain, 0.15, 0.015);
    ck_assert_double_eq_tol((double)tally.masked / chosen, 0.8, 0.04);
    ck_assert_double_eq_tol((double)tally.kept / chosen, 0.1, 0.03);
    ck_assert_double_eq_tol((double)tally.other / chosen, 0.1, 0.03);
    drop(&fixture);
}
END_TEST

START_TEST(samples_mask_one_piece_at_least_and_never_a_special_token)
{
    struct fixture fixture;
    struct tempdir dir;
    setup_words(&fixture, &dir, "[SEP] a [MASK]");
    for (unsigned i = 0; i < 50; i++) {
        struct rng rng = rng_for(1, 2, i);
        struct engine_input input;
        struct samples_masked masked;
        ck_assert(!samples_masked_input(fixture.samples, 0, &(struct samples_view){0}, &rng,
                                        &fixture.arena, &input, &masked, &fixture.err));
        ck_assert_uint_eq(input.tokens, 5);
        ck_assert_uint_eq(masked.count, 1);
        ck_assert_uint_eq(masked.places[0], 2);
    }
    drop(&fixture);
    tempdir_close(&dir);
}
END_TEST

/* ---- threads ---- */

struct reader {
    const struct samples *samples;
    float *patches;
    size_t bytes;
};

static void *read_all(void *context)
{
    struct reader *reader = context;
    for (unsigned round = 0; round < 20; round++)
        for (size_t i = 0; i < samples_count(reader->samples); i++) {
            struct samples_view view = {.augment = {.turn = 1, .die_noise = 0.1f}};
            struct rng rng = rng_for(1, round, i);
            struct engine_input input;
            struct err err = {0};
            struct arena arena;
            arena_init(&arena);
            if (!samples_input(reader->samples, i, &view, &rng, &arena, &input, &err))
                memcpy(reader->patches, input.patches, reader->bytes);
            arena_deinit(&arena);
        }
    return NULL;
}

START_TEST(samples_are_prepared_by_many_threads_alike)
{
    struct fixture fixture;
    setup(&fixture, GOLDEN "vit-0", "tests/data/eval/wafer");
    size_t bytes = patch_bytes(&fixture, fixture.spec.patches);
    pthread_t threads[3];
    struct reader readers[3];
    for (unsigned t = 0; t < 3; t++) {
        readers[t] = (struct reader){fixture.samples, calloc(1, bytes), bytes};
        ck_assert_int_eq(pthread_create(&threads[t], NULL, read_all, &readers[t]), 0);
    }
    for (unsigned t = 0; t < 3; t++)
        pthread_join(threads[t], NULL);
    ck_assert_mem_eq(readers[0].patches, readers[1].patches, bytes);
    ck_assert_mem_eq(readers[0].patches, readers[2].patches, bytes);
    for (unsigned t = 0; t < 3; t++)
        free(readers[t].patches);
    drop(&fixture);
}
END_TEST

SUITE("samples", samples_prepare_images_bit_for_bit_as_serving_does,
      samples_prepare_an_image_at_another_size,
      samples_augment_only_with_an_rng_and_repeat_themselves,
      samples_keep_a_grey_image_in_one_byte_a_pixel, samples_shrink_an_image_above_the_bound,
      samples_name_an_item_that_fails_and_go_on, samples_read_wafers_from_stdf,
      samples_prepare_texts_as_serving_does, samples_draw_every_window,
      samples_keep_more_pieces_than_the_model_reads, samples_bound_the_pieces_of_a_text,
      samples_drop_words_at_the_rate, samples_mask_fifteen_percent_as_bert_does,
      samples_mask_one_piece_at_least_and_never_a_special_token,
      samples_are_prepared_by_many_threads_alike)
