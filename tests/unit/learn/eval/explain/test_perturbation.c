/* Parts taken out of images and texts that are made by hand, and of real ones. */
#include "engine/engine.h"
#include "engine/prepare/pipeline.h"
#include "learn/eval/explain/probe.h"
#include "tests/support/run_logits.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

/* Four patches of 2 x 2 pixels. */
enum { PATCH = 2, SIDE = 4, PATCHES = 4, PIXELS = PATCH * PATCH, NUMBERS = 3 * PIXELS };

static float numbers[PATCHES * NUMBERS];

/* Channel c of pixel i of the image is (i + 1) (c + 1), for i of 16. */
static struct engine_input make_image(void)
{
    for (unsigned p = 0; p < PATCHES; p++)
        for (unsigned c = 0; c < 3; c++)
            for (unsigned i = 0; i < PIXELS; i++)
                numbers[p * NUMBERS + c * PIXELS + i] = (float)((p * PIXELS + i + 1) * (c + 1));
    return (struct engine_input){.kind = ENGINE_IMAGE, .tokens = 1 + PATCHES, .patches = numbers};
}

/* [CLS] ab ##c , d [SEP] */
static const int32_t ids[] = {101, 7, 8, 9, 10, 102};
static const uint32_t starts[] = {0, 0, 2, 3, 5, 0}, ends[] = {0, 2, 3, 4, 6, 0};
static const bool continued[] = {false, false, true, false, false, false};
static const struct engine_input text = {.kind = ENGINE_TEXT,
                                         .tokens = 6,
                                         .ids = ids,
                                         .starts = starts,
                                         .ends = ends,
                                         .continued = continued};

static struct perturbation open_parts(const struct engine_input *input, enum perturbation_fill fill,
                                      struct arena *arena)
{
    struct perturbation parts;
    struct err err = {0};
    arena_init(arena);
    ck_assert_int_eq(perturbation_open(&parts, input, extent_square(PATCH), extent_square(SIDE),
                                       fill, arena, &err),
                     ERR_OK);
    return parts;
}

/* The lower middle value of 1 .. 16 is 8. */
START_TEST(removed_patches_become_the_median_of_each_channel)
{
    static const bool kept[PATCHES] = {true, false, true, false};
    float room[PATCHES * NUMBERS];
    struct arena arena;
    struct engine_input image = make_image(), out;
    struct perturbation parts = open_parts(&image, PERTURBATION_MEDIAN, &arena);
    ck_assert_uint_eq(parts.count, PATCHES);
    ck_assert_uint_eq(perturbation_bytes(&parts), sizeof room);
    perturbation_keep(&parts, kept, room, &out);
    ck_assert_uint_eq(out.tokens, image.tokens);
    ck_assert_mem_eq(out.patches, numbers, NUMBERS * sizeof *room);
    ck_assert_mem_eq(out.patches + 2 * NUMBERS, numbers + 2 * NUMBERS, NUMBERS * sizeof *room);
    for (unsigned i = 0; i < NUMBERS; i++) {
        ck_assert(out.patches[NUMBERS + i] == 8.0f * (float)(i / PIXELS + 1));
        ck_assert(out.patches[3 * NUMBERS + i] == out.patches[NUMBERS + i]);
    }
    arena_deinit(&arena);
}
END_TEST

START_TEST(removed_patches_become_zero_where_the_mean_is_asked_for)
{
    static const bool kept[PATCHES];
    float room[PATCHES * NUMBERS];
    struct arena arena;
    struct engine_input image = make_image(), out;
    struct perturbation parts = open_parts(&image, PERTURBATION_MEAN, &arena);
    perturbation_keep(&parts, kept, room, &out);
    for (unsigned i = 0; i < PATCHES * NUMBERS; i++)
        ck_assert(out.patches[i] == 0);
    arena_deinit(&arena);
}
END_TEST

/* Pixels darker than the median are no defect and stay: a wafer's background. */
START_TEST(clipped_patches_lose_only_what_is_brighter)
{
    static const bool kept[PATCHES];
    float room[PATCHES * NUMBERS];
    struct arena arena;
    struct engine_input image = make_image(), out;
    struct perturbation parts = open_parts(&image, PERTURBATION_CLIP, &arena);
    perturbation_keep(&parts, kept, room, &out);
    for (unsigned i = 0; i < PATCHES * NUMBERS; i++) {
        float median = 8.0f * (float)(i % NUMBERS / PIXELS + 1);
        ck_assert(out.patches[i] == (numbers[i] < median ? numbers[i] : median));
    }
    arena_deinit(&arena);
}
END_TEST

START_TEST(fills_are_known_by_name)
{
    enum perturbation_fill fill;
    struct err err = {0};
    ck_assert(!perturbation_find_fill("median", &fill, &err) && fill == PERTURBATION_MEDIAN);
    ck_assert(!perturbation_find_fill("clip", &fill, &err) && fill == PERTURBATION_CLIP);
    ck_assert(!perturbation_find_fill("mean", &fill, &err) && fill == PERTURBATION_MEAN);
    ck_assert_int_eq(perturbation_find_fill("blur", &fill, &err), ERR_UNUSABLE);
}
END_TEST

/* The second view is turned by half: its patches are the first one's from the end. */
START_TEST(a_patch_is_removed_from_every_view)
{
    static const bool kept[PATCHES] = {true, true, false, true};
    static const unsigned offset[] = {0, 1 + PATCHES, 2 * (1 + PATCHES)};
    float both[2 * PATCHES * NUMBERS], room[2 * PATCHES * NUMBERS];
    struct arena arena;
    struct engine_input image = make_image(), out;
    memcpy(both, numbers, sizeof numbers);
    for (unsigned p = 0; p < PATCHES; p++)
        memcpy(both + (PATCHES + p) * NUMBERS, numbers + (PATCHES - 1 - p) * NUMBERS,
               NUMBERS * sizeof *both);
    image.patches = both;
    image.tokens *= 2;
    image.windows = 2;
    image.window_offset = offset;
    image.view_numbers = PATCHES * NUMBERS;
    struct perturbation parts = open_parts(&image, PERTURBATION_MEAN, &arena);
    ck_assert_uint_eq(parts.count, PATCHES);
    ck_assert_uint_eq(perturbation_bytes(&parts), sizeof room);
    perturbation_keep(&parts, kept, room, &out);
    ck_assert(out.windows == 2 && out.window_offset == offset && out.tokens == image.tokens);
    ck_assert_uint_eq(out.view_numbers, PATCHES * NUMBERS);
    for (unsigned i = 0; i < 2 * PATCHES * NUMBERS; i++) {
        const bool removed = i / NUMBERS == 2 || i / NUMBERS == PATCHES + 1;
        ck_assert_float_eq(out.patches[i], removed ? 0 : both[i]);
    }
    arena_deinit(&arena);
}
END_TEST

START_TEST(removed_words_leave_with_all_their_pieces)
{
    static const bool kept[] = {false, true, true};
    static const int32_t expected[] = {101, 9, 10, 102};
    int32_t room[6];
    struct arena arena;
    struct engine_input out;
    struct perturbation parts = open_parts(&text, PERTURBATION_MEDIAN, &arena);
    ck_assert_uint_eq(parts.count, 3);
    ck_assert_uint_eq(perturbation_bytes(&parts), sizeof ids);
    perturbation_keep(&parts, kept, room, &out);
    ck_assert_uint_eq(out.tokens, 4);
    ck_assert_mem_eq(out.ids, expected, sizeof expected);
    arena_deinit(&arena);
}
END_TEST

START_TEST(the_empty_text_keeps_its_special_tokens)
{
    static const bool kept[3];
    int32_t room[6];
    struct arena arena;
    struct engine_input out;
    struct perturbation parts = open_parts(&text, PERTURBATION_MEDIAN, &arena);
    perturbation_keep(&parts, kept, room, &out);
    ck_assert_uint_eq(out.tokens, 2);
    ck_assert_int_eq(out.ids[0], 101);
    ck_assert_int_eq(out.ids[1], 102);
    arena_deinit(&arena);
}
END_TEST

START_TEST(the_whole_input_stays_as_it_is)
{
    static const bool kept[] = {true, true, true};
    int32_t room[6];
    struct arena arena;
    struct engine_input out;
    struct perturbation parts = open_parts(&text, PERTURBATION_MEDIAN, &arena);
    perturbation_keep(&parts, kept, room, &out);
    ck_assert_uint_eq(out.tokens, 6);
    ck_assert_mem_eq(out.ids, ids, sizeof ids);
    arena_deinit(&arena);
}
END_TEST

/* Three windows of four tokens, three apart, over eight: words of 2, 1, 1, 3 and 1 tokens. */
START_TEST(a_word_leaves_every_window_that_has_it)
{
    static const int32_t all[] = {101, 1, 2, 3, 4, 5, 6, 7, 8, 102};
    static const uint32_t from[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 0};
    static const uint32_t to[10] = {0, 2, 3, 4, 5, 6, 7, 8, 9, 0};
    static const bool goes_on[10] = {[2] = true, [6] = true, [7] = true};
    const struct encoding whole = {
        .count = 10, .ids = all, .starts = from, .ends = to, .continued = goes_on};
    static const bool kept[] = {true, false, false, true, false};
    static const int32_t expected[] = {101, 1, 2, 102, 101, 5, 6, 7, 102, 101, 5, 6, 7, 102};
    static const unsigned offset[] = {0, 4, 9, 14};
    int32_t room[18 + 4];
    struct err err = {0};
    struct arena arena, cut;
    struct engine_input input, out;
    arena_init(&cut);
    ck_assert_int_eq(windows_cut(&whole, &(struct windows_shape){4, 3}, &cut, &input, &err),
                     ERR_OK);
    struct perturbation parts = open_parts(&input, PERTURBATION_MEDIAN, &arena);
    ck_assert_uint_eq(parts.count, 5);
    ck_assert_uint_eq(perturbation_bytes(&parts), sizeof room);
    perturbation_keep(&parts, kept, room, &out);
    ck_assert_uint_eq(out.tokens, 14);
    ck_assert_uint_eq(out.windows, 3);
    ck_assert_mem_eq(out.ids, expected, sizeof expected);
    ck_assert_mem_eq(out.window_offset, offset, sizeof offset);
    arena_deinit(&arena);
    arena_deinit(&cut);
}
END_TEST

static const char report[] = "BUG: KASAN: use-after-free in tcp_v4_connect+0x1b2/0x310";

/* Parts and the words that an explanation lists are the same, and a text of [CLS] [SEP] runs. */
START_TEST(parts_of_a_real_text_are_its_words_and_none_of_them_is_needed)
{
    struct engine_model *model;
    struct engine_session *session;
    struct engine_input input, out;
    struct explanation explanation;
    struct arena arena, parts_arena;
    struct err err = {0};
    float logits[16];
    ck_assert_int_eq(engine_open(&model, "models/kernel-bert", &(struct engine_options){0}, &err),
                     ERR_OK);
    ck_assert_int_eq(engine_session_open(&session, model, 64, 1, &err), ERR_OK);
    arena_init(&arena);
    engine_prepare(model, text_source(report), NULL, &arena, &input, &err);
    const struct explain_options how = {.method = EXPLAIN_ATTENTION};
    engine_capture(model, &input, &how, &arena, &err);
    run_logits_one(session, &input, logits);
    engine_explain(model, NULL, &input, &how, 0, &arena, &explanation, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    struct perturbation parts = open_parts(&input, PERTURBATION_MEDIAN, &parts_arena);
    ck_assert_uint_eq(parts.count, explanation.word_count);
    perturbation_keep(&parts, (const bool[64]){false}, arena_alloc(&arena, 4096), &out);
    ck_assert_uint_eq(out.tokens, 2);
    run_logits_one(session, &out, logits);
    for (unsigned i = 0; i < engine_describe(model)->label_count; i++)
        ck_assert(isfinite(logits[i]));
    arena_deinit(&parts_arena);
    arena_deinit(&arena);
    engine_session_close(session);
    engine_close(model);
}
END_TEST

/* [CLS] ab ##c [SEP'] , d of a pair: types leave with their tokens. */
START_TEST(words_of_a_pair_keep_their_types)
{
    static const uint8_t types[] = {0, 0, 0, 1, 1, 1}, left[] = {0, 1, 1, 1};
    static const bool kept[] = {false, true, true};
    int32_t room[6 + 2];
    struct arena arena;
    struct engine_input pair = text, out;
    pair.types = types;
    struct perturbation parts = open_parts(&pair, PERTURBATION_MEDIAN, &arena);
    ck_assert_uint_eq(perturbation_bytes(&parts), 6 * sizeof *ids + 6);
    perturbation_keep(&parts, kept, room, &out);
    ck_assert_uint_eq(out.tokens, 4);
    ck_assert_mem_eq(out.types, left, sizeof left);
    pair.types = NULL;
    perturbation_keep(&parts, kept, room, &out);
    ck_assert_ptr_null(out.types);
    arena_deinit(&arena);
}
END_TEST

SUITE("perturbation", words_of_a_pair_keep_their_types,
      removed_patches_become_the_median_of_each_channel,
      removed_patches_become_zero_where_the_mean_is_asked_for,
      clipped_patches_lose_only_what_is_brighter, a_patch_is_removed_from_every_view,
      fills_are_known_by_name, removed_words_leave_with_all_their_pieces,
      the_empty_text_keeps_its_special_tokens, the_whole_input_stays_as_it_is,
      a_word_leaves_every_window_that_has_it,
      parts_of_a_real_text_are_its_words_and_none_of_them_is_needed)
