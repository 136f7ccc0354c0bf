/* Preparation by the engine, from bytes to numbers, and its refusals before anything is
 * computed. */
#include "engine/engine.h"
#include "engine/text/tokenizer.h"
#include "engine/vision/image.h"
#include "engine/vision/png.h"
#include "engine/vision/preprocess.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_MODEL "tests/data/golden/bert-3"
#define IMAGE_MODEL "tests/data/golden/vit-0"
enum { WIDTH = 70, HEIGHT = 41, PIXELS = WIDTH * HEIGHT };

static struct engine_model *open_model(const char *dir)
{
    struct engine_model *model;
    struct err err = {0};
    ck_assert_msg(!engine_open(&model, dir, &(struct engine_options){0}, &err), "%s", err.text);
    return model;
}

/* Yours to free. */
static char *new_png(size_t *len)
{
    static unsigned char rgba[PIXELS * 4];
    struct err err = {0};
    char *png;
    for (size_t i = 0; i < sizeof rgba; i++)
        rgba[i] = i % 4 == 3 ? 255 : (unsigned char)(i * 5 + i / 280 * 3);
    ck_assert(!png_encode_rgba(&png, len, WIDTH, HEIGHT, rgba, NULL, &err));
    return png;
}

START_TEST(an_image_is_prepared_as_its_patches)
{
    struct engine_model *model = open_model(IMAGE_MODEL);
    struct arena arena;
    struct engine_input input;
    struct err err = {0};
    struct preprocess preprocess;
    struct image image, resized;
    struct image_options options = {.pixels_max = PIXELS};
    enum { NUMBERS = 16 * 3 * 16 * 16 };
    static float expected[NUMBERS];
    size_t len;
    char *png = new_png(&len);
    arena_init(&arena);
    memset(&input, 0x55, sizeof input);
    ck_assert(!engine_prepare(model, picture_source(png, len, PIXELS), NULL, &arena, &input, &err));
    size_t kept = arena.bytes;
    ck_assert(!preprocess_open(&preprocess, IMAGE_MODEL, "ViT", extent_square(64), &err));
    ck_assert(!image_decode(&image, png, len, &options, &arena, &err));
    ck_assert(!preprocess_geometry(&preprocess, &image, NULL, &arena, &resized, &err));
    preprocess_patches(&preprocess, &resized, extent_square(16), expected);
    ck_assert_int_eq(input.kind, ENGINE_IMAGE);
    ck_assert_uint_eq(input.tokens, 17);
    ck_assert_uint_eq(input.width, WIDTH);
    ck_assert_uint_eq(input.height, HEIGHT);
    ck_assert(!input.truncated);
    ck_assert_ptr_null(input.ids);
    ck_assert_ptr_null(input.capture);
    ck_assert(memcmp(input.patches, expected, sizeof expected) == 0);
    struct engine_need need = engine_need(model, picture_source(png, len, PIXELS));
    ck_assert_uint_eq(need.kept, sizeof expected + ARENA_ALIGNMENT);
    ck_assert_uint_eq(need.passing,
                      image_decode_bytes(png, len) + preprocess_bytes(&preprocess, WIDTH, HEIGHT));
    ck_assert_uint_le(kept, need.kept);
    arena_deinit(&arena);
    engine_close(model);
    free(png);
}
END_TEST

START_TEST(prepare_refuses_a_bad_or_large_image)
{
    struct engine_model *model = open_model(IMAGE_MODEL);
    struct arena arena;
    struct engine_input input;
    struct err err = {0};
    size_t len;
    char *png = new_png(&len);
    arena_init(&arena);
    ck_assert_int_ne(
        engine_prepare(model, picture_source(png, len, PIXELS - 1), NULL, &arena, &input, &err),
        ERR_OK);
    ck_assert_uint_eq(engine_need(model, picture_source(png, len, PIXELS - 1)).kept, 0);
    ck_assert_uint_eq(engine_need(model, picture_source(png, len, PIXELS - 1)).passing, 0);
    ck_assert_uint_eq(engine_need(model, picture_source("GIF89a", 6, PIXELS)).kept, 0);
    err = (struct err){0};
    ck_assert_int_eq(
        engine_prepare(model, picture_source("GIF89a", 6, PIXELS), NULL, &arena, &input, &err),
        ERR_UNUSABLE);
    ck_assert_ptr_null(input.patches);
    ck_assert_uint_eq(arena.bytes, 0);
    ck_assert_uint_eq(engine_image_pixels(png, len), PIXELS);
    ck_assert_uint_eq(engine_image_pixels("GIF89a", 6), 0);
    arena_deinit(&arena);
    engine_close(model);
    free(png);
}
END_TEST

START_TEST(a_text_is_prepared_as_the_tokenizer_encodes_it)
{
    static const char text[] = "the wafer, the die: a scratch";
    struct engine_model *model = open_model(TEXT_MODEL);
    struct tokenizer *tokenizer;
    struct encoding expected;
    struct arena arena;
    struct engine_input input;
    struct err err = {0};
    unsigned longest = engine_describe(model)->tokens_max;
    arena_init(&arena);
    memset(&input, 0x55, sizeof input);
    ck_assert(!tokenizer_open(&tokenizer, TEXT_MODEL, longest, &err));
    ck_assert(
        !tokenizer_encode(tokenizer, longest, text, strlen(text), NULL, &arena, &expected, &err));
    ck_assert(!engine_prepare(model, text_source(text), NULL, &arena, &input, &err));
    ck_assert_int_eq(input.kind, ENGINE_TEXT);
    ck_assert_uint_eq(input.tokens, expected.count);
    ck_assert(!input.truncated);
    ck_assert_ptr_null(input.patches);
    ck_assert_ptr_null(input.capture);
    ck_assert_uint_eq(input.width, 0);
    for (unsigned t = 0; t < input.tokens; t++) {
        ck_assert_int_eq(input.ids[t], expected.ids[t]);
        ck_assert_uint_eq(input.starts[t], expected.starts[t]);
        ck_assert_uint_eq(input.ends[t], expected.ends[t]);
        ck_assert_int_eq(input.continued[t], expected.continued[t]);
    }
    ck_assert_uint_eq(engine_need(model, text_source(text)).kept,
                      tokenizer_encode_bytes(tokenizer, 0, text, strlen(text)));
    tokenizer_close(tokenizer);
    arena_deinit(&arena);
    engine_close(model);
}
END_TEST

START_TEST(a_text_longer_than_the_model_reads_is_cut_and_one_of_a_single_token_is_not_empty)
{
    struct engine_model *model = open_model(TEXT_MODEL);
    struct arena arena;
    struct engine_input input;
    struct err err = {0};
    unsigned longest = engine_describe(model)->tokens_max;
    char *text = calloc(longest + 1, 2);
    for (unsigned i = 0; i < longest; i++)
        memcpy(text + (size_t)2 * i, ". ", 2);
    arena_init(&arena);
    ck_assert(!engine_prepare(model, text_source_len(text, (size_t)2 * (longest - 2)), NULL, &arena,
                              &input, &err));
    ck_assert_uint_eq(input.tokens, longest);
    ck_assert(!input.truncated);
    ck_assert(!engine_prepare(model, text_source_len(text, (size_t)2 * (longest - 1)), NULL, &arena,
                              &input, &err));
    ck_assert_uint_eq(input.tokens, longest);
    ck_assert(input.truncated);
    ck_assert(!engine_prepare(model, text_source_len(text, 1), NULL, &arena, &input, &err));
    ck_assert_uint_eq(input.tokens, 3);
    ck_assert_int_eq(
        engine_prepare(model, text_source_len(text + 1, 1), NULL, &arena, &input, &err),
        ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "the text has no token: it is empty, blank or holds only control "
                               "characters");
    err = (struct err){0};
    ck_assert_int_ne(engine_prepare(model, text_source("a\xFF"), NULL, &arena, &input, &err),
                     ERR_OK);
    arena_deinit(&arena);
    engine_close(model);
    free(text);
}
END_TEST

/* ---- what is refused ---- */

static const char config[] =
    "{\"model_type\": \"bert\", \"hidden_size\": 16, \"num_hidden_layers\": 1, "
    "\"num_attention_heads\": 2, \"intermediate_size\": 24, \"max_position_embeddings\": 32, "
    "\"num_labels\": 3, \"vocab_size\": 5}";

START_TEST(a_vocabulary_larger_than_the_embeddings_is_refused_and_one_as_large_is_not)
{
    static const char *const vocabularies[] = {"[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n",
                                               "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\n"};
    for (int i = 0; i < 2; i++) {
        struct checkpoint_writer writer;
        struct engine_model *model;
        struct err err = {0};
        checkpoint_writer_open(&writer);
        checkpoint_writer_file(&writer, "config.json", config);
        checkpoint_writer_bert(&writer, 16, 1, 24, 5, 32, 3);
        checkpoint_writer_file(&writer, "vocab.txt", vocabularies[i]);
        checkpoint_writer_finish(&writer);
        engine_open(&model, writer.dir, &(struct engine_options){0}, &err);
        ck_assert_int_eq(err.code, i == 0 ? ERR_OK : ERR_UNSUPPORTED);
        ck_assert_int_eq(model != NULL, i == 0);
        ck_assert_str_eq(err.text, i == 0 ? ""
                                          : "the vocabulary has 6 entries but config.json's "
                                            "vocab_size is 5");
        engine_close(model);
        checkpoint_writer_close(&writer);
    }
}
END_TEST

START_TEST(prepare_refuses_unsupported_precisions_by_name)
{
    static const struct {
        struct engine_options options;
        const char *text;
    } cases[] = {
        {{.dtype = "fp4"}, "dtype 'fp4' is not known (known: f32, bf16, int8, auto)"},
        {{.linear_backend = "cuda"},
         "linear backend 'cuda' is not known (known: auto, native, openblas, reference)"},
        {{.linear_backend = "openblas", .dtype = "int8"},
         "the linear backend 'openblas' cannot multiply in int8"},
        {{.linear_backend = "onednn"},
         "linear backend 'onednn' is not known (known: auto, native, openblas, reference)"},
        {{.linear_backend = "openblas", .dtype = "bf16"},
         "the linear backend 'openblas' cannot multiply in bf16"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct engine_model *model;
        struct err err = {0};
        ck_assert_int_eq(engine_open(&model, TEXT_MODEL, &cases[i].options, &err), ERR_UNSUPPORTED);
        ck_assert_ptr_null(model);
        ck_assert_str_eq(err.text, cases[i].text);
    }
}
END_TEST

START_TEST(engine_closes_null)
{
    engine_close(NULL);
    engine_session_close(NULL);
}
END_TEST

SUITE("prepare", an_image_is_prepared_as_its_patches, prepare_refuses_a_bad_or_large_image,
      a_text_is_prepared_as_the_tokenizer_encodes_it,
      a_text_longer_than_the_model_reads_is_cut_and_one_of_a_single_token_is_not_empty,
      a_vocabulary_larger_than_the_embeddings_is_refused_and_one_as_large_is_not,
      prepare_refuses_unsupported_precisions_by_name, engine_closes_null)
