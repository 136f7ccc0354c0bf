/* Two texts as one input: the tokens of a pair in each kind of family, and the refusals.
 * test_golden compares the answers to pairs with those of transformers. */
#include "engine/engine.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"

#include <string.h>

struct fixture {
    struct engine_model *model;
    struct arena arena;
    struct err err;
};

static void setup(struct fixture *f, const char *dir)
{
    *f = (struct fixture){0};
    arena_init(&f->arena);
    ck_assert_msg(!engine_open(&f->model, dir, &(struct engine_options){0}, &f->err), "%s",
                  f->err.text);
}

static void drop(struct fixture *f)
{
    engine_close(f->model);
    arena_deinit(&f->arena);
}

static enum err_code pair(struct fixture *f, const char *text, const char *second,
                          struct engine_input *out)
{
    f->err = (struct err){0};
    return engine_prepare(
        f->model,
        text_source_with(text, .pair = second, .pair_len = strlen(second), .is_utf8 = true), NULL,
        &f->arena, out, &f->err);
}

START_TEST(a_pair_has_two_token_types_where_the_family_has_them)
{
    struct fixture f;
    struct engine_input one, two;
    setup(&f, "tests/data/golden/bert-5");
    ck_assert(!pair(&f, "scan chain", "", &one));
    ck_assert_ptr_null(one.types);
    ck_assert(!pair(&f, "scan chain", "broken", &two));
    ck_assert_uint_gt(two.tokens, one.tokens);
    for (unsigned t = 0; t < two.tokens; t++)
        ck_assert_uint_eq(two.types[t], t >= one.tokens);
    drop(&f);
    setup(&f, "tests/data/golden/xlm-roberta-1");
    ck_assert(!pair(&f, "scan chain", "broken", &two));
    ck_assert_ptr_null(two.types);
    drop(&f);
}
END_TEST

START_TEST(a_pair_that_is_too_long_is_cut_from_its_longer_side)
{
    char text[2048];
    struct fixture f;
    struct engine_input input;
    setup(&f, "tests/data/golden/bert-5");
    for (size_t i = 0; i < sizeof text - 1; i++)
        text[i] = i % 2 > 0 ? ' ' : 'a';
    text[sizeof text - 1] = '\0';
    ck_assert(!pair(&f, text, "b b b", &input));
    ck_assert(input.truncated);
    ck_assert_uint_eq(input.tokens, engine_describe(f.model)->tokens_max);
    unsigned second = 0;
    for (unsigned t = 0; t < input.tokens; t++)
        second += input.types[t];
    ck_assert_uint_eq(second, 4); /* all of it, and its [SEP] */
    drop(&f);
}
END_TEST

START_TEST(a_pair_without_a_token_is_refused)
{
    struct fixture f;
    struct engine_input input;
    setup(&f, "tests/data/golden/bert-5");
    ck_assert_int_eq(pair(&f, " ", "\n", &input), ERR_UNUSABLE);
    ck_assert_str_eq(f.err.text, "the text has no token: it is empty, blank or holds only control "
                                 "characters");
    ck_assert_int_eq(pair(&f, " ", "a", &input), ERR_OK);
    drop(&f);
}
END_TEST

/* The source does not promise UTF-8. */
static enum err_code ask(struct fixture *f, const struct engine_source *source)
{
    struct engine_input input;
    f->err = (struct err){0};
    return engine_prepare(f->model, source, NULL, &f->arena, &input, &f->err);
}

START_TEST(engine_checks_both_texts_of_a_pair)
{
    struct fixture f;
    struct engine_source source = {
        .kind = ENGINE_TEXT, .bytes = "scan", .len = 4, .pair = "a\xFF", .pair_len = 2};
    setup(&f, "tests/data/golden/bert-5");
    ck_assert_int_eq(ask(&f, &source), ERR_UNUSABLE);
    ck_assert_str_eq(f.err.text, "invalid UTF-8 at byte 1 of the second text (iconv -f "
                                 "windows-1252 -t UTF-8 converts a file)");
    source.bytes = "sc\xFFn";
    ck_assert_int_eq(ask(&f, &source), ERR_UNUSABLE);
    ck_assert_str_eq(
        f.err.text,
        "invalid UTF-8 at byte 2 of the text (iconv -f windows-1252 -t UTF-8 converts a file)");
    source.bytes = "scan";
    source.pair = "ab";
    ck_assert_int_eq(ask(&f, &source), ERR_OK);
    drop(&f);
}
END_TEST

START_TEST(engine_refuses_an_input_of_the_other_kind_and_takes_no_memory)
{
    struct fixture f;
    const struct engine_source text = {.kind = ENGINE_TEXT, .bytes = "scan", .len = 4};
    const struct engine_source picture = {
        .kind = ENGINE_IMAGE, .bytes = "\x89PNG", .len = 4, .pixels_max = 1};
    setup(&f, "tests/data/golden/bert-5");
    ck_assert_int_eq(ask(&f, &picture), ERR_UNUSABLE);
    ck_assert_str_eq(f.err.text, "the model takes texts");
    ck_assert_uint_eq(engine_need(f.model, &picture).kept, 0);
    drop(&f);
    setup(&f, "tests/data/golden/vit-0");
    ck_assert_int_eq(ask(&f, &text), ERR_UNUSABLE);
    ck_assert_str_eq(f.err.text, "the model takes images");
    ck_assert_uint_eq(engine_need(f.model, &text).kept, 0);
    drop(&f);
}
END_TEST

START_TEST(need_of_a_pair_is_more_than_of_a_text)
{
    struct fixture f;
    struct engine_input input;
    struct engine_source source = {
        .kind = ENGINE_TEXT, .bytes = "scan chain", .len = 10, .pair = "", .is_utf8 = true};
    setup(&f, "tests/data/golden/bert-5");
    const size_t alone = engine_need(f.model, &source).kept;
    source.pair = "broken chain";
    ck_assert_uint_eq(engine_need(f.model, &source).kept, alone); /* an empty one is none */
    source.pair_len = strlen(source.pair);
    const size_t before = f.arena.bytes, both = engine_need(f.model, &source).kept;
    ck_assert_uint_gt(both, alone);
    ck_assert(!engine_prepare(f.model, &source, NULL, &f.arena, &input, &f.err));
    ck_assert_uint_le(f.arena.bytes - before, both);
    drop(&f);
}
END_TEST

SUITE("text_pair", engine_checks_both_texts_of_a_pair,
      engine_refuses_an_input_of_the_other_kind_and_takes_no_memory,
      need_of_a_pair_is_more_than_of_a_text, a_pair_has_two_token_types_where_the_family_has_them,
      a_pair_that_is_too_long_is_cut_from_its_longer_side, a_pair_without_a_token_is_refused)
