#include "engine/model/config/precision_record.h"

#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

#define DIGITS "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define DIGEST "sha256:" DIGITS
#define INT8(members) "{\"agreement\": {\"int8\": {" members "}}}"
#define GOOD "\"inputs\": 700, \"same_winner\": 699, \"macro_f1_points\": -0.25, \"digest\": "

static struct precision_record record;

static enum err_code read_text(const char *text, struct err *err)
{
    struct json_t *object;
    record = (struct precision_record){0};
    *err = (struct err){0};
    ck_assert_int_eq(doc_parse(&object, text, strlen(text), &doc_limits_file, err), ERR_OK);
    precision_record_read(&record, object, err);
    doc_free(object);
    return err->code;
}

START_TEST(precision_record_of_an_empty_file_has_no_pin_and_no_agreement)
{
    static const char *const texts[] = {"{}", "{\"dtype\": null, \"agreement\": null}",
                                        "{\"agreement\": {}}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct err err;
        ck_assert_msg(read_text(texts[i], &err) == ERR_OK, "%s", err.text);
        ck_assert(!record.is_pinned);
        for (int p = 0; p < PRECISION_COUNT; p++)
            ck_assert_uint_eq(record.agreement[p].inputs, 0);
    }
}
END_TEST

START_TEST(a_pin_is_one_of_the_precisions)
{
    static const char *const names[] = {"f32", "bf16", "int8"};
    for (int p = 0; p < PRECISION_COUNT; p++) {
        char text[32];
        struct err err;
        snprintf(text, sizeof text, "{\"dtype\": \"%s\"}", names[p]);
        ck_assert_int_eq(read_text(text, &err), ERR_OK);
        ck_assert(record.is_pinned);
        ck_assert_int_eq(record.pinned, p);
    }
}
END_TEST

START_TEST(agreements_are_read_of_each_precision)
{
    struct err err;
    ck_assert_msg(read_text("{\"agreement\": {\"int8\": {" GOOD "\"" DIGEST "\"}, \"bf16\": "
                            "{\"inputs\": 1, \"same_winner\": 0, \"macro_f1_points\": 100, "
                            "\"digest\": \"" DIGEST "\"}}}",
                            &err) == ERR_OK,
                  "%s", err.text);
    const struct precision_agreement *int8 = &record.agreement[PRECISION_INT8];
    ck_assert_uint_eq(int8->inputs, 700);
    ck_assert_uint_eq(int8->same_winner, 699);
    ck_assert_double_eq(int8->f1_points, -0.25);
    ck_assert_str_eq(int8->digest, DIGEST);
    ck_assert_uint_eq(record.agreement[PRECISION_BF16].inputs, 1);
    ck_assert_uint_eq(record.agreement[PRECISION_BF16].same_winner, 0);
    ck_assert_double_eq(record.agreement[PRECISION_BF16].f1_points, 100);
    ck_assert_uint_eq(record.agreement[PRECISION_F32].inputs, 0);
    ck_assert(!record.is_pinned);
}
END_TEST

START_TEST(precision_record_refuses_a_bad_agreement_by_its_name)
{
    static const struct {
        const char *text, *word;
    } cases[] = {
        {"{\"dtype\": \"auto\"}", "$.dtype must be \"f32\", \"bf16\" or \"int8\""},
        {"{\"dtype\": \"F32\"}", "$.dtype must be"},
        {"{\"dtype\": \"\"}", "$.dtype must be"},
        {"{\"dtype\": 8}", "$.dtype: expected a string"},
        {"{\"agreement\": []}", "$.agreement: expected an object"},
        {"{\"agreement\": \"int8\"}", "$.agreement: expected an object"},
        {"{\"agreement\": {\"f32\": {}}}", "$.agreement.f32 is none of bf16 and int8"},
        {"{\"agreement\": {\"int4\": {}}}", "$.agreement.int4 is none"},
        {"{\"agreement\": {\"int8\": 1}}", "$.agreement.int8: expected an object, found a number"},
        {INT8(""), "must have \"inputs\" and \"same_winner\""},
        {INT8("\"inputs\": 700"), "must have \"inputs\" and \"same_winner\""},
        {INT8("\"same_winner\": 0"), "must have \"inputs\" and \"same_winner\""},
        {INT8("\"inputs\": 0, \"same_winner\": 0"), "inputs"},
        {INT8("\"inputs\": -1, \"same_winner\": 0"), "inputs"},
        {INT8("\"inputs\": 1000000001, \"same_winner\": 0"), "inputs"},
        {INT8("\"inputs\": 99999999999999999999, \"same_winner\": 0"), "inputs"},
        {INT8("\"inputs\": 7.5, \"same_winner\": 0"), "inputs"},
        {INT8("\"inputs\": \"700\", \"same_winner\": 0"), "inputs"},
        {INT8("\"inputs\": 700, \"same_winner\": 701"), "same_winner"},
        {INT8("\"inputs\": 700, \"same_winner\": -1"), "same_winner"},
        {INT8("\"inputs\": 700, \"same_winner\": 700, \"digest\": \"" DIGEST "\""),
         "macro_f1_points must be from -100 to 100"},
        {INT8("\"inputs\": 700, \"same_winner\": 700, \"macro_f1_points\": 100.1"),
         "macro_f1_points must be"},
        {INT8("\"inputs\": 700, \"same_winner\": 700, \"macro_f1_points\": -1e300"),
         "macro_f1_points must be"},
        {INT8("\"inputs\": 700, \"same_winner\": 700, \"macro_f1_points\": true"),
         "macro_f1_points: expected a number"},
        {INT8("\"inputs\": 700, \"same_winner\": 700, \"macro_f1_points\": 0"),
         "digest must be \"sha256:\" and 64 digits"},
        {INT8(GOOD "\"\""), "digest must be"},
        {INT8(GOOD "\"" DIGITS "\""), "digest must be"},
        {INT8(GOOD "\"" DIGEST "0\""), "digest must be"},
        {INT8(GOOD "\"sha256:0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef\""),
         "digest must be"},
        {INT8(GOOD "\"sha1:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef00\""),
         "digest must be"},
        {INT8(GOOD "7"), "digest: expected a string"},
        {INT8(GOOD "\"" DIGEST "\", \"sure\": 1"), "sure is not supported"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err;
        ck_assert_msg(read_text(cases[i].text, &err) != ERR_OK, "%s", cases[i].text);
        ck_assert_msg(strstr(err.text, cases[i].word) != NULL, "%s: %s", cases[i].text, err.text);
        ck_assert_uint_eq(record.agreement[PRECISION_INT8].inputs, 0);
    }
}
END_TEST

SUITE("precision_record", precision_record_of_an_empty_file_has_no_pin_and_no_agreement,
      a_pin_is_one_of_the_precisions, agreements_are_read_of_each_precision,
      precision_record_refuses_a_bad_agreement_by_its_name)
