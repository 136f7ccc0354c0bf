/* A model that reads pictures in several views: what it writes comes from the mean of their logits,
 * against each view by itself. */
#include "engine/prepare/views.h"
#include "tests/support/suite.h"
#include "tests/support/writing_fixture.h"
#include "tests/support/writing_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TAUGHT = 5, BEAMS = 3, NEW_TOKENS = 12, SETTINGS_BYTES = 64 };

static struct engine_writing writing_of(unsigned beams)
{
    struct engine_writing writing = {.asked = generation_request_empty, .aligns = true};
    writing.asked.num_beams = writing.asked.num_return_sequences = beams;
    writing.asked.max_new_tokens = NEW_TOKENS;
    return writing;
}

static void open_views(struct writing_fixture *f, const char *name, unsigned views)
{
    char settings[SETTINGS_BYTES];
    snprintf(settings, sizeof settings, "{\"views\": %u}", views);
    writing_fixture_open_with(f, name, settings);
}

/* A picture of the model's own size, so that it is not resized. */
static struct image picture_of(const struct engine_model *model, bool is_flat)
{
    const struct engine_info *info = engine_describe(model);
    struct image image = {.width = info->image_width, .height = info->image_height};
    image.rgb = malloc(3 * (size_t)image.width * image.height);
    ck_assert_ptr_nonnull(image.rgb);
    for (unsigned p = 0; p < image.width * image.height; p++) {
        const double x = p % image.width, y = p / image.width;
        for (unsigned c = 0; c < 3; c++)
            image.rgb[3 * p + c] =
                (unsigned char)(is_flat ? 90 : 128 + 100 * sin(x * (0.4 + c) / 3) * cos(y / 4));
    }
    return image;
}

static void prepare(struct writing_fixture *f, const struct image *image, unsigned beams,
                    struct engine_input *input)
{
    const struct engine_writing writing = writing_of(beams);
    const struct engine_source source = {.kind = ENGINE_IMAGE, .image = image, .writing = &writing};
    const struct engine_need need = engine_need(f->model, &source);
    const size_t before = f->arena.bytes;
    ck_assert_msg(!engine_prepare(f->model, &source, NULL, &f->arena, input, &f->err), "%s",
                  f->err.text);
    ck_assert_uint_le(f->arena.bytes - before, need.kept);
    const size_t prepared = f->arena.bytes;
    struct engine_result result = writing_fixture_room(f, input);
    engine_run(f->session, (const struct engine_input *[]){input}, 1,
               (struct engine_result *[]){&result});
    ck_assert(!engine_result_texts(&result, &f->arena, &f->err));
    ck_assert_uint_le(f->arena.bytes - prepared, need.answer);
}

/* [TAUGHT][*vocabulary] logits of a picture and a given text, in the fixture's arena. */
static const float *teach(struct writing_fixture *f, const struct image *image,
                          unsigned *vocabulary)
{
    static const int32_t ids[TAUGHT] = {3, 4, 5, 6, 7};
    struct engine_input input = {0};
    const float *logits;
    prepare(f, image, 1, &input);
    ck_assert_msg(
        !engine_teach(f->session, &input, ids, TAUGHT, &f->arena, &logits, vocabulary, &f->err),
        "%s", f->err.text);
    return logits;
}

START_TEST(logits_are_the_mean_of_those_of_the_views)
{
    static const char *const names[] = {"trocr-0", "trocr-3"}; /* trocr-1 resizes and crops */
    for (unsigned n = 0; n < sizeof names / sizeof *names; n++) {
        struct writing_fixture alone;
        writing_fixture_open_with(&alone, names[n], "{}");
        const struct image image = picture_of(alone.model, false);
        struct image moved = picture_of(alone.model, false);
        unsigned vocabulary;
        const float *each[VIEWS_MAX];
        for (unsigned v = 0; v < VIEWS_MAX; v++) {
            views_move(&image, v, moved.rgb);
            each[v] = teach(&alone, &moved, &vocabulary);
        }
        for (unsigned views = 2; views <= VIEWS_MAX; views *= 2) {
            struct writing_fixture f;
            open_views(&f, names[n], views);
            const float *found = teach(&f, &image, &vocabulary);
            for (unsigned i = 0; i < TAUGHT * vocabulary; i++) {
                double mean = 0;
                for (unsigned v = 0; v < views; v++)
                    mean += each[v][i] / (double)views;
                ck_assert_double_eq_tol(found[i], mean, 1e-4);
            }
            ck_assert(fabsf(found[0] - each[0][0]) > 1e-4F); /* the views do differ */
            writing_fixture_close(&f);
        }
        free(image.rgb);
        free(moved.rgb);
        writing_fixture_close(&alone);
    }
}
END_TEST

/* Writes with `step` views a step; 0: all at once. */
static struct engine_result write(struct writing_fixture *f, const struct image *image,
                                  unsigned beams, unsigned step, struct engine_input *input)
{
    *input = (struct engine_input){0};
    prepare(f, image, beams, input);
    struct engine_result result = writing_fixture_room(f, input), *one = &result;
    const struct engine_input *read = input;
    result.step = step;
    do
        engine_step(f->session, &read, 1, &one);
    while (!result.is_done);
    ck_assert(!engine_result_texts(&result, &f->arena, &f->err));
    return result;
}

static void check_same(const struct engine_result *found, const struct engine_result *expected)
{
    ck_assert_uint_eq(found->text_count, expected->text_count);
    ck_assert_uint_eq(found->text_count, BEAMS);
    for (unsigned i = 0; i < found->text_count; i++) {
        ck_assert_str_eq(found->texts[i].text, expected->texts[i].text);
        ck_assert_float_eq_tol(found->texts[i].score, expected->texts[i].score, 1e-5F);
    }
}

START_TEST(views_of_an_even_picture_write_what_it_alone_does)
{
    struct writing_fixture alone, f;
    struct engine_input input;
    writing_fixture_open_with(&alone, "trocr-0", "{}");
    open_views(&f, "trocr-0", 8);
    const struct image image = picture_of(alone.model, true);
    const struct engine_result expected = write(&alone, &image, BEAMS, 0, &input);
    const struct engine_result found = write(&f, &image, BEAMS, 0, &input);
    check_same(&found, &expected);
    free(image.rgb);
    writing_fixture_close(&f);
    writing_fixture_close(&alone);
}
END_TEST

START_TEST(views_are_read_in_steps_and_all_tokens_are_aligned)
{
    struct writing_fixture f;
    struct engine_input input;
    open_views(&f, "trocr-0", 4);
    const struct image image = picture_of(f.model, false);
    const struct engine_result whole = write(&f, &image, BEAMS, 0, &input);
    for (unsigned step = 1; step <= 3; step += 2) {
        const struct engine_result found = write(&f, &image, BEAMS, step, &input);
        check_same(&found, &whole);
    }
    const unsigned source = input.tokens / 4;
    for (unsigned t = 0; t < whole.texts[0].count; t++) {
        double total = 0;
        for (unsigned s = 0; s < source; s++)
            total += whole.texts[0].alignment[t * source + s];
        ck_assert_double_eq_tol(total, 1, 1e-5);
    }
    struct explanation explanation;
    ck_assert(!engine_align(f.model, &input, &whole.texts[0], &f.arena, &explanation, &f.err));
    ck_assert_uint_eq(explanation.aligned_count, whole.texts[0].count);
    free(image.rgb);
    writing_fixture_close(&f);
}
END_TEST

START_TEST(views_are_refused_where_there_is_no_picture_and_other_numbers_are)
{
    static const struct {
        const char *model, *settings, *why;
    } rows[] = {
        {"marian-0", "{\"views\": 2}", "views and reduction are for images, not for 'marian'"},
        {"trocr-0", "{\"views\": 3}", "$.views must be 1, 2, 4 or 8"},
        {"trocr-0", "{\"reduction\": \"lines\"}", "$.reduction is not supported"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct writing_fixture f = {0};
        struct engine_model *model;
        const struct engine_options options = {.writes_texts = true};
        tempdir_open(&f.dir);
        writing_model_copy(&f.dir, rows[i].model);
        tempdir_write(&f.dir, "attnd.json", rows[i].settings, strlen(rows[i].settings));
        ck_assert_int_eq(engine_open(&model, f.dir.path, &options, &f.err), ERR_UNSUPPORTED);
        ck_assert_msg(strstr(f.err.text, rows[i].why) != NULL, "%s", f.err.text);
        tempdir_close(&f.dir);
    }
}
END_TEST

SUITE("writing_views", logits_are_the_mean_of_those_of_the_views,
      views_of_an_even_picture_write_what_it_alone_does,
      views_are_read_in_steps_and_all_tokens_are_aligned,
      views_are_refused_where_there_is_no_picture_and_other_numbers_are)
