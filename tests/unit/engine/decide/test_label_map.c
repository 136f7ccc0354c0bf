#include "engine/base/doc.h"
#include "engine/decide/label_map.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum err_code add_number(void *context, unsigned label, const struct json_t *value,
                                struct err *err)
{
    double *sums = context, number = 0;
    if (!doc_as_number(value, &number))
        return err_set(err, ERR_UNSUPPORTED, "no number");
    sums[label] += number;
    return ERR_OK;
}

static enum err_code read_map(const char *text, const char *const *labels, unsigned count,
                              double *sums, struct err *err)
{
    struct json_t *object;
    *err = (struct err){0};
    ck_assert_int_eq(doc_parse(&object, text, strlen(text), &doc_limits_file, err), ERR_OK);
    enum err_code code = label_map_read(object, "$.map", labels, count, add_number, sums, err);
    ck_assert_int_eq(code, err->code);
    doc_free(object);
    return err->code;
}

START_TEST(label_map_visits_each_label_once_in_any_order)
{
    static const char *const labels[] = {"b", "", "a", "b"};
    double sums[4] = {0};
    struct err err;
    ck_assert_int_eq(read_map("{\"a\": 1, \"b\": 2, \"\": 4}", labels, 4, sums, &err), ERR_OK);
    ck_assert(sums[0] == 2 && sums[1] == 4 && sums[2] == 1 && sums[3] == 2);
}
END_TEST

START_TEST(label_map_names_what_is_missing_and_what_is_too_much)
{
    static const char *const labels[] = {"a", "b"};
    double sums[2] = {0};
    struct err err;
    ck_assert_int_eq(read_map("{\"a\": 1}", labels, 2, sums, &err), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "$.map lacks the label 'b'");
    ck_assert_int_eq(read_map("{\"a\": 1, \"b\": 1, \"c\": 1}", labels, 2, sums, &err),
                     ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "'c'"));
    ck_assert_int_eq(read_map("{\"a\": 1, \"b\": \"x\"}", labels, 2, sums, &err), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "no number");
    ck_assert_int_eq(read_map("7", labels, 2, sums, &err), ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "expected an object, found a number"));
}
END_TEST

START_TEST(label_map_takes_many_labels)
{
    enum { COUNT = 20000 };
    const char **labels = calloc(COUNT, sizeof *labels);
    char *names = calloc(COUNT, 8), *text = calloc(COUNT, 16);
    double *sums = calloc(COUNT, sizeof *sums);
    struct err err;
    size_t len = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        labels[i] = names + 8 * (size_t)i;
        snprintf(names + 8 * (size_t)i, 8, "n%u", i * 7919 % COUNT);
        len += (size_t)sprintf(text + len, "%s\"n%u\":%u", i == 0 ? "{" : ",", i, i);
    }
    strcpy(text + len, "}");
    ck_assert_msg(read_map(text, labels, COUNT, sums, &err) == ERR_OK, "%s", err.text);
    for (unsigned i = 0; i < COUNT; i++)
        ck_assert(sums[i] == i * 7919 % COUNT);
    free(labels);
    free(names);
    free(text);
    free(sums);
}
END_TEST

static enum err_code refuse_second(void *context, unsigned label, const struct json_t *value,
                                   struct err *err)
{
    unsigned *visits = context;
    (void)label;
    (void)value;
    return ++*visits < 2 ? ERR_OK : err_set(err, ERR_UNSUPPORTED, "no second");
}

/* "b" has two labels, which are two visits. */
START_TEST(label_map_visits_nothing_after_the_first_error)
{
    static const char *const labels[] = {"a", "b", "b", "c"};
    static const struct {
        const char *text, *error;
        unsigned visits;
    } cases[] = {
        {"{\"x\": 0, \"a\": 1}", "$.map has a member that is no label of the model: 'x'", 0},
        {"{\"a\": 1, \"x\": 0, \"b\": 1}", "$.map has a member that is no label of the model: 'x'",
         1},
        {"{\"c\": 1, \"a\": 1, \"b\": 1}", "no second", 2},
        {"{\"b\": 1, \"a\": 1, \"c\": 1}", "no second", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct json_t *object;
        struct err err = {0};
        unsigned visits = 0;
        ck_assert(
            !doc_parse(&object, cases[i].text, strlen(cases[i].text), &doc_limits_file, &err));
        ck_assert_int_eq(label_map_read(object, "$.map", labels, 4, refuse_second, &visits, &err),
                         ERR_UNSUPPORTED);
        ck_assert_str_eq(err.text, cases[i].error);
        ck_assert_uint_eq(visits, cases[i].visits);
        doc_free(object);
    }
}
END_TEST

SUITE("label_map", label_map_visits_nothing_after_the_first_error,
      label_map_visits_each_label_once_in_any_order,
      label_map_names_what_is_missing_and_what_is_too_much, label_map_takes_many_labels)
