/* chart.h - line charts as inline SVG, and the three that a report has.
 *
 *     struct chart chart = {.file = file, .x = {0, 1}, .y = {0, 0.2}};
 *     chart_open(&chart, "Risk and coverage", "Risk is 0.02 at full coverage.");
 *     chart_axes(&chart, "coverage", "risk");
 *     chart_line(&chart, "accent", points, count);
 *     chart_close(&chart);
 *
 * Colours and fonts are the page's: shapes have classes and nothing else. Titles and descriptions,
 * which a screen reader reads, are ours and hold no markup. Threads: one a file.
 */
#ifndef ATTND_LEARN_EVAL_REPORT_CHART_H
#define ATTND_LEARN_EVAL_REPORT_CHART_H

#include "learn/eval/measure/findings.h"
#include "learn/eval/report/report.h"

#include <stdio.h>

/* Units of the SVG: the page scales it. */
enum { CHART_WIDTH = 420, CHART_HEIGHT = 290 };

struct chart_range {
    double min, max;
};

struct chart_point {
    double x, y;
};

struct chart {
    FILE *file;
    struct chart_range x, y;
};

/* From 0 to a round number at or above the largest value. */
struct chart_range chart_range_from_zero(double largest);

void chart_open(const struct chart *chart, const char *title, const char *description);
/* y_label NULL: the heading says it. */
void chart_axes(const struct chart *chart, const char *x_label, const char *y_label);
/* Points that are not finite are left out; one alone becomes a dot. */
void chart_line(const struct chart *chart, const char *class, const struct chart_point *points,
                unsigned count);
void chart_dot(const struct chart *chart, const char *class, struct chart_point point);
/* A box between two corners, in the chart's units. */
void chart_box(const struct chart *chart, const char *class, struct chart_point a,
               struct chart_point b);
/* Beside a point, on the side that has room. */
void chart_note(const struct chart *chart, struct chart_point point, const char *text);
void chart_close(const struct chart *chart);

/* How right answers are, by score. */
void chart_reliability(FILE *file, const struct findings_figures *figures, const char *title);
/* The share of wrong answers among those of the highest scores; the target's point is marked. */
void chart_risk(FILE *file, const struct selective_curve *curve, double target_precision);
/* Losses, macro-F1 and rate by epoch: three charts. */
void chart_learning(FILE *file, const struct report_epoch *epochs, unsigned count);

#endif
