/* A report in all its forms, of a specimen that is filled in by hand, compared byte by byte with
 * tests/data/eval/report/. The specimen is awkward on purpose: inputs that failed, more of them
 * than are listed, a class without inputs that nothing was taken for, labels that are markup or
 * longer than a column, scores that are equal, bins that are empty. The goldens are checked
 * against figures worked out by hand below, so that they do not only repeat the code.
 * ATTND_GOLDEN_WRITE=1 writes the goldens anew. */
#include "learn/eval/report/report.h"
#include "tests/support/golden_file.h"
#include "tests/support/labels_model.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN "tests/data/eval/report/"
#define PICTURE "tests/data/eval/wafer/none/none_0.png"

enum { LABELS = 4, MANY = 41, FAILED = 22, JUDGED = 24, ITEMS = FAILED + JUDGED };

/* Rows are labels, columns winners: 17 of 24 are right, and the last class is nowhere. */
static const unsigned matrix[LABELS][LABELS] = {
    {10, 1, 0, 0}, {2, 7, 1, 0}, {0, 3, 0, 0}, {0, 0, 0, 0}};

static const char *const labels[LABELS] = {
    "none", "Edge & <Ring>", "a label that is longer than its column can ever be", "never"};

static struct specimen {
    struct engine_model *model;
    struct dataset_item items[ITEMS];
    char names[ITEMS][24];
    struct dataset dataset;
    unsigned classes[ITEMS];
    float logits[2][ITEMS * MANY], scratch[MANY];
    const char *problems[2][ITEMS];
    struct evaluation evaluations[2];
    struct confusion confusions[2];
    struct agreement agreement;
    struct findings findings;
    struct findings_class found[MANY];
    struct size_groups sizes;
    struct size_cell cells[SIZE_GROUPS_MAX * MANY];
    struct report report;
} specimen;

/* ---- the specimen ---- */

/* The labels are those above, then "class 4", "class 5" and so on. */
static struct engine_model *open_model(unsigned count)
{
    static char names[MANY][24];
    const char *all[MANY];
    for (unsigned i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "class %u", i);
        all[i] = i < LABELS ? labels[i] : names[i];
    }
    return labels_model_open(all, count);
}

/* The first FAILED items have no logits; the others go through the matrix, row by row. */
static void fill_items(struct specimen *made)
{
    unsigned at = FAILED;
    for (unsigned cell = 0; cell < LABELS * LABELS; cell++)
        for (unsigned i = 0; i < matrix[cell / LABELS][cell % LABELS]; i++)
            made->classes[at++] = cell;
    for (unsigned i = 0; i < ITEMS; i++) {
        struct dataset_item *item = &made->items[i];
        unsigned cell = made->classes[i];
        made->classes[i] = cell / LABELS;
        snprintf(made->names[i], sizeof made->names[i], "line %u <b>", i + 1);
        *item = (struct dataset_item){.name = made->names[i],
                                      .input = "one & two\nthree\n\xFF",
                                      .input_len = 17,
                                      .label = labels[cell / LABELS]};
        made->logits[0][i * LABELS + cell % LABELS] = i < FAILED ? 0 : 60;
    }
    made->dataset = (struct dataset){.kind = ENGINE_TEXT, .items = made->items, .count = ITEMS};
}

/* The second run: of eight items seven get another class, item 1 has logits only here, and the last
 * but one only there. Every second item's score is one half: two logits are equal. */
static void fill_runs(struct specimen *made)
{
    memcpy(made->logits[1], made->logits[0], sizeof made->logits[0]);
    for (unsigned i = FAILED; i < ITEMS; i++) {
        float *rows[] = {made->logits[0] + i * LABELS, made->logits[1] + i * LABELS};
        if (i % 2 == 0)
            rows[0][LABELS - 1] = 60;
        if (i % 8 != 0)
            for (unsigned k = 0; k < LABELS; k++)
                rows[1][k] = rows[0][(k + 1) % LABELS];
    }
    for (unsigned run = 0; run < 2; run++) {
        for (unsigned i = 0; i < FAILED; i++)
            made->problems[run][i] = "cannot be read: \"<&>\"";
        made->evaluations[run] = (struct evaluation){.count = ITEMS,
                                                     .label_count = LABELS,
                                                     .logits = made->logits[run],
                                                     .problems = made->problems[run],
                                                     .failed = FAILED,
                                                     .seconds = run == 0 ? 0.5 : 0};
    }
    made->problems[1][1] = NULL;
    made->logits[1][1 * LABELS] = 60;
    made->problems[1][ITEMS - 2] = "the logits are not finite";
}

/* All different for different units. */
static struct findings_figures figures(double unit)
{
    size_t more = (size_t)(64 * unit);
    return (struct findings_figures){
        .temperature = 1 + unit,
        .ece = 2 * unit,
        .ece_by_mass = 3 * unit,
        .nll = 4 * unit,
        .brier = 5 * unit,
        .bins =
            {{0, 0, 0}, [3] = {1, 0.25, 0}, [7] = {5, 0.5, 0.5}, [14] = {20, 0.96875, 1 - unit}},
        .by_score =
            {.count = 64, .automatic = 32 + more, .right = 24, .review = 26 - more, .unknown = 6},
        .by_class = {.count = 64, .automatic = 48, .right = 33 + more, .review = 12, .unknown = 4}};
}

static void fill_findings(struct specimen *made)
{
    for (unsigned i = 0; i < MANY; i++) {
        double low = 0.125 * (i % LABELS);
        made->found[i] =
            (struct findings_class){.precision = {low, low + 0.25},
                                    .recall = {low + 0.0625, low + 0.5},
                                    .f1 = {low + 0.03125, low + 0.4375},
                                    .threshold = {.reachable = i % LABELS != 2,
                                                  .score = 0.5f + 0.125f * (i % LABELS),
                                                  .count = 9,
                                                  .right = 8}};
    }
    made->findings = (struct findings){
        .target_precision = 0.95,
        .accuracy = {0.5078125, 0.8515625},
        .macro_f1 = {0.296875, 0.609375},
        .classes = made->found,
        .served = figures(1.0 / 16),
        .fitted = figures(1.0 / 32),
        .crossed = figures(3.0 / 64),
        .has_crossed = true,
        .temperature_bound = 0.05,
        .curve = {.count = JUDGED,
                  .aurc = 0.1875,
                  .coverage = 0.5,
                  .threshold = 0.75f,
                  .points = {{0.25, 0}, {0.5, 0.03125}, {0.5, 0.046875}, {1, 0.28125}},
                  .point_count = 4},
        .mistake_count = 13};
    for (unsigned i = 0; i < FINDINGS_MISTAKES_MAX; i++)
        made->findings.mistakes[i] = (struct verdict){
            .score = 1 - (float)i / 32, .label = i % LABELS, .item = ITEMS - 1 - i};
}

/* Two groups; the third class is in the second only, the last in none. */
static void fill_sizes(struct specimen *made)
{
    static const struct size_cell cells[2 * LABELS] = {{5, 5}, {4, 2}, {0, 0}, {0, 0},
                                                       {6, 5}, {6, 5}, {3, 0}, {0, 0}};
    memcpy(made->cells, cells, sizeof cells);
    made->sizes = (struct size_groups){.count = 2,
                                       .label_count = LABELS,
                                       .groups = {{33, 48, {9, 7}}, {49, 64, {15, 10}}},
                                       .cells = made->cells};
}

static void measure(struct specimen *made, const unsigned *classes)
{
    struct err err = {0};
    for (unsigned run = 0; run < 2; run++) {
        confusion_close(&made->confusions[run]);
        ck_assert_int_eq(
            evaluation_measure(&made->evaluations[run], classes, &made->confusions[run], &err),
            ERR_OK);
    }
    agreement_measure(&made->agreement, &made->evaluations[0], &made->evaluations[1]);
}

static void make(struct specimen *made)
{
    static const struct selective_decisions decisions = {
        .count = 200, .automatic = 150, .right = 147, .review = 40, .unknown = 10};
    static const struct report_epoch epochs[] = {
        {2.0, NAN, NAN, 1e-3}, {1.5, 1.75, 0.5, 5e-4}, {1.25, INFINITY, 0.625, 0}};
    *made = (struct specimen){.model = open_model(LABELS)};
    fill_items(made);
    fill_runs(made);
    fill_findings(made);
    fill_sizes(made);
    measure(made, made->classes);
    made->report =
        (struct report){.model_dir = "models/a & b",
                        .data_path = "data/<x>.jsonl",
                        .model = made->model,
                        .dataset = &made->dataset,
                        .classes = made->classes,
                        .threads = 3,
                        .run = {"bf16", "native", &made->evaluations[0], &made->confusions[0]},
                        .findings = &made->findings,
                        .decisions = &decisions,
                        .sizes = &made->sizes,
                        .epochs = epochs,
                        .epoch_count = 3,
                        .against = {"f32", "openblas", &made->evaluations[1], &made->confusions[1]},
                        .agreement = &made->agreement,
                        .scratch = made->scratch};
}

/* The same without all that a report may lack. */
static void make_bare(struct specimen *made)
{
    static const struct report_epoch epoch = {0.75, NAN, 0.25, 2e-5};
    make(made);
    made->report.decisions = NULL;
    made->report.against = (struct report_run){0};
    made->report.agreement = NULL;
    made->report.model_dir = "model/";
    made->report.epochs = &epoch;
    made->report.epoch_count = 1;
    made->sizes.count = 1;
    made->findings.has_crossed = false;
    made->findings.mistake_count = 0;
    made->findings.curve.coverage = 0;
    made->findings.target_precision = 1;
    made->findings.served.by_score = made->findings.fitted.by_class =
        (struct selective_decisions){.count = 8, .review = 8};
    for (unsigned i = 0; i < FAILED; i++)
        made->problems[0][i] = NULL;
    made->evaluations[0].failed = 0;
    measure(made, made->classes);
}

/* There are more labels than a table holds. Each cell off a band has its own count, and some are
 * equal. */
static void make_many(struct specimen *made, unsigned count)
{
    make_bare(made);
    engine_close(made->model);
    made->report.model = made->model = open_model(count);
    confusion_close(&made->confusions[0]);
    ck_assert_int_eq(confusion_open(&made->confusions[0], count, &(struct err){0}), ERR_OK);
    for (unsigned i = 0; i < count; i++)
        for (unsigned times = 0; times <= i % 3; times++) {
            confusion_add(&made->confusions[0], i, i);
            confusion_add(&made->confusions[0], i, (i + count - 1 - times) % count);
        }
    confusion_finish(&made->confusions[0]);
    made->sizes.count = 2;
    made->sizes.label_count = count;
}

static void unmake(struct specimen *made)
{
    confusion_close(&made->confusions[0]);
    confusion_close(&made->confusions[1]);
    engine_close(made->model);
}

/* ---- the three forms ---- */

static void print_text(struct golden_file *out)
{
    golden_file_open(out);
    report_print(&specimen.report, out->file);
    golden_file_text(out);
}

static void print_json(struct golden_file *out)
{
    struct err err = {0};
    golden_file_open(out);
    ck_assert_msg(!report_print_json(&specimen.report, out->file, &err), "%s", err.text);
    golden_file_text(out);
}

static void print_page(struct golden_file *out)
{
    struct err err = {0};
    golden_file_open(out);
    ck_assert_msg(!report_print_html(&specimen.report, out->file, &err), "%s", err.text);
    golden_file_mask(out, "<style>", "</style>");
    golden_file_mask(out, "\">attnd ", "</p>");
    golden_file_mask(out, ";base64,", "\"");
}

static void expect(struct golden_file *out, const char *text)
{
    ck_assert_msg(strstr(golden_file_text(out), text) != NULL, "no '%s'", text);
}

static unsigned count_of(struct golden_file *out, const char *text)
{
    unsigned count = 0;
    for (const char *at = golden_file_text(out); (at = strstr(at, text)) != NULL; at++)
        count++;
    return count;
}

/* ---- tests ---- */

/* none: 10 of the 12 it was given and of its 11: F1 20/23. Ring: 7 of 11 and of 10: 14/21. The
 * third: none of 1 and of 3. Macro-F1 is over three classes: 0.5121. */
START_TEST(report_for_a_terminal_is_the_golden)
{
    struct golden_file out;
    make(&specimen);
    print_text(&out);
    expect(&out, "accuracy       0.7083 ");
    expect(&out, "macro-F1       0.5121 over 3 classes (95 % interval 0.2969 to 0.6094)");
    expect(&out, "rate           92.0 inputs/s (0.5 s, 3 threads)");
    expect(&out, "   0.8333  0.9091  0.8696  0.0312 to 0.4375       11     0.5000\n");
    expect(&out, "same winner    12.000 % (3 of 25)");
    expect(&out, "    1.000 of 5      0.833 of 6\n");
    expect(&out, "             -      0.000 of 3\n");
    ck_assert_uint_eq(count_of(&out, "  and 2 more\n"), 2);
    golden_file_expect(&out, GOLDEN "full.txt");
    unmake(&specimen);
}
END_TEST

START_TEST(report_as_json_is_the_golden)
{
    struct golden_file out;
    make(&specimen);
    print_json(&out);
    expect(&out, "\"sizes\":{\"unit\":\"tokens\",\"groups\":[{\"from\":33,\"to\":48,\"all\":{"
                 "\"support\":9,");
    golden_file_expect(&out, GOLDEN "full.json");
    unmake(&specimen);
}
END_TEST

/* Charts are 420 x 290 with margins 52, 12, 14 and 46: coverage 0.5 is at 52 + 354 / 2, and risk
 * 0.046875 of a range to 0.3 at 244 - 232 x 0.15625. */
START_TEST(report_as_a_page_is_the_golden)
{
    struct golden_file out;
    make(&specimen);
    print_page(&out);
    expect(&out, "<circle class=\"dot accent\" cx=\"229.0\" cy=\"207.8\" r=\"4\"/>");
    expect(&out, "<tr><th scope=\"row\">as the checkpoint decides</th><td>75.00 %</td>"
                 "<td>98.00 %</td><td>20.00 %</td><td>5.00 %</td></tr>");
    expect(&out,
           "<td title=\"95 % interval 0.436 to 0.970\">0.833 <span class=\"muted\">of 6</span>"
           "</td></tr>");
    expect(&out, "none taken for Edge &amp; &lt;Ring&gt;: 1, 9.1 %");
    ck_assert_uint_eq(count_of(&out, "<figcaption class=\"mistake\">"), 12);
    golden_file_expect(&out, GOLDEN "full.html");
    unmake(&specimen);
}
END_TEST

START_TEST(report_without_what_it_may_lack_is_the_golden)
{
    struct golden_file out;
    make_bare(&specimen);
    print_text(&out);
    ck_assert_uint_eq(count_of(&out, "other inputs") + count_of(&out, "more"), 0);
    ck_assert_uint_eq(count_of(&out, "recall by size"), 0);
    golden_file_expect(&out, GOLDEN "bare.txt");
    print_json(&out);
    expect(&out, "\"cross_fitted\":null");
    expect(&out, "\"coverage\":0.0,\"score\":null");
    golden_file_expect(&out, GOLDEN "bare.json");
    print_page(&out);
    expect(&out, "no score is precise enough");
    expect(&out, "too few inputs to calibrate");
    golden_file_expect(&out, GOLDEN "bare.html");
    unmake(&specimen);
}
END_TEST

START_TEST(report_of_many_labels_lists_the_most_frequent_confusions)
{
    struct golden_file out;
    make_many(&specimen, MANY);
    print_text(&out);
    expect(&out, "The confusion matrix of 41 labels is in the JSON form.\n");
    golden_file_expect(&out, GOLDEN "many.txt");
    print_page(&out);
    ck_assert_uint_eq(count_of(&out, "</td><td>1</td></tr>"), 20);
    golden_file_expect(&out, GOLDEN "many.html");
    unmake(&specimen);
}
END_TEST

/* A picture that is gone leaves its caption. */
START_TEST(report_page_shows_the_pictures_of_up_to_24_mistakes)
{
    struct golden_file out;
    make(&specimen);
    specimen.dataset.kind = ENGINE_IMAGE;
    specimen.findings.mistake_count = FINDINGS_MISTAKES_MAX;
    for (unsigned i = 0; i < ITEMS; i++)
        specimen.items[i].input = i == ITEMS - 3 ? "missing.png" : PICTURE;
    print_page(&out);
    ck_assert_uint_eq(count_of(&out, "<figcaption class=\"mistake\">"), 24);
    ck_assert_uint_eq(count_of(&out, "<img alt=\"\" src=\"data:image/png;base64,\">"), 23);
    ck_assert_uint_eq(count_of(&out, "<pre>"), 0);
    expect(&out, "<div class=\"images\">");
    free(out.text);
    unmake(&specimen);
}
END_TEST

/* A name that is no UTF-8 cannot stand in JSON as it is. */
START_TEST(report_as_json_spells_out_a_name_that_is_not_utf_8)
{
    struct golden_file out;
    make(&specimen);
    specimen.items[0].name = "\xFF";
    print_json(&out);
    expect(&out, "{\"input\":\"\\\\xFF\",\"problem\":");
    free(out.text);
    unmake(&specimen);
}
END_TEST

START_TEST(report_names_a_model_by_the_last_part_of_its_path)
{
    static const char *const cases[][2] = {
        {"models/a", "a"}, {"a", "a"}, {"models/a/", "models/a/"}, {"/", "/"}, {"x/yz", "yz"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_str_eq(report_model_name(&(struct report){.model_dir = cases[i][0]}),
                         cases[i][1]);
    ck_assert(report_percent(0, 0) == 0 && report_percent(1, 1) == 100);
    ck_assert(report_percent(1, 8) == 12.5);
}
END_TEST

/* Six lines of at most 160 characters. */
START_TEST(report_page_cuts_the_text_of_a_mistake)
{
    char text[512], expected[512];
    struct golden_file out;
    int x = 160, y = 161;
    make(&specimen);
    snprintf(text, sizeof text, "%0*d\n%0*d\nl3\nl4\nl5\nl6\nl7\n", x, 0, y, 0);
    snprintf(expected, sizeof expected,
             "<pre>%0*d\n%0*d\xE2\x80\xA6\nl3\nl4\nl5\nl6\n\xE2\x80\xA6\n</pre>", x, 0, x, 0);
    for (unsigned i = 0; i < ITEMS; i++) {
        specimen.items[i].input = text;
        specimen.items[i].input_len = strlen(text);
    }
    specimen.findings.mistake_count = 3;
    print_page(&out);
    expect(&out, expected);
    ck_assert_uint_eq(count_of(&out, "<figcaption class=\"mistake\">"), 3);
    free(out.text);
    unmake(&specimen);
}
END_TEST

/* The first of all has an answer only in the second run; with as many as are listed none is more.
 */
START_TEST(report_lists_the_first_input_that_differs)
{
    struct golden_file out;
    make(&specimen);
    specimen.problems[1][0] = NULL;
    specimen.agreement.compared++;
    print_text(&out);
    expect(&out, "\n  line 1 <b>  label: none  bf16: cannot be read: \"<&>\"  f32: none ");
    expect(&out, "inputs whose winner differs (23)\n");
    free(out.text);
    for (unsigned i = 20; i < FAILED; i++)
        specimen.problems[0][i] = NULL;
    specimen.evaluations[0].failed = 20;
    print_text(&out);
    expect(&out, "inputs that failed (20)\n");
    ck_assert_uint_eq(count_of(&out, "line 20 <b>: cannot be read"), 1);
    ck_assert_uint_eq(count_of(&out, "  and 3 more\n"), 1);
    ck_assert_uint_eq(count_of(&out, " more\n"), 1);
    free(out.text);
    print_page(&out);
    expect(&out, "<li>line 20 &lt;b&gt;: ");
    ck_assert_uint_eq(count_of(&out, "and 0 more"), 0);
    free(out.text);
    unmake(&specimen);
}
END_TEST

/* Up to 24 labels make a matrix. */
START_TEST(report_prints_the_matrix_of_24_labels)
{
    for (unsigned count = 24; count <= 25; count++) {
        struct golden_file out;
        make_many(&specimen, count);
        print_text(&out);
        ck_assert_uint_eq(
            count_of(&out, "The confusion matrix of 25 labels is in the JSON form.\n"),
            count == 25);
        ck_assert_uint_eq(count_of(&out, "The confusion matrix of"), count == 25);
        free(out.text);
        unmake(&specimen);
    }
}
END_TEST

SUITE("report", report_for_a_terminal_is_the_golden, report_as_json_is_the_golden,
      report_as_a_page_is_the_golden, report_without_what_it_may_lack_is_the_golden,
      report_of_many_labels_lists_the_most_frequent_confusions,
      report_page_shows_the_pictures_of_up_to_24_mistakes,
      report_as_json_spells_out_a_name_that_is_not_utf_8,
      report_names_a_model_by_the_last_part_of_its_path, report_page_cuts_the_text_of_a_mistake,
      report_lists_the_first_input_that_differs, report_prints_the_matrix_of_24_labels)
