/* Patterns of paths, and the elements that stand at their names. */
#include "server/http/path_pattern.h"

#include "tests/support/suite.h"

#define INFER "/v2/models/{model}/versions/{version}/infer"

START_TEST(a_pattern_without_names_fits_its_own_path_only)
{
    static const struct {
        const char *pattern, *path;
        bool fits;
    } cases[] = {{"/predict", "/predict", true},
                 {"/predict", "/predict/", false},
                 {"/predict", "//predict", false},
                 {"/predict", "/predic", false},
                 {"/predict", "/predicts", false},
                 {"/predict", "/Predict", false},
                 {"/predict", "predict", false},
                 {"/predict", "/", false},
                 {"/predict", "", false},
                 {"/predict", "*", false},
                 {"/predict", "/predict/now", false},
                 {"/v2/models", "/v2/models", true},
                 {"/v2/models", "/v2", false},
                 {"/v2/models", "/v2/", false},
                 {"/v2/models", "/v2//models", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_msg(path_pattern_matches(cases[i].pattern, cases[i].path) == cases[i].fits,
                      "%s and %s", cases[i].pattern, cases[i].path);
}
END_TEST

START_TEST(the_root_fits_the_root_only)
{
    static const char *const others[] = {"", "//", "/a", "/a/", "*", "a"};
    ck_assert(path_pattern_matches("/", "/"));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        ck_assert_msg(!path_pattern_matches("/", others[i]), "%s", others[i]);
    ck_assert(!path_pattern_matches("/{file}", "/"));
}
END_TEST

START_TEST(a_name_fits_one_element_that_is_not_empty)
{
    static const struct {
        const char *pattern, *path;
        bool fits;
    } cases[] = {
        {"/models/{model}", "/models/a", true},
        {"/models/{model}", "/models/wafer-vit.2", true},
        {"/models/{model}", "/models/{model}", true},
        {"/models/{model}", "/models", false},
        {"/models/{model}", "/models/", false},
        {"/models/{model}", "/models//", false},
        {"/models/{model}", "/models//a", false},
        {"/models/{model}", "/models/a/", false},
        {"/models/{model}", "/models/a/b", false},
        {"/models/{model}", "/model/a", false},
        {"/models/{model}", "/modelss/a", false},
        {INFER, "/v2/models/wafer-vit/versions/1/infer", true},
        {INFER, "/v2/models/a/versions/b/infer", true},
        {INFER, "/v2/models/infer/versions/versions/infer", true},
        {INFER, "/v2/models//versions/1/infer", false},
        {INFER, "/v2/models/a/versions//infer", false},
        {INFER, "/v2/models/a/versions/1/infer/", false},
        {INFER, "/v2/models/a/versions/1/", false},
        {INFER, "/v2/models/a/versions/1", false},
        {INFER, "/v2/models/a/versions/1/infers", false},
        {INFER, "/v2/models/a/versions/1/infe", false},
        {INFER, "/v2/models/a/version/1/infer", false},
        {INFER, "/v2/models/a/versions/1/infer/b", false},
        {INFER, "/v2/models/a/b/versions/1/infer", false},
        {INFER, "/v2/models/a/infer", false},
        {INFER, "//v2/models/a/versions/1/infer", false},
        {INFER, "v2/models/a/versions/1/infer", false},
        {INFER, "/", false},
        {INFER, "", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_msg(path_pattern_matches(cases[i].pattern, cases[i].path) == cases[i].fits,
                      "%s and %s", cases[i].pattern, cases[i].path);
}
END_TEST

/* "{}" has no name, and a brace within an element is a character. */
START_TEST(braces_name_the_beginning_of_an_element_alone)
{
    ck_assert(!path_pattern_matches("/{}", "/a"));
    ck_assert(path_pattern_matches("/{}", "/{}"));
    ck_assert(!path_pattern_matches("/a{b}", "/ab"));
    ck_assert(!path_pattern_matches("/{b", "/c"));
}
END_TEST

START_TEST(a_name_may_be_the_beginning_of_an_element)
{
    struct arena arena;
    arena_init(&arena);
    ck_assert(path_pattern_matches("/m/{b}:predict", "/m/a:predict"));
    ck_assert(path_pattern_matches("/m/{b}:predict/{c}", "/m/a:b:predict/d"));
    ck_assert(!path_pattern_matches("/m/{b}:predict", "/m/:predict"));
    ck_assert(!path_pattern_matches("/m/{b}:predict", "/m/a:predicts"));
    ck_assert(!path_pattern_matches("/m/{b}:predict", "/m/predict"));
    ck_assert_str_eq(path_pattern_value("/m/{b}:predict", "/m/a:b:predict", "b", &arena), "a:b");
    arena_deinit(&arena);
}
END_TEST

START_TEST(a_value_is_the_element_at_its_name)
{
    static const struct {
        const char *pattern, *path, *name, *value;
    } cases[] = {
        {"/models/{model}", "/models/wafer-vit", "model", "wafer-vit"},
        {"/{file}", "/a", "file", "a"},
        {INFER, "/v2/models/wafer-vit/versions/17/infer", "model", "wafer-vit"},
        {INFER, "/v2/models/wafer-vit/versions/17/infer", "version", "17"},
        {INFER, "/v2/models/versions/versions/models/infer", "model", "versions"},
        {INFER, "/v2/models/versions/versions/models/infer", "version", "models"},
        {"/{a}/{ab}/{b}", "/1/22/333", "a", "1"},
        {"/{a}/{ab}/{b}", "/1/22/333", "ab", "22"},
        {"/{a}/{ab}/{b}", "/1/22/333", "b", "333"},
        {"/b/{b}", "/b/c", "b", "c"},
    };
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert(path_pattern_matches(cases[i].pattern, cases[i].path));
        ck_assert_str_eq(path_pattern_value(cases[i].pattern, cases[i].path, cases[i].name, &arena),
                         cases[i].value);
    }
    arena_deinit(&arena);
}
END_TEST

/* The path is the connection's; a value outlives the first change to it. */
START_TEST(a_value_is_a_copy_in_the_arena)
{
    struct arena arena;
    char path[] = "/models/logs";
    arena_init(&arena);
    const char *value = path_pattern_value("/models/{model}", path, "model", &arena);
    path[8] = 'd';
    ck_assert_str_eq(value, "logs");
    ck_assert_uint_gt(arena.bytes, 0);
    arena_deinit(&arena);
}
END_TEST

SUITE("path_pattern", a_pattern_without_names_fits_its_own_path_only, the_root_fits_the_root_only,
      a_name_fits_one_element_that_is_not_empty, braces_name_the_beginning_of_an_element_alone,
      a_name_may_be_the_beginning_of_an_element, a_value_is_the_element_at_its_name,
      a_value_is_a_copy_in_the_arena)
