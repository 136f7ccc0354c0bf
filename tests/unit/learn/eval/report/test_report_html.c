/* The page, of a checkpoint whose labels and of data whose texts are hostile. Nothing that they
 * hold may become markup, and what is markup must be well-formed: the test has a small parser that
 * knows elements, attributes and nothing else, so that a stray '<' or quote stops it. */
#include "learn/eval/report/explanations_report.h"
#include "learn/eval/report/html.h"
#include "learn/eval/report/report.h"
#include "learn/eval/report/report_tables.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_SCRIPT "</title><script>alert(1)</script>"
#define LABEL_QUOTE "\\\" onmouseover=\\\"x"

static const char config[] =
    "{\"model_type\": \"bert\", \"hidden_size\": 16, \"num_hidden_layers\": 1, "
    "\"num_attention_heads\": 2, \"intermediate_size\": 24, \"vocab_size\": 40, "
    "\"max_position_embeddings\": 32, \"id2label\": {\"0\": \"" LABEL_SCRIPT
    "\", \"1\": \"" LABEL_QUOTE "\", \"2\": \"plain\"}}";

static const char list[] =
    "{\"text\": \"</pre><script>alert(2)</script> w7\\u0000\\u001b[2J\", "
    "\"label\": \"" LABEL_SCRIPT "\"}\n"
    "{\"text\": \"w8 <img src=x onerror=alert(3)>\", \"label\": \"" LABEL_QUOTE "\"}\n"
    "{\"text\": \"w9 &amp; w10 \\u202e\", \"label\": \"plain\"}\n";

static struct checkpoint_writer writer;

/* The parts of a report. */
struct made {
    struct tempdir dir;
    struct engine_model *model;
    struct dataset dataset;
    unsigned classes[8];
    struct evaluation evaluation;
    struct confusion confusion;
    struct findings findings;
    float scratch[3];
    struct report report;
    char *page;
};

static void make(struct made *made)
{
    struct err err = {0};
    struct dataset_options fields = {.kind = ENGINE_TEXT};
    struct evaluation_options run = {.threads = 1};
    struct findings_options find = {.target_precision = 0.95, .temperature = 1};
    char path[96];
    memset(made, 0, sizeof *made);
    checkpoint_writer_open(&writer);
    checkpoint_writer_file(&writer, "config.json", config);
    checkpoint_writer_bert(&writer, 16, 1, 24, 40, 32, 3);
    checkpoint_writer_finish(&writer);
    engine_open(&made->model, writer.dir, &(struct engine_options){0}, &err);
    checkpoint_writer_close(&writer);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    tempdir_open(&made->dir);
    tempdir_write(&made->dir, "list.jsonl", list, strlen(list));
    snprintf(path, sizeof path, "%s/list.jsonl", made->dir.path);
    const struct engine_info *info = engine_describe(made->model);
    if (dataset_open(&made->dataset, path, &fields, &err) ||
        dataset_match(&made->dataset, info->labels, info->label_count, made->classes, &err) ||
        evaluation_run(&made->evaluation, made->model, &made->dataset, &run, &err) ||
        evaluation_measure(&made->evaluation, made->classes, &made->confusion, &err) ||
        findings_open(&made->findings, &made->evaluation, made->classes, &made->confusion, &find,
                      &err))
        ck_abort_msg("%s", err.text);
    made->report = (struct report){.model_dir = "a/<b>&\"c",
                                   .data_path = "d<e",
                                   .model = made->model,
                                   .dataset = &made->dataset,
                                   .classes = made->classes,
                                   .threads = 1,
                                   .run = {.dtype = "f32",
                                           .linear_backend = "native",
                                           .evaluation = &made->evaluation,
                                           .confusion = &made->confusion},
                                   .findings = &made->findings,
                                   .scratch = made->scratch};
}

static void print(struct made *made)
{
    struct err err = {0};
    size_t len;
    FILE *memory = open_memstream(&made->page, &len);
    ck_assert_ptr_nonnull(memory);
    ck_assert_msg(report_print_html(&made->report, memory, &err) == ERR_OK, "%s", err.text);
    fclose(memory);
    ck_assert_uint_eq(strlen(made->page), len);
}

static void unmake(struct made *made)
{
    free(made->page);
    findings_close(&made->findings);
    confusion_close(&made->confusion);
    evaluation_close(&made->evaluation);
    dataset_close(&made->dataset);
    engine_close(made->model);
    tempdir_close(&made->dir);
}

static bool has(const struct made *made, const char *text)
{
    return strstr(made->page, text) != NULL;
}

/* ---- the parser ---- */

/* The place behind the attributes of a tag, at '>' or "/>"; NULL if they are not NAME="VALUE". */
static const char *skip_attributes(const char *at)
{
    while (*at == ' ') {
        at++;
        while (isalpha((unsigned char)*at) || *at == '-' || isdigit((unsigned char)*at))
            at++;
        if (*at++ != '=' || *at++ != '"')
            return NULL;
        at += strcspn(at, "\"<");
        if (*at++ != '"')
            return NULL;
    }
    return *at == '>' || strncmp(at, "/>", 2) == 0 ? at : NULL;
}

static bool is_void(const char *name)
{
    return strcmp(name, "meta") == 0 || strcmp(name, "br") == 0 || strcmp(name, "img") == 0;
}

/* Fails the test unless every element is closed in order and every attribute is quoted. */
static void expect_well_formed(const char *page)
{
    char open[32][16];
    unsigned depth = 0;
    const char *at = page + strlen("<!DOCTYPE html>");
    for (at = strchr(at, '<'); at != NULL; at = strchr(at, '<')) {
        bool closes = at[1] == '/';
        const char *tag = at, *name = at + 1 + closes;
        size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789");
        char word[16] = "";
        ck_assert_msg(len > 0 && len < sizeof word, "no element: %.60s", tag);
        memcpy(word, name, len);
        at = skip_attributes(name + len);
        ck_assert_msg(at != NULL, "attributes of %.80s", tag);
        if (closes) {
            ck_assert_msg(depth > 0 && strcmp(open[depth - 1], word) == 0, "%.60s", tag);
            depth--;
        } else if (*at == '>' && !is_void(word)) {
            ck_assert_uint_lt(depth, 32);
            memcpy(open[depth++], word, sizeof word);
        }
    }
    ck_assert_msg(depth == 0, "<%s> is not closed", depth > 0 ? open[depth - 1] : "");
}

/* ---- tests ---- */

static struct made made;

START_TEST(report_page_lets_no_label_and_no_text_be_markup)
{
    make(&made);
    print(&made);
    ck_assert(!has(&made, "<script") && !has(&made, "<img"));
    ck_assert(has(&made, "&lt;script&gt;alert(1)"));
    ck_assert(has(&made, "&lt;b&gt;&amp;&quot;c") && has(&made, "d&lt;e"));
    ck_assert_uint_gt(made.findings.mistake_count, 0);
    expect_well_formed(made.page);
    unmake(&made);
}
END_TEST

START_TEST(report_page_fetches_nothing)
{
    make(&made);
    print(&made);
    ck_assert(!has(&made, "http:") && !has(&made, "https:") && !has(&made, "url("));
    ck_assert(!has(&made, "<link") && !has(&made, "@import"));
    ck_assert(has(&made, "default-src 'none'"));
    unmake(&made);
}
END_TEST

START_TEST(report_page_has_titles_and_headers_for_those_who_cannot_see_it)
{
    static const char *const needed[] = {"<html lang=\"en\">", "<title>Risk and coverage</title>",
                                         "scope=\"col\"", "scope=\"row\"", "role=\"img\""};
    make(&made);
    print(&made);
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        ck_assert_msg(has(&made, needed[i]), "%s", needed[i]);
    unmake(&made);
}
END_TEST

START_TEST(report_page_draws_a_training_also_where_numbers_lack)
{
    static const struct report_epoch epochs[] = {
        {2.0, NAN, NAN, 1e-3}, {1.5, 1.75, 0.5, 5e-4}, {1.25, INFINITY, 0.625, 0}};
    for (unsigned count = 1; count <= 3; count++) {
        make(&made);
        made.report.epochs = epochs;
        made.report.epoch_count = count;
        print(&made);
        expect_well_formed(made.page);
        ck_assert(has(&made, "Macro-F1 by epoch"));
        ck_assert(!has(&made, "nan ") && !has(&made, "\"nan") && !has(&made, "inf "));
        unmake(&made);
    }
    make(&made);
    print(&made);
    ck_assert(!has(&made, "by epoch"));
    unmake(&made);
}
END_TEST

START_TEST(report_page_shows_what_the_checkpoint_decides)
{
    static const struct selective_decisions decisions = {
        .count = 200, .automatic = 150, .right = 147, .review = 40, .unknown = 10};
    make(&made);
    made.report.decisions = &decisions;
    print(&made);
    ck_assert(has(&made, "as the checkpoint decides</th><td>75.00 %</td><td>98.00 %</td>"
                         "<td>20.00 %</td><td>5.00 %</td>"));
    unmake(&made);
}
END_TEST

START_TEST(report_page_names_inputs_that_failed)
{
    make(&made);
    made.evaluation.problems[1] = "the <logits> are not finite";
    made.evaluation.failed = 1;
    print(&made);
    ck_assert(has(&made, "<li>line 2: the &lt;logits&gt; are not finite</li>"));
    expect_well_formed(made.page);
    unmake(&made);
}
END_TEST

/* Six kinds of mistake in this order: 4, 2, 2, 1, 1, 1 inputs; equal ones by class, then winner. */
START_TEST(report_page_lists_mistakes_from_the_most_frequent)
{
    static const size_t matrix[3][3] = {{9, 1, 2}, {1, 9, 4}, {2, 1, 9}};
    static const unsigned order[6][3] = {{1, 2, 4}, {0, 2, 2}, {2, 0, 2},
                                         {0, 1, 1}, {1, 0, 1}, {2, 1, 1}};
    struct err err = {0};
    char *table = NULL;
    size_t len;
    make(&made);
    const struct engine_info *info = engine_describe(made.model);
    memcpy(made.confusion.matrix, matrix, sizeof matrix);
    FILE *memory = open_memstream(&table, &len);
    ck_assert_int_eq(report_tables_confusions(&made.report, memory, &err), ERR_OK);
    fclose(memory);
    const char *at = table;
    for (unsigned i = 0; i < 6; i++) {
        char *row = NULL;
        FILE *expected = open_memstream(&row, &len);
        fputs("<tr><th scope=\"row\">", expected);
        html_text(expected, info->labels[order[i][0]]);
        fputs("</th><td>", expected);
        html_text(expected, info->labels[order[i][1]]);
        fprintf(expected, "</td><td>%u</td></tr>\n", order[i][2]);
        fclose(expected);
        at = strstr(at, row);
        ck_assert_msg(at != NULL, "row %u, %s, is not in its place in %s", i, row, table);
        free(row);
    }
    free(table);
    unmake(&made);
}
END_TEST

START_TEST(report_page_that_cannot_be_written_is_an_error)
{
    struct err err = {0};
    FILE *full = fopen("/dev/full", "w");
    make(&made);
    ck_assert_ptr_nonnull(full);
    ck_assert_int_eq(report_print_html(&made.report, full, &err), ERR_IO);
    fclose(full);
    unmake(&made);
}
END_TEST

/* The explanations of the same checkpoint and data. Every winner counts as right, so that all of it
 * is shown. */
static void print_explanations(struct made *from)
{
    struct err err = {0};
    struct explanations explanations;
    struct explanations_options options = {.inputs_max = 10, .threads = 1};
    struct explanations_report report = {"a/<b>&\"c", "d<e", &explanations};
    size_t len;
    FILE *memory = open_memstream(&from->page, &len);
    for (unsigned i = 0; i < from->dataset.count; i++)
        from->classes[i] = evaluation_argmax(&from->evaluation, i);
    struct explanations_source source = {from->model, &from->dataset, &from->evaluation,
                                         from->classes};
    ck_assert_msg(explanations_run(&explanations, &source, &options, &err) == ERR_OK, "%s",
                  err.text);
    ck_assert_uint_eq(explanations.count, 3);
    ck_assert_uint_eq(explanations.gallery_count, 3);
    ck_assert_msg(explanations_print_html(&report, memory, &err) == ERR_OK, "%s", err.text);
    fclose(memory);
    explanations_close(&explanations);
}

START_TEST(explanations_page_lets_no_label_and_no_text_be_markup)
{
    make(&made);
    print_explanations(&made);
    ck_assert(!has(&made, "<script") && !has(&made, "<img"));
    ck_assert(has(&made, "&lt;script&gt;alert(2)"));
    ck_assert(has(&made, "&lt;b&gt;&amp;&quot;c") && has(&made, "d&lt;e"));
    ck_assert(has(&made, "<pre class=\"shaded\">") && has(&made, "<title>occlusion</title>"));
    ck_assert(!has(&made, "http:") && !has(&made, "https:") && !has(&made, "url("));
    ck_assert(has(&made, "scope=\"col\"") && has(&made, "scope=\"row\""));
    expect_well_formed(made.page);
    unmake(&made);
}
END_TEST

SUITE("report_html", explanations_page_lets_no_label_and_no_text_be_markup,
      report_page_lets_no_label_and_no_text_be_markup, report_page_fetches_nothing,
      report_page_has_titles_and_headers_for_those_who_cannot_see_it,
      report_page_draws_a_training_also_where_numbers_lack,
      report_page_shows_what_the_checkpoint_decides, report_page_names_inputs_that_failed,
      report_page_lists_mistakes_from_the_most_frequent,
      report_page_that_cannot_be_written_is_an_error)
