/* chart.h as text. Charts are 420 x 290 with margins of 52, 12, 14 and 46: x goes from 52 to 406, y
 * from 244 up to 12. */
#include "learn/eval/report/chart.h"
#include "tests/support/golden_file.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *text;
static size_t len;

static struct chart open_chart(struct chart_range x, struct chart_range y)
{
    return (struct chart){.file = open_memstream(&text, &len), .x = x, .y = y};
}

static void expect(struct chart *chart, const char *expected)
{
    fclose(chart->file);
    ck_assert_str_eq(text, expected);
    free(text);
}

/* Steps of 1, 2, 2.5 or 5 times a power of ten, at most six of them. */
START_TEST(chart_ranges_end_at_a_round_number)
{
    static const double cases[][2] = {{6, 6},   {6.01, 8},  {10, 10},    {12, 12},     {12.1, 12.5},
                                      {15, 15}, {15.1, 20}, {30, 30},    {31, 40},     {60, 60},
                                      {61, 80}, {0.3, 0.3}, {0.31, 0.4}, {0.06, 0.06}, {2400, 2500},
                                      {1, 1},   {0, 1},     {-3, 1},     {INFINITY, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct chart_range range = chart_range_from_zero(cases[i][0]);
        ck_assert(range.min == 0);
        ck_assert_msg(fabs(range.max - cases[i][1]) < 1e-9 * cases[i][1], "%g: %g instead of %g",
                      cases[i][0], range.max, cases[i][1]);
    }
    ck_assert(chart_range_from_zero(NAN).max == 1);
}
END_TEST

START_TEST(chart_frame_names_what_it_shows)
{
    struct chart chart = open_chart((struct chart_range){0, 1}, (struct chart_range){0, 1});
    chart_open(&chart, "Risk", "of coverage");
    chart_close(&chart);
    expect(&chart, "<svg class=\"chart\" viewBox=\"0 0 420 290\" role=\"img\"><title>Risk</title>"
                   "<desc>of coverage</desc>\n</svg>\n");
}
END_TEST

/* The axes go from -1 to 2 and from 0.5 to 2.5 by halves: 59 units and 58. */
START_TEST(chart_axes_have_ticks_at_round_numbers)
{
    struct chart chart = open_chart((struct chart_range){-1, 2}, (struct chart_range){0.5, 2.5});
    chart_axes(&chart, "x", NULL);
    expect(&chart,
           "<path class=\"grid\" d=\"M52 244.0H406\"/><text class=\"tick\" x=\"44\" y=\"248.0\" "
           "text-anchor=\"end\">0.5</text>\n"
           "<path class=\"grid\" d=\"M52 186.0H406\"/><text class=\"tick\" x=\"44\" y=\"190.0\" "
           "text-anchor=\"end\">1</text>\n"
           "<path class=\"grid\" d=\"M52 128.0H406\"/><text class=\"tick\" x=\"44\" y=\"132.0\" "
           "text-anchor=\"end\">1.5</text>\n"
           "<path class=\"grid\" d=\"M52 70.0H406\"/><text class=\"tick\" x=\"44\" y=\"74.0\" "
           "text-anchor=\"end\">2</text>\n"
           "<path class=\"grid\" d=\"M52 12.0H406\"/><text class=\"tick\" x=\"44\" y=\"16.0\" "
           "text-anchor=\"end\">2.5</text>\n"
           "<text class=\"tick\" x=\"52.0\" y=\"262\" text-anchor=\"middle\">-1</text>\n"
           "<text class=\"tick\" x=\"111.0\" y=\"262\" text-anchor=\"middle\">-0.5</text>\n"
           "<text class=\"tick\" x=\"170.0\" y=\"262\" text-anchor=\"middle\">0</text>\n"
           "<text class=\"tick\" x=\"229.0\" y=\"262\" text-anchor=\"middle\">0.5</text>\n"
           "<text class=\"tick\" x=\"288.0\" y=\"262\" text-anchor=\"middle\">1</text>\n"
           "<text class=\"tick\" x=\"347.0\" y=\"262\" text-anchor=\"middle\">1.5</text>\n"
           "<text class=\"tick\" x=\"406.0\" y=\"262\" text-anchor=\"middle\">2</text>\n"
           "<path class=\"axis\" d=\"M52 244H406\"/>\n"
           "<text class=\"name\" x=\"229.0\" y=\"282\" text-anchor=\"middle\">x</text>\n");
}
END_TEST

/* Sums of 0.1 are not round: neither is a tick lost at the end, nor one near zero written as is. */
START_TEST(chart_ticks_survive_rounding)
{
    struct chart chart =
        open_chart((struct chart_range){-0.3, 0.3}, (struct chart_range){-0.3, 0.3});
    static const char *const ticks[] = {">-0.3<", ">-0.2<", ">-0.1<", ">0<",
                                        ">0.1<",  ">0.2<",  ">0.3<"};
    chart_axes(&chart, "x", "the y");
    fclose(chart.file);
    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++) {
        const char *first = strstr(text, ticks[i]);
        ck_assert_msg(first != NULL && strstr(first + 1, ticks[i]) != NULL, "%s", ticks[i]);
    }
    ck_assert_ptr_null(strstr(text, "e-"));
    ck_assert_ptr_nonnull(strstr(text, "<text class=\"name\" transform=\"translate(13 128.0) "
                                       "rotate(-90)\" text-anchor=\"middle\">the y</text>\n"));
    free(text);
}
END_TEST

/* A point that is not finite is left out; a single point is a dot. */
START_TEST(chart_lines_go_through_what_is_finite)
{
    static const struct chart_point points[] = {{0, 0},     {NAN, 1}, {1, INFINITY},
                                                {0.5, 0.5}, {1, 1},   {9, 9}};
    struct chart chart = open_chart((struct chart_range){0, 1}, (struct chart_range){0, 1});
    chart_line(&chart, "accent", points, 5);
    chart_line(&chart, "one", points + 1, 3);
    chart_line(&chart, "none", points + 1, 2);
    expect(&chart, "<path class=\"line accent\" d=\"M52.0 244.0L229.0 128.0L406.0 12.0\"/>\n"
                   "<path class=\"line one\" d=\"M229.0 128.0\"/>\n"
                   "<circle class=\"dot one\" cx=\"229.0\" cy=\"128.0\" r=\"4\"/>\n"
                   "<path class=\"line none\" d=\"\"/>\n");
}
END_TEST

/* Corners in any order. */
START_TEST(chart_boxes_lie_between_their_corners)
{
    struct chart chart = open_chart((struct chart_range){0, 1}, (struct chart_range){0, 2});
    for (unsigned i = 0; i < 4; i++) {
        struct chart_point a = {i % 2 ? 0.5 : 0.25, i / 2 ? 0.5 : 1.5};
        chart_box(&chart, "bar", a, (struct chart_point){0.75 - a.x, 2 - a.y});
    }
    expect(&chart,
           "<rect class=\"bar\" x=\"140.5\" y=\"70.0\" width=\"88.5\" height=\"116.0\"/>\n"
           "<rect class=\"bar\" x=\"140.5\" y=\"70.0\" width=\"88.5\" height=\"116.0\"/>\n"
           "<rect class=\"bar\" x=\"140.5\" y=\"70.0\" width=\"88.5\" height=\"116.0\"/>\n"
           "<rect class=\"bar\" x=\"140.5\" y=\"70.0\" width=\"88.5\" height=\"116.0\"/>\n");
}
END_TEST

/* A note stands beside its point, where there is room: on the left of a point in the right half,
 * and not above 24. */
START_TEST(chart_notes_stay_within_the_chart)
{
    struct chart chart = open_chart((struct chart_range){0, 1}, (struct chart_range){0, 1});
    chart_note(&chart, (struct chart_point){0.5, 0.5}, "middle");
    chart_note(&chart, (struct chart_point){0.75, 1}, "right");
    chart_note(&chart, (struct chart_point){0, 0}, "left");
    expect(&chart,
           "<text class=\"note\" x=\"238.0\" y=\"119.0\" text-anchor=\"start\">middle</text>\n"
           "<text class=\"note\" x=\"308.5\" y=\"24.0\" text-anchor=\"end\">right</text>\n"
           "<text class=\"note\" x=\"61.0\" y=\"235.0\" text-anchor=\"start\">left</text>\n");
}
END_TEST

/* ---- of reports; ATTND_GOLDEN_WRITE=1 writes them anew ---- */

/* The first bin and the last have a box of their mass, one of their gap, and a line. */
START_TEST(chart_of_reliability_is_the_golden)
{
    static const struct findings_figures figures = {
        .ece = 0.125,
        .bins = {[0] = {3, 0.03125, 0.5}, [7] = {6, 0.5, 0.25}, [14] = {2, 0.96875, 1}}};
    struct golden_file golden;
    golden_file_open(&golden);
    chart_reliability(golden.file, &figures, "Reliability");
    golden_file_expect(&golden, "tests/data/eval/charts/reliability.svg");
}
END_TEST

/* The dot is at the last point within the coverage: 0.5 and 1/16. Half as much again as the risk
 * that is allowed has room. */
START_TEST(chart_of_risk_is_the_golden)
{
    static const struct selective_curve curve = {
        .aurc = 0.0625,
        .coverage = 0.5,
        .points = {{0.25, 0.03125}, {0.5, 0.0625}, {0.75, 0.125}, {1, 0.25}},
        .point_count = 3};
    struct golden_file golden;
    golden_file_open(&golden);
    chart_risk(golden.file, &curve, 0.875);
    golden_file_expect(&golden, "tests/data/eval/charts/risk.svg");
}
END_TEST

/* 400 of 700 epochs are drawn, the first and the last among them. */
START_TEST(chart_of_a_long_training_is_thinned)
{
    static struct report_epoch epochs[701];
    struct golden_file golden;
    unsigned lines = 0, points = 0;
    for (unsigned i = 0; i <= 700; i++)
        epochs[i] = (struct report_epoch){.train_loss = i == 700 ? 9 : 1 - i / 1398.0,
                                          .validation_loss = NAN,
                                          .measure = i / 699.0,
                                          .rate = NAN};
    golden_file_open(&golden);
    chart_learning(golden.file, epochs, 700);
    for (const char *at = golden_file_text(&golden); (at = strchr(at, 'L')) != NULL; at++)
        points += at[1] >= '0' && at[1] <= '9';
    for (const char *at = golden.text; (at = strstr(at, "class=\"line")) != NULL; at++)
        lines++;
    ck_assert_uint_eq(lines, 4);
    ck_assert_uint_eq(points, 2 * 399);
    ck_assert_ptr_nonnull(strstr(golden.text, "<path class=\"line faint\" d=\"M52.0 12.0L"));
    ck_assert_ptr_nonnull(strstr(golden.text, "L406.0 128.0\"/>"));
    ck_assert_ptr_nonnull(strstr(golden.text, "<path class=\"line accent\" d=\"M52.0 244.0L"));
    ck_assert_ptr_nonnull(strstr(golden.text, "L406.0 12.0\"/>"));
    free(golden.text);
}
END_TEST

/* The bar of the fullest bin is 0.12 high, be it of one verdict. */
START_TEST(chart_of_a_single_verdict_has_a_whole_bar)
{
    static const struct findings_figures figures = {.bins = {[7] = {1, 0.5, 1}}};
    struct golden_file golden;
    golden_file_open(&golden);
    chart_reliability(golden.file, &figures, "Reliability");
    ck_assert_ptr_nonnull(strstr(golden_file_text(&golden),
                                 "<rect class=\"mass\" x=\"220.0\" y=\"216.2\" width=\"17.9\" "
                                 "height=\"27.8\"/>"));
    free(golden.text);
}
END_TEST

SUITE("chart", chart_ranges_end_at_a_round_number, chart_frame_names_what_it_shows,
      chart_axes_have_ticks_at_round_numbers, chart_ticks_survive_rounding,
      chart_lines_go_through_what_is_finite, chart_boxes_lie_between_their_corners,
      chart_notes_stay_within_the_chart, chart_of_reliability_is_the_golden,
      chart_of_risk_is_the_golden, chart_of_a_long_training_is_thinned,
      chart_of_a_single_verdict_has_a_whole_bar)
