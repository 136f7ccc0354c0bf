/* Two texts as one input: what a pair of each kind of family is made of, and what is refused. That
 * pairs are answered as transformers does is test_golden's. */
#include "engine/engine.h"
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
    return engine_prepare_pair(f->model, text, strlen(text), second, strlen(second), NULL,
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

SUITE("text_pair", a_pair_has_two_token_types_where_the_family_has_them,
      a_pair_that_is_too_long_is_cut_from_its_longer_side, a_pair_without_a_token_is_refused)
