/* chart.h - writes line charts as inline SVG, and the three charts of a report.
 *
 *     struct chart chart = {.file = file, .x = {0, 1}, .y = {0, 0.2}};
 *     chart_open(&chart, "Risk and coverage", "Risk is 0.02 at full coverage.");
 *     chart_axes(&chart, "coverage", "risk");
 *     chart_line(&chart, "accent", points, count);
 *     chart_close(&chart);
 *
 * The page sets colours and fonts: shapes only have classes. Titles and descriptions, which a
 * screen reader reads, come from this program and hold no markup. Threads: one for each file.
 */
#ifndef ATTND_LEARN_EVAL_REPORT_CHART_H
#define ATTND_LEARN_EVAL_REPORT_CHART_H

#include "learn/eval/measure/findings.h"
#include "learn/eval/report/report.h"

#include <stdio.h>

/* Size in units of the SVG; the page scales it. */
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
/* y_label may be NULL if the heading says it. */
void chart_axes(const struct chart *chart, const char *x_label, const char *y_label);
/* Draws a line. Points that are not finite are left out; a single point becomes a dot. */
void chart_line(const struct chart *chart, const char *class, const struct chart_point *points,
                unsigned count);
void chart_dot(const struct chart *chart, const char *class, struct chart_point point);
/* Draws a box between two corners, in the chart's units. */
void chart_box(const struct chart *chart, const char *class, struct chart_point a,
               struct chart_point b);
/* Writes a note beside a point, on the side that has room. */
void chart_note(const struct chart *chart, struct chart_point point, const char *text);
void chart_close(const struct chart *chart);

/* Reliability diagram: the share of right answers by score. */
void chart_reliability(FILE *file, const struct findings_figures *figures, const char *title);
/* Risk against coverage: the share of wrong answers among those with the highest scores. The point
 * of the target precision is marked. */
void chart_risk(FILE *file, const struct selective_curve *curve, double target_precision);
/* Three charts: losses, macro-F1 and learning rate by epoch. */
void chart_learning(FILE *file, const struct report_epoch *epochs, unsigned count);

#endif
