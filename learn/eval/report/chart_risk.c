#include "learn/eval/report/chart.h"

#include <math.h>

static void mark(const struct chart *chart, const struct selective_curve *curve,
                 double target_precision)
{
    struct chart_point point = {curve->coverage, 1 - target_precision};
    char text[96];
    chart_line(chart, "faint",
               (struct chart_point[]){{0, 1 - target_precision}, {1, 1 - target_precision}}, 2);
    if (!(curve->coverage > 0)) {
        chart_note(chart, (struct chart_point){0, 1 - target_precision},
                   "no score is precise enough");
        return;
    }
    for (unsigned i = 0; i < curve->point_count; i++)
        if (curve->points[i].coverage <= curve->coverage)
            point.y = curve->points[i].risk;
    chart_dot(chart, "accent", point);
    snprintf(text, sizeof text, "%.1f %% of inputs at %.4g %% precision", 100 * curve->coverage,
             100 * target_precision);
    chart_note(chart, point, text);
}

void chart_risk(FILE *file, const struct selective_curve *curve, double target_precision)
{
    struct chart_point line[SELECTIVE_POINTS_MAX];
    double largest = 1.5 * (1 - target_precision);
    for (unsigned i = 0; i < curve->point_count; i++) {
        line[i] = (struct chart_point){curve->points[i].coverage, curve->points[i].risk};
        largest = fmax(largest, line[i].y);
    }
    struct chart chart = {.file = file, .x = {0, 1}, .y = chart_range_from_zero(largest)};
    char description[160];
    snprintf(description, sizeof description,
             "Share of wrong answers over the share of inputs answered; area %.4f.", curve->aurc);
    chart_open(&chart, "Risk and coverage", description);
    chart_axes(&chart, "coverage (share of inputs answered automatically)", "risk (share wrong)");
    chart_line(&chart, "accent", line, curve->point_count);
    mark(&chart, curve, target_precision);
    chart_close(&chart);
}
