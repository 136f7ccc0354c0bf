#include "engine/base/doc_edit.h"

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
    doc_edit_open(&fixture->root, fixture->path, &fixture->err);
}

static void drop(struct fixture *fixture)
{
    doc_free(fixture->root);
    tempdir_close(&fixture->dir);
}

/* Saves, and compares the file without its white space. */
static void expect_saved(struct fixture *fixture, const char *expected)
{
    char *bytes;
    size_t len, kept = 0;
    ck_assert_msg(fixture->err.code == ERR_OK, "%s", fixture->err.text);
    ck_assert_msg(!doc_edit_save(fixture->root, fixture->path, &fixture->err), "%s",
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

START_TEST(doc_edit_keeps_what_it_does_not_know)
{
    struct fixture fixture;
    setup(&fixture, "{\"z\": [1, {\"deep\": null}], \"a\": true, \"u\": \"\\u00e9\"}");
    expect_saved(&fixture, "{\"z\":[1,{\"deep\":null}],\"a\":true,\"u\":\"\xC3\xA9\"}");
}
END_TEST

START_TEST(doc_edit_keeps_numbers)
{
    struct fixture fixture;
    setup(&fixture, "{\"i\": 12, \"eps\": 1e-12, \"whole\": 2.0, \"p\": 0.1}");
    expect_saved(&fixture, "{\"i\":12,\"eps\":1e-12,\"whole\":2.0,\"p\":0.1}");
    setup(&fixture, "{\"f\": [0.30000000000000004]}");
    expect_saved(&fixture, "{\"f\":[0.30000000000000004]}");
}
END_TEST

START_TEST(doc_edit_keeps_integers_beside_a_huge_one)
{
    struct fixture fixture;
    setup(&fixture, "{\"max\": 1000000000000000019884624838656, \"a\": {\"i\": 12, \"l\": [7]}}");
    expect_saved(&fixture, "{\"max\":1e30,\"a\":{\"i\":12,\"l\":[7]}}");
}
END_TEST

START_TEST(doc_edit_sets_replaces_and_removes_members)
{
    struct fixture fixture;
    struct json_t *child;
    struct err err = {0};
    setup(&fixture, "{\"t\": 1, \"gone\": 2, \"i\": \"x\", \"o\": {\"old\": 1}, \"from\": [3]}");
    ck_assert(!doc_edit_text(fixture.root, "t", "a\"b", &err));
    doc_edit_remove(fixture.root, "gone");
    doc_edit_remove(fixture.root, "never there");
    ck_assert(!doc_edit_integer(fixture.root, "i", -3, &err));
    ck_assert(!doc_edit_number(fixture.root, "n", 0.5, &err));
    ck_assert(!doc_edit_bool(fixture.root, "b", false, &err));
    ck_assert(!doc_edit_texts(fixture.root, "l", (const char *const[]){"p", "q"}, 2, &err));
    ck_assert(!doc_edit_integers(fixture.root, "d", (const long long[]){7, -1}, 2, &err));
    ck_assert(!doc_edit_object(fixture.root, "o", &child, &err));
    ck_assert(!doc_edit_text(child, "0", "none", &err));
    ck_assert(!doc_edit_rename(fixture.root, "from", "to", &err));
    ck_assert(!doc_edit_rename(fixture.root, "never there", "x", &err));
    expect_saved(&fixture, "{\"t\":\"a\\\"b\",\"i\":-3,\"o\":{\"0\":\"none\"},\"n\":0.5,"
                           "\"b\":false,\"l\":[\"p\",\"q\"],\"d\":[7,-1],\"to\":[3]}");
}
END_TEST

START_TEST(doc_edit_refuses_what_json_cannot_hold)
{
    struct fixture fixture;
    struct err err = {0};
    setup(&fixture, "{}");
    ck_assert_int_eq(doc_edit_text(fixture.root, "t", "\xFF", &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "t: a text that is not UTF-8");
    err = (struct err){0};
    ck_assert_int_eq(doc_edit_number(fixture.root, "n", 1e308 * 10, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "n: a number that is not finite");
    err = (struct err){0};
    const char *const texts[] = {"good", "\xFF", "never"};
    ck_assert_int_eq(doc_edit_texts(fixture.root, "l", texts, 3, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "l: a text that is not UTF-8");
    expect_saved(&fixture, "{\"l\":[\"good\"]}"); /* up to where it stopped */
}
END_TEST

START_TEST(doc_edit_keeps_integers_of_lists_beside_a_huge_one)
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
    setup(&fixture, "{\"a\": [9007199254740994], \"huge\": 1000000000000000000000}");
    expect_saved(&fixture, "{\"a\":[9007199254740994.0],\"huge\":1e21}");
}
END_TEST

START_TEST(doc_edit_says_when_it_cannot_save)
{
    struct fixture fixture;
    setup(&fixture, "{}");
    ck_assert_int_eq(doc_edit_save(fixture.root, "/nowhere/a.json", &fixture.err), ERR_IO);
    ck_assert_str_eq(fixture.err.text,
                     "/nowhere/a.json: cannot be written: No such file or directory");
    drop(&fixture);
}
END_TEST

START_TEST(doc_edit_names_the_file_that_is_no_object)
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
    ck_assert_int_eq(doc_edit_open(&fixture.root, "/nowhere", &err), ERR_IO);
    ck_assert_str_eq(err.text, "/nowhere: cannot be opened: No such file or directory");
}
END_TEST

static void expect_unopened(const char *text, enum err_code code, const char *message)
{
    struct tempdir dir;
    struct err err = {0};
    struct json_t *root = (struct json_t *)&dir; /* to be overwritten */
    char path[128], expected[256];
    tempdir_open(&dir);
    snprintf(path, sizeof path, "%s/a.json", dir.path);
    if (text != NULL)
        tempdir_write(&dir, "a.json", text, strlen(text));
    ck_assert_int_eq(doc_edit_open(&root, path, &err), code);
    snprintf(expected, sizeof expected, "%s: %s", path, message);
    ck_assert_str_eq(err.text, expected);
    ck_assert_ptr_null(root);
    tempdir_close(&dir);
}

START_TEST(doc_edit_opens_nothing_that_it_refuses)
{
    expect_unopened(NULL, ERR_IO, "cannot be opened: No such file or directory");
    expect_unopened("[1]", ERR_UNSUPPORTED, "expected an object, found an array");
    expect_unopened("[100000000000000000000]", ERR_UNSUPPORTED,
                    "expected an object, found an array");
    expect_unopened("{\"a\": }", ERR_MALFORMED, "not valid JSON at byte 7 (line 1)");
    expect_unopened("{\"a\": 1, \"a\": 2}", ERR_MALFORMED,
                    "duplicate key in a JSON object at byte 12");
    expect_unopened("{\"a\": 1e999}", ERR_UNUSABLE, "number out of range at byte 11");
    expect_unopened("{\"\xFF\": 1}", ERR_UNUSABLE, "invalid UTF-8 at byte 2");
    expect_unopened("[[[[[[[[[[[[[[[[[", ERR_TOO_LARGE,
                    "JSON nested deeper than 16 levels at byte 16");
}
END_TEST

START_TEST(doc_edit_says_what_json_cannot_hold)
{
    struct json_t *root, *child = NULL;
    struct err err = {0};
    ck_assert_int_eq(doc_edit_new(&root, &err), ERR_OK);
    ck_assert_int_eq(doc_edit_text(root, "t", "\xFF", &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "t: a text that is not UTF-8");
    err = (struct err){0};
    ck_assert_int_eq(doc_edit_number(root, "n", 1e308 * 10, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "n: a number that is not finite");
    err = (struct err){0};
    ck_assert_int_eq(doc_edit_texts(root, "l", (const char *const[]){"a", "\xFF", "b"}, 3, &err),
                     ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "l: a text that is not UTF-8");
    err = (struct err){0};
    ck_assert_ptr_null(doc_member(root, "t"));
    ck_assert_ptr_null(doc_member(root, "n"));
    ck_assert_ptr_null(doc_edit_member(root, "o"));
    ck_assert_ptr_null(doc_edit_member(root, "l"));
    ck_assert_ptr_null(doc_edit_item(root, "l", 0));
    ck_assert_int_eq(doc_edit_object(root, "o", &child, &err), ERR_OK);
    ck_assert_ptr_eq(doc_edit_member(root, "o"), child);
    ck_assert_int_eq(doc_edit_bool(child, "yes", true, &err), ERR_OK);
    ck_assert_int_eq(doc_edit_rename(root, "o", "l", &err), ERR_OK); /* replaces the list */
    ck_assert_ptr_eq(doc_edit_member(root, "l"), child);
    ck_assert_uint_eq(doc_object_count(root), 1);
    doc_free(root);
}
END_TEST

START_TEST(doc_edit_finds_objects_in_an_array)
{
    struct json_t *root;
    struct err err = {0};
    static const char text[] = "{\"l\": [{\"a\": 1}, 2, {\"b\": 3}]}";
    ck_assert_int_eq(doc_parse(&root, text, sizeof text - 1, &doc_limits_file, &err), ERR_OK);
    ck_assert_ptr_nonnull(doc_member(doc_edit_item(root, "l", 2), "b"));
    ck_assert_ptr_null(doc_edit_item(root, "l", 1));
    ck_assert_ptr_null(doc_edit_item(root, "l", 3));
    ck_assert_int_eq(doc_edit_bool(doc_edit_item(root, "l", 0), "c", true, &err), ERR_OK);
    ck_assert_uint_eq(doc_object_count(doc_array_item(doc_member(root, "l"), 0)), 2);
    doc_free(root);
}
END_TEST

START_TEST(doc_edit_takes_json_as_it_is_written)
{
    struct json_t *root;
    struct err err = {0};
    ck_assert_int_eq(doc_edit_new(&root, &err), ERR_OK);
    ck_assert_int_eq(doc_edit_json(root, "c", "{\"lot\":\"A1\",\"die_x\":3}", &err), ERR_OK);
    ck_assert_str_eq(doc_as_string(doc_member(doc_member(root, "c"), "lot")), "A1");
    ck_assert_int_eq(doc_edit_json(root, "c", "{\"lot\":", &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "c: not JSON");
    ck_assert_uint_eq(doc_object_count(doc_member(root, "c")), 2);
    doc_free(root);
}
END_TEST

/* The number that needs all digits may stand anywhere: the others are written with all digits as
 * well. */
START_TEST(doc_edit_writes_all_digits_where_one_number_needs_them)
{
    static const char *const cases[][2] = {
        {"{\"a\": 0.1, \"b\": 0.2}", "{\"a\":0.1,\"b\":0.2}"},
        {"{\"a\": [0.1, [0.30000000000000004]], \"b\": 0.5}",
         "{\"a\":[0.10000000000000001,[0.30000000000000004]],\"b\":0.5}"},
        {"{\"a\": {\"x\": 0.30000000000000004}, \"b\": 0.5}",
         "{\"a\":{\"x\":0.30000000000000004},\"b\":0.5}"},
        {"{\"a\": [0.5, 0.25], \"b\": {\"c\": 0.30000000000000004, \"d\": 1}}",
         "{\"a\":[0.5,0.25],\"b\":{\"c\":0.30000000000000004,\"d\":1}}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        setup(&fixture, cases[i][0]);
        expect_saved(&fixture, cases[i][1]);
    }
}
END_TEST

SUITE("json_edit", doc_edit_finds_objects_in_an_array, doc_edit_takes_json_as_it_is_written,
      doc_edit_keeps_integers_of_lists_beside_a_huge_one, doc_edit_says_when_it_cannot_save,
      doc_edit_keeps_what_it_does_not_know, doc_edit_keeps_numbers,
      doc_edit_keeps_integers_beside_a_huge_one, doc_edit_sets_replaces_and_removes_members,
      doc_edit_refuses_what_json_cannot_hold, doc_edit_names_the_file_that_is_no_object,
      doc_edit_opens_nothing_that_it_refuses, doc_edit_says_what_json_cannot_hold,
      doc_edit_writes_all_digits_where_one_number_needs_them)
