/* A model that learnt grey pictures asks a person about one with colours: wafer-vit, and the sample
 * map drawn in them. */
#include "engine/base/file.h"
#include "engine/engine.h"
#include "engine/vision/image.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static struct engine_model *model;
static struct engine_session *session;
static struct arena arena;
static struct image map;

static void setup(void)
{
    struct err err = {0};
    char *bytes;
    size_t len;
    const struct image_options options = {.pixels_max = 1 << 20};
    arena_init(&arena);
    ck_assert_msg(
        !engine_open(&model, "models/wafer-vit", &(struct engine_options){0}, &err) &&
            !engine_session_open(&session, model, engine_describe(model)->tokens_max, 1, &err) &&
            !file_read(&bytes, &len, "tests/data/examples/wafer_map.png", 1 << 20, &err) &&
            !image_decode(&map, bytes, len, &options, &arena, &err),
        "%s", err.text);
    engine_session_take_means(session);
    free(bytes);
}

static void drop(void)
{
    engine_session_close(session);
    engine_close(model);
    arena_deinit(&arena);
}

static struct judgement ask(void)
{
    struct engine_input input;
    struct err err = {0};
    float logits[16], scores[16];
    struct engine_result result = {.logits = logits, .scores = scores};
    const struct engine_input *inputs[] = {&input};
    ck_assert(!engine_prepare(model, &(struct engine_source){.kind = ENGINE_IMAGE, .image = &map},
                              NULL, &arena, &input, &err));
    engine_run(session, inputs, 1, (struct engine_result *[]){&result});
    ck_assert(result.is_finite);
    return result.judgement;
}

START_TEST(a_map_in_red_on_grey_is_reviewed_or_unknown_and_never_automatic)
{
    static const unsigned char fails[][3] = {{255, 0, 0}, {200, 30, 30}, {0, 0, 255},
                                             {0, 170, 0}, {255, 140, 0}, {128, 0, 128}};
    setup();
    const size_t pixels = (size_t)map.width * map.height;
    unsigned char *grey = arena_alloc(&arena, 3 * pixels);
    unsigned reviewed = 0;
    memcpy(grey, map.rgb, 3 * pixels);
    for (unsigned c = 0; c < sizeof fails / sizeof *fails; c++) {
        for (size_t i = 0; i < pixels; i++)
            memcpy(map.rgb + 3 * i, grey[3 * i] == 255 ? fails[c] : grey + 3 * i, 3);
        const struct judgement judgement = ask();
        ck_assert_int_ne(judgement.decision, DECISION_AUTO);
        ck_assert(judgement.coloured == (judgement.decision == DECISION_REVIEW));
        reviewed += judgement.coloured;
    }
    ck_assert_uint_gt(reviewed, 0);
    drop();
}
END_TEST

START_TEST(the_grey_map_is_judged_by_its_score)
{
    setup();
    const struct judgement judgement = ask();
    ck_assert(!judgement.coloured);
    ck_assert_int_eq(judgement.decision, DECISION_REVIEW);
    ck_assert(judgement.never); /* Scratch has no threshold */
    drop();
}
END_TEST

SUITE("colours", a_map_in_red_on_grey_is_reviewed_or_unknown_and_never_automatic,
      the_grey_map_is_judged_by_its_score)
