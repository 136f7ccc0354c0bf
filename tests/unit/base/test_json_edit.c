#include "engine/base/json_edit.h"

#include "engine/base/file.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    struct tempdir dir;
    char path[128];
    struct json_t *root;
    struct err err;
};

static void setup(struct fixture *fixture, const char *text)
{
    tempdir_open(&fixture->dir);
    tempdir_write(&fixture->dir, "a.json", text, strlen(text));
    snprintf(fixture->path, sizeof fixture->path, "%s/a.json", fixture->dir.path);
    fixture->err = (struct err){0};
    json_edit_open(&fixture->root, fixture->path, &fixture->err);
}

static void drop(struct fixture *fixture)
{
    json_free(fixture->root);
    tempdir_close(&fixture->dir);
}

/* Saves, and compares the file without its white space. */
static void expect_saved(struct fixture *fixture, const char *expected)
{
    char *bytes;
    size_t len, kept = 0;
    ck_assert_msg(fixture->err.code == ERR_OK, "%s", fixture->err.text);
    ck_assert_msg(!json_edit_save(fixture->root, fixture->path, &fixture->err), "%s",
                  fixture->err.text);
    ck_assert_int_eq(file_read(&bytes, &len, fixture->path, 1 << 20, &fixture->err), ERR_OK);
    ck_assert_int_eq(bytes[len - 1], '\n');
    for (size_t i = 0; i < len; i++)
        if (bytes[i] != ' ' && bytes[i] != '\n')
            bytes[kept++] = bytes[i];
    bytes[kept] = '\0';
    ck_assert_str_eq(bytes, expected);
    free(bytes);
    drop(fixture);
}

START_TEST(json_edit_keeps_what_it_does_not_know)
{
    struct fixture fixture;
    setup(&fixture, "{\"z\": [1, {\"deep\": null}], \"a\": true, \"u\": \"\\u00e9\"}");
    expect_saved(&fixture, "{\"z\":[1,{\"deep\":null}],\"a\":true,\"u\":\"\xC3\xA9\"}");
}
END_TEST

START_TEST(json_edit_keeps_numbers)
{
    struct fixture fixture;
    setup(&fixture, "{\"i\": 12, \"eps\": 1e-12, \"whole\": 2.0, \"p\": 0.1}");
    expect_saved(&fixture, "{\"i\":12,\"eps\":1e-12,\"whole\":2.0,\"p\":0.1}");
    setup(&fixture, "{\"f\": [0.30000000000000004]}");
    expect_saved(&fixture, "{\"f\":[0.30000000000000004]}");
}
END_TEST

START_TEST(json_edit_keeps_integers_beside_a_huge_one)
{
    struct fixture fixture;
    setup(&fixture, "{\"max\": 1000000000000000019884624838656, \"a\": {\"i\": 12, \"l\": [7]}}");
    expect_saved(&fixture, "{\"max\":1e30,\"a\":{\"i\":12,\"l\":[7]}}");
}
END_TEST

START_TEST(json_edit_sets_replaces_and_removes_members)
{
    struct fixture fixture;
    struct json_t *child;
    struct err err = {0};
    setup(&fixture, "{\"t\": 1, \"gone\": 2, \"i\": \"x\", \"o\": {\"old\": 1}, \"from\": [3]}");
    ck_assert(!json_edit_text(fixture.root, "t", "a\"b", &err));
    json_edit_remove(fixture.root, "gone");
    json_edit_remove(fixture.root, "never there");
    ck_assert(!json_edit_integer(fixture.root, "i", -3, &err));
    ck_assert(!json_edit_number(fixture.root, "n", 0.5, &err));
    ck_assert(!json_edit_bool(fixture.root, "b", false, &err));
    ck_assert(!json_edit_texts(fixture.root, "l", (const char *const[]){"p", "q"}, 2, &err));
    ck_assert(!json_edit_object(fixture.root, "o", &child, &err));
    ck_assert(!json_edit_text(child, "0", "none", &err));
    ck_assert(!json_edit_rename(fixture.root, "from", "to", &err));
    ck_assert(!json_edit_rename(fixture.root, "never there", "x", &err));
    expect_saved(&fixture, "{\"t\":\"a\\\"b\",\"i\":-3,\"o\":{\"0\":\"none\"},\"n\":0.5,"
                           "\"b\":false,\"l\":[\"p\",\"q\"],\"to\":[3]}");
}
END_TEST

START_TEST(json_edit_refuses_what_json_cannot_hold)
{
    struct fixture fixture;
    struct err err = {0};
    setup(&fixture, "{}");
    ck_assert_int_eq(json_edit_text(fixture.root, "t", "\xFF", &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "t: a text that is not UTF-8, or no memory");
    err = (struct err){0};
    ck_assert_int_eq(json_edit_number(fixture.root, "n", 1e308 * 10, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "n: a number that is not finite");
    err = (struct err){0};
    const char *const texts[] = {"good", "\xFF", "never"};
    ck_assert_int_eq(json_edit_texts(fixture.root, "l", texts, 3, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "l: a text that is not UTF-8, or no memory");
    expect_saved(&fixture, "{\"l\":[\"good\"]}"); /* up to where it stopped */
}
END_TEST

START_TEST(json_edit_keeps_integers_of_lists_beside_a_huge_one)
{
    struct fixture fixture;
    setup(&fixture, "[0]");
    drop(&fixture);
    setup(&fixture, "{\"a\": [7, [8, {\"b\": 9}]], \"max\": 1000000000000000000000}");
    expect_saved(&fixture, "{\"a\":[7,[8,{\"b\":9}]],\"max\":1e21}");
    setup(&fixture, "{\"a\": [9007199254740992, -9007199254740992], \"max\": 1e21, "
                    "\"huge\": 1000000000000000000000}");
    expect_saved(&fixture,
                 "{\"a\":[9007199254740992,-9007199254740992],\"max\":1e21,\"huge\":1e21}");
}
END_TEST

START_TEST(json_edit_says_when_it_cannot_save)
{
    struct fixture fixture;
    setup(&fixture, "{}");
    ck_assert_int_eq(json_edit_save(fixture.root, "/nowhere/a.json", &fixture.err), ERR_IO);
    ck_assert_str_eq(fixture.err.text,
                     "/nowhere/a.json: cannot be written: No such file or directory");
    drop(&fixture);
}
END_TEST

START_TEST(json_edit_names_the_file_that_is_no_object)
{
    struct fixture fixture;
    setup(&fixture, "[1]");
    ck_assert_int_eq(fixture.err.code, ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(fixture.err.text, "a.json: expected an object, found an array"));
    drop(&fixture);
    setup(&fixture, "{\"a\": }");
    ck_assert_int_eq(fixture.err.code, ERR_MALFORMED);
    ck_assert_ptr_nonnull(strstr(fixture.err.text, "a.json: not valid JSON"));
    ck_assert_ptr_null(fixture.root);
    drop(&fixture);
    struct err err = {0};
    ck_assert_int_eq(json_edit_open(&fixture.root, "/nowhere", &err), ERR_IO);
    ck_assert_str_eq(err.text, "/nowhere: cannot be opened: No such file or directory");
}
END_TEST

SUITE("json_edit", json_edit_keeps_integers_of_lists_beside_a_huge_one,
      json_edit_says_when_it_cannot_save, json_edit_keeps_what_it_does_not_know,
      json_edit_keeps_numbers, json_edit_keeps_integers_beside_a_huge_one,
      json_edit_sets_replaces_and_removes_members, json_edit_refuses_what_json_cannot_hold,
      json_edit_names_the_file_that_is_no_object)
