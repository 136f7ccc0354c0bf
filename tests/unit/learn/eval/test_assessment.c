/* assessment.h and strangeness.h with a tiny model whose attnd.json decides: the report gets the
 * figures of the parts, and every decision is made again here. */
#include "engine/base/file.h"
#include "learn/eval/assessment.h"
#include "learn/eval/measure/strangeness.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 24, LABELS = 3, LOST = 5 };

/* %s: more of it. */
static const char config[] =
    "{\"model_type\": \"bert\", \"hidden_size\": 16, \"num_hidden_layers\": 1, "
    "\"num_attention_heads\": 2, \"intermediate_size\": 24, \"vocab_size\": 40, "
    "\"max_position_embeddings\": 32%s}";
static const char labels[] = ", \"id2label\": {\"0\": \"a\", \"1\": \"b\", \"2\": \"c\"}";

static struct checkpoint_writer writer;
static struct dataset_item items[INPUTS];
static char texts[INPUTS][16];
static struct dataset dataset;
static struct assessment assessment;
static struct err err;

static void write_model(const char *more, const char *attnd, size_t label_count)
{
    char text[1024];
    snprintf(text, sizeof text, config, more);
    checkpoint_writer_open(&writer);
    checkpoint_writer_file(&writer, "config.json", text);
    if (attnd != NULL)
        checkpoint_writer_file(&writer, "attnd.json", attnd);
    checkpoint_writer_bert(&writer, 16, 1, 24, 40, 32, label_count);
    for (size_t i = 0; i < label_count * 17; i++) /* the classifier's, so that scores differ */
        writer.data[writer.count - 1 - i] *= i < label_count ? 0 : 14;
    checkpoint_writer_finish(&writer);
}

static const struct assessment_options options = {.target_precision = 0.75,
                                                  .evaluation = {.threads = 1}};

static enum err_code open_dir(const char *dir)
{
    struct assessment_options how = options;
    how.dir = dir;
    return assessment_open(&assessment, &how, &err);
}

/* Words w5, w6 ...; one text is empty. Labels go round. */
static void open_all(const char *attnd)
{
    write_model(labels, attnd, LABELS);
    ck_assert_msg(!open_dir(writer.dir), "%s", err.text);
    for (unsigned i = 0; i < INPUTS; i++) {
        static const char *const names[] = {"a", "b", "c"};
        snprintf(texts[i], sizeof texts[i], i == LOST ? "" : "w%u", 5 + i);
        items[i] = (struct dataset_item){.name = "line",
                                         .input = texts[i],
                                         .input_len = strlen(texts[i]),
                                         .label = names[i % LABELS]};
    }
    dataset = (struct dataset){.kind = ENGINE_TEXT, .items = items, .count = INPUTS};
    ck_assert_msg(!assessment_take(&assessment, &dataset, "the data", &err), "%s", err.text);
}

static void close_all(void)
{
    assessment_close(&assessment);
    ck_assert(assessment.model == NULL && assessment.classes == NULL);
    checkpoint_writer_close(&writer);
}

/* The model's decision on an input. */
static struct judgement judge(size_t item)
{
    const struct evaluation *evaluation = &assessment.evaluation;
    float scores[LABELS];
    struct engine_result result = {.scores = scores,
                                   .features = evaluation_features(evaluation, item)};
    engine_conclude(assessment.model, evaluation_logits(evaluation, item), NULL,
                    evaluation->truncated[item] ? DOUBT_TRUNCATED : DOUBT_NONE, &result);
    return result.judgement;
}

static const char deciding[] =
    "{\"temperature\": 1.5, \"target_precision\": 0.9, \"thresholds\": {\"a\": %.9g, "
    "\"b\": %.9g, \"c\": %.9g}, \"ood\": {\"method\": \"energy\", "
    "\"threshold\": %.9g}}";

static void open_with(double threshold, double strangest)
{
    char attnd[256];
    snprintf(attnd, sizeof attnd, deciding, threshold, threshold, threshold, strangest);
    open_all(attnd);
    ck_assert_msg(!assessment_run(&assessment, &err), "%s", err.text);
}

/* Thresholds that some inputs are above, and others not. */
static void open_deciding(void)
{
    double strangest = -INFINITY, threshold;
    open_with(0.5, 1e9);
    for (size_t i = 0; i < 4; i++)
        strangest = fmax(strangest, (double)judge(i).ood_score);
    threshold = (double)assessment.findings.mistakes[3].score;
    close_all();
    open_with(threshold, strangest);
}

START_TEST(assessment_counts_what_the_checkpoint_decides)
{
    struct selective_decisions expected = {0};
    open_deciding();
    for (size_t i = 0; i < INPUTS; i++) {
        if (i == LOST)
            continue;
        enum decision decision = judge(i).decision;
        bool right = evaluation_argmax(&assessment.evaluation, i) == i % LABELS;
        expected.count++;
        expected.automatic += decision == DECISION_AUTO;
        expected.right += decision == DECISION_AUTO && right;
        expected.review += decision == DECISION_REVIEW;
        expected.unknown += decision == DECISION_UNKNOWN;
    }
    ck_assert(expected.right > 0 && expected.right < expected.automatic);
    ck_assert(expected.review > 0 && expected.unknown > 0 && expected.count == INPUTS - 1);
    ck_assert_mem_eq(&assessment.decisions, &expected, sizeof expected);
    ck_assert(!assessment_measure(&assessment, &err)); /* again is not twice */
    ck_assert_mem_eq(&assessment.decisions, &expected, sizeof expected);
    ck_assert_uint_eq(assessment.confusion.count, INPUTS - 1);
    close_all();
}
END_TEST

START_TEST(assessment_gives_the_report_all_that_it_has)
{
    open_deciding();
    const struct report *report = &assessment.report;
    ck_assert(report->model_dir == writer.dir && report->model == assessment.model);
    ck_assert_str_eq(report->data_path, "the data");
    ck_assert(report->dataset == &dataset && report->classes == assessment.classes);
    ck_assert(report->threads == 1 && report->scratch == assessment.scratch);
    ck_assert_str_eq(report->run.dtype, "f32");
    ck_assert_str_eq(report->run.linear_backend, engine_describe(assessment.model)->linear_backend);
    ck_assert_ptr_eq(report->run.evaluation, &assessment.evaluation);
    ck_assert_ptr_eq(report->run.confusion, &assessment.confusion);
    ck_assert_ptr_eq(report->findings, &assessment.findings);
    ck_assert_ptr_eq(report->decisions, &assessment.decisions);
    ck_assert(report->agreement == NULL && report->epochs == NULL);
    ck_assert_ptr_nonnull(assessment.evaluation.features);
    ck_assert(assessment.findings.target_precision == 0.75 &&
              assessment.findings.served.temperature == 1.5);
    ck_assert_uint_eq(assessment.evaluation.failed, 1);
    close_all();
}
END_TEST

/* Either a target precision or an OOD threshold is something to decide by. */
START_TEST(assessment_without_thresholds_has_no_decisions)
{
    static const struct {
        const char *attnd;
        bool decides;
    } cases[] = {{NULL, false},
                 {"{\"temperature\": 2}", false},
                 {"{\"purity\": 0.9, \"thresholds\": {\"a\": 0.5, \"b\": 0.5, \"c\": 0.5}}", true},
                 {"{\"ood\": {\"method\": \"energy\", \"threshold\": 0}}", true},
                 {"{\"ood\": {\"method\": \"energy\"}}", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        open_all(cases[i].attnd);
        ck_assert_msg(!assessment_run(&assessment, &err), "%s", err.text);
        ck_assert_int_eq(assessment.report.decisions != NULL, cases[i].decides);
        close_all();
    }
}
END_TEST

/* The same inputs measured as binary questions: each of the labels has a score in a bin. */
START_TEST(assessment_of_independent_labels_measures_each)
{
    for (unsigned sigmoid = 0; sigmoid < 2; sigmoid++) {
        char more[256];
        size_t judged = 0;
        snprintf(more, sizeof more, "%s%s", labels,
                 sigmoid ? ", \"problem_type\": \"multi_label_classification\"" : "");
        open_all(NULL);
        assessment_close(&assessment);
        checkpoint_writer_close(&writer);
        write_model(more, NULL, LABELS);
        ck_assert(!open_dir(writer.dir) &&
                  !assessment_take(&assessment, &dataset, "the data", &err) &&
                  !assessment_run(&assessment, &err));
        for (unsigned i = 0; i < CALIBRATION_BINS; i++)
            judged += assessment.findings.served.bins[i].count;
        ck_assert_uint_eq(judged, (INPUTS - 1) * (sigmoid ? LABELS : 1));
        close_all();
    }
}
END_TEST

START_TEST(assessment_refuses_what_it_cannot_measure)
{
    char expected[160];
    write_model(", \"problem_type\": \"regression\"", NULL, 2);
    ck_assert(!open_dir(writer.dir));
    ck_assert_int_eq(assessment_take(&assessment, &dataset, "the data", &err), ERR_UNSUPPORTED);
    snprintf(expected, sizeof expected, "%s: a regression has no classes to evaluate", writer.dir);
    ck_assert_str_eq(err.text, expected);
    err = (struct err){0};
    close_all();
    ck_assert_int_ne(open_dir("/no/where"), ERR_OK);
    ck_assert_ptr_eq(strstr(err.text, "/no/where: "), err.text);
    err = (struct err){0};
    assessment_close(&assessment);
    open_all(NULL);
    assessment_close(&assessment);
    ck_assert(!open_dir(writer.dir));
    items[3].label = "z";
    ck_assert_int_eq(assessment_take(&assessment, &dataset, "the data", &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "the data: line: the model has no label 'z' (it has: a, b, c)");
    err = (struct err){0};
    close_all();
}
END_TEST

START_TEST(assessment_of_nothing_measures_nothing)
{
    open_all(NULL);
    for (unsigned i = 0; i < INPUTS; i++)
        items[i].input_len = 0;
    ck_assert_int_eq(assessment_run(&assessment, &err), ERR_UNUSABLE);
    ck_assert(assessment.confusion.matrix == NULL && assessment.findings.classes == NULL);
    err = (struct err){0};
    close_all();
}
END_TEST

static void expect_file(const char *dir, const char *name,
                        enum err_code (*print)(const struct report *, FILE *, struct err *))
{
    char path[128], *bytes, *expected = NULL;
    size_t len, expected_len = 0;
    FILE *file = open_memstream(&expected, &expected_len);
    ck_assert(!print(&assessment.report, file, &err));
    fclose(file);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    ck_assert_msg(!file_read(&bytes, &len, path, 1 << 20, &err), "%s", err.text);
    ck_assert_uint_eq(len, expected_len);
    ck_assert_mem_eq(bytes, expected, len);
    free(bytes);
    free(expected);
}

START_TEST(assessment_writes_both_forms)
{
    struct tempdir dir;
    tempdir_open(&dir);
    open_deciding();
    ck_assert_msg(!assessment_write(&assessment, dir.path, &err), "%s", err.text);
    expect_file(dir.path, "report.json", report_print_json);
    expect_file(dir.path, "report.html", report_print_html);
    ck_assert_int_eq(assessment_write(&assessment, "/no/where", &err), ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.text, "/no/where/report.json"));
    err = (struct err){0};
    close_all();
    tempdir_close(&dir);
}
END_TEST

START_TEST(strangeness_is_what_the_model_says_of_each_usable_input)
{
    size_t count = 99;
    struct arena arena;
    arena_init(&arena);
    open_deciding();
    float *scores =
        strangeness_scores(assessment.model, &assessment.evaluation, &arena, &count, &err);
    ck_assert_uint_eq(count, INPUTS - 1);
    for (size_t i = 0, at = 0; i < INPUTS; i++)
        if (i != LOST)
            ck_assert(scores[at++] == judge(i).ood_score);
    ck_assert(scores[0] != scores[1]);
    arena_deinit(&arena);
    close_all();
}
END_TEST

/* The same report for the same data, from release to release. */
START_TEST(assessment_draws_with_a_seed_of_its_own)
{
    struct interval drawn[2];
    open_deciding();
    for (uint64_t seed = 1; seed <= 2; seed++) {
        const struct findings_options how = {
            .target_precision = 0.75, .temperature = 1.5, .seed = seed};
        struct findings findings;
        ck_assert(!findings_open(&findings, &assessment.evaluation, assessment.classes,
                                 &assessment.confusion, &how, &err));
        drawn[seed - 1] = findings.macro_f1;
        findings_close(&findings);
    }
    const struct interval *found = &assessment.findings.macro_f1;
    ck_assert(drawn[0].low != drawn[1].low || drawn[0].high != drawn[1].high);
    ck_assert(found->low == drawn[0].low && found->high == drawn[0].high);
    close_all();
}
END_TEST

SUITE("assessment", assessment_counts_what_the_checkpoint_decides,
      assessment_gives_the_report_all_that_it_has, assessment_without_thresholds_has_no_decisions,
      assessment_of_independent_labels_measures_each, assessment_refuses_what_it_cannot_measure,
      assessment_of_nothing_measures_nothing, assessment_writes_both_forms,
      strangeness_is_what_the_model_says_of_each_usable_input,
      assessment_draws_with_a_seed_of_its_own)
