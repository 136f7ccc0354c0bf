#include "engine/base/doc.h"
#include "tests/support/suite.h"
#include "tools/batch/result.h"

#include <stdlib.h>
#include <string.h>

/* The line of an object; the caller's to free. */
static char *line_by(const struct result_format *format, const char *json,
                     const struct record_input *input)
{
    char *text = NULL;
    size_t len;
    struct json_t *object;
    struct err err = {0};
    FILE *file = open_memstream(&text, &len);
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(doc_parse(&object, json, strlen(json), &doc_limits_request, &err), ERR_OK);
    ck_assert_int_eq(result_write(format, object, input, file, &err), ERR_OK);
    doc_free(object);
    ck_assert_int_eq(fclose(file), 0);
    return text;
}

static void expect(const char *json, const struct record_input *input, bool is_csv, unsigned top_k,
                   const char *want)
{
    const struct result_format format = {.is_csv = is_csv, .top_k = top_k};
    char *found = line_by(&format, json, input);
    ck_assert_str_eq(found, want);
    free(found);
}

static const struct record_input plain = {.listed = {.file = "a.log", .line = 17}};

START_TEST(result_adds_place_and_id_to_json)
{
    struct record_input input = plain;
    expect("{\"label\":\"x\"}", &input, false, 1,
           "{\"label\":\"x\",\"input\":{\"file\":\"a.log\",\"line\":17}}\n");
    input.id = "d\"1";
    expect("{}", &input, false, 1,
           "{\"id\":\"d\\\"1\",\"input\":{\"file\":\"a.log\",\"line\":17}}\n");
    input = (struct record_input){.listed = {.file = "m.png"}, .has_number = true, .number = -5};
    expect("{}", &input, false, 1, "{\"id\":-5,\"input\":{\"file\":\"m.png\"}}\n");
}
END_TEST

static const char answer[] =
    "{\"label\":\"x\",\"score\":0.5,\"decision\":\"review\",\"reason\":\"a, \\\"b\\\"\","
    "\"ood_score\":-1.5,\"truncated\":true,\"predictions\":[{\"label\":\"x\",\"score\":0.5},"
    "{\"label\":\"=y\",\"score\":0.25}],\"model\":{\"name\":\"m\",\"version\":\"1\","
    "\"digest\":\"sha256:0\"}}";

START_TEST(result_writes_a_flat_row)
{
    expect(answer, &plain, true, 1,
           "a.log,17,,x,0.5,review,\"a, \"\"b\"\"\",-1.5,,true,,m,1,sha256:0,,\r\n");
    expect(answer, &plain, true, 3,
           "a.log,17,,x,0.5,review,\"a, \"\"b\"\"\",-1.5,,true,,\"'=y\",0.25,,,m,1,sha256:0,,\r\n");
    expect("{\"status\":422,\"error\":\"a.log: line 17: empty\"}", &plain, true, 1,
           "a.log,17,,,,,,,,,,,,,422,a.log: line 17: empty\r\n");
}
END_TEST

START_TEST(result_puts_a_number_in_the_cell_of_the_score)
{
    expect("{\"value\":-0.5,\"decision\":\"auto\"}", &plain, true, 1,
           "a.log,17,,,-0.5,auto,,,,,,,,,,\r\n");
    expect("{\"values\":{\"=yield\":0.25,\"leak\":1e-3},\"decision\":\"auto\"}", &plain, true, 1,
           "a.log,17,,\"'=yield=0.25|leak=0.001\",,auto,,,,,,,,,,\r\n");
}
END_TEST

static const char written[] =
    "{\"output\":\"=a\\nb\",\"score\":-0.5,\"confidence\":0.25,\"decision\":\"review\","
    "\"reason\":\"low\",\"truncated\":true,\"alternatives\":[{\"output\":\"c\",\"score\":-1}],"
    "\"model\":{\"name\":\"m\",\"version\":\"1\",\"digest\":\"sha256:0\"}}";

START_TEST(result_writes_a_row_of_texts)
{
    static const char *const rows[] = {
        "a.log,17,,\"'=a\nb\",-0.5,0.25,review,low,,true,m,1,sha256:0,,\r\n",
        "a.log,17,,\"'=a\nb\",-0.5,0.25,review,low,,true,c,-1,m,1,sha256:0,,\r\n",
        "a.log,17,,\"'=a\nb\",-0.5,0.25,review,low,,true,c,-1,,,m,1,sha256:0,,\r\n"};
    for (unsigned texts = 1; texts <= 3; texts++) {
        const struct result_format format = {.is_csv = true, .top_k = 1, .texts = texts};
        char *found = line_by(&format, written, &plain);
        ck_assert_str_eq(found, rows[texts - 1]);
        free(found);
    }
    const struct result_format format = {.is_csv = true, .texts = 1};
    char *found = line_by(&format, "{\"output\":null,\"broken_rule\":\"pattern\"}", &plain);
    ck_assert_str_eq(found, "a.log,17,,,,,,,pattern,,,,,,\r\n");
    free(found);
}
END_TEST

/* A table has the columns of its header alone. */
START_TEST(result_refuses_a_row_for_what_has_no_column)
{
    static const char *const objects[] = {"{\"embedding\":[0.5],\"dimensions\":1}", written};
    const struct result_format format = {.is_csv = true, .top_k = 1};
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        struct json_t *object;
        struct err err = {0};
        ck_assert_int_eq(
            doc_parse(&object, objects[i], strlen(objects[i]), &doc_limits_request, &err), ERR_OK);
        ck_assert_int_eq(result_write(&format, object, &plain, stdout, &err), ERR_UNUSABLE);
        ck_assert_ptr_nonnull(strstr(err.text, "--format jsonl"));
        doc_free(object);
    }
}
END_TEST

START_TEST(result_header_has_a_cell_for_each_of_a_row)
{
    for (unsigned top_k = 1; top_k <= 3; top_k++) {
        const bool writes = top_k == 2;
        const struct result_format format = {
            .is_csv = true, .top_k = top_k, .texts = writes ? top_k : 0};
        char *header = NULL;
        size_t len, commas = 0;
        FILE *file = open_memstream(&header, &len);
        result_header(&format, file);
        fclose(file);
        for (const char *at = header; *at != '\0'; at++)
            commas += *at == ',';
        ck_assert_uint_eq(commas, (writes ? 14 : 15) + 2 * (top_k - 1));
        free(header);
    }
}
END_TEST

/* OWASP, "CSV Injection": a cell that a spreadsheet would compute begins with one of these. */
START_TEST(result_lets_no_text_become_a_formula)
{
    static const char *const hostile[] = {"=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx"};
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        char want[128];
        struct record_input input = plain;
        input.id = hostile[i];
        snprintf(want, sizeof want, "a.log,17,\"'%s\",,,,,,,,,,,,,\r\n", hostile[i]);
        expect("{}", &input, true, 1, want);
    }
}
END_TEST

START_TEST(result_quotes_what_would_break_a_row)
{
    static const char *const texts[][2] = {{"a\nb", "\"a\nb\""},
                                           {"a\"b", "\"a\"\"b\""},
                                           {"a;b", "\"a;b\""},
                                           {"plain text", "plain text"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char want[128];
        struct record_input input = plain;
        input.id = texts[i][0];
        snprintf(want, sizeof want, "a.log,17,%s,,,,,,,,,,,,,\r\n", texts[i][1]);
        expect("{}", &input, true, 1, want);
    }
}
END_TEST

START_TEST(result_spells_out_a_name_that_is_not_utf8)
{
    const struct record_input input = {.listed = {.file = "\xFF.log", .line = 1}};
    expect("{}", &input, true, 1, "\\xFF.log,1,,,,,,,,,,,,,,\r\n");
    expect("{}", &input, false, 1, "{\"input\":{\"file\":\"\\\\xFF.log\",\"line\":1}}\n");
}
END_TEST

SUITE("result", result_adds_place_and_id_to_json, result_writes_a_flat_row,
      result_puts_a_number_in_the_cell_of_the_score, result_writes_a_row_of_texts,
      result_refuses_a_row_for_what_has_no_column, result_header_has_a_cell_for_each_of_a_row,
      result_lets_no_text_become_a_formula, result_quotes_what_would_break_a_row,
      result_spells_out_a_name_that_is_not_utf8)
