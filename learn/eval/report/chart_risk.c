#include "learn/eval/report/chart.h"

#include <math.h>

void chart_risk(FILE *file, const struct selective_curve *curve, double target_precision)
{
    const double risk = 1 - target_precision;
    struct chart_point line[SELECTIVE_POINTS_MAX], point = {curve->coverage, risk};
    double largest = 1.5 * (1 - target_precision);
    char description[160], text[96];
    for (unsigned i = 0; i < curve->point_count; i++) {
        line[i] = (struct chart_point){curve->points[i].coverage, curve->points[i].risk};
        largest = fmax(largest, line[i].y);
        if (line[i].x <= curve->coverage)
            point.y = line[i].y;
    }
    struct chart chart = {.file = file, .x = {0, 1}, .y = chart_range_from_zero(largest)};
    snprintf(description, sizeof description,
             "Share of wrong answers over the share of inputs answered; area %.4f.", curve->aurc);
    chart_open(&chart, "Risk and coverage", description);
    chart_axes(&chart, "coverage (share of inputs answered automatically)", "risk (share wrong)");
    chart_line(&chart, "accent", line, curve->point_count);
    chart_line(&chart, "faint", (struct chart_point[]){{0, risk}, {1, risk}}, 2);
    if (curve->coverage > 0) {
        snprintf(text, sizeof text, "%.1f %% of inputs at %.4g %% precision", 100 * curve->coverage,
                 100 * target_precision);
        chart_dot(&chart, "accent", point);
        chart_note(&chart, point, text);
    } else {
        chart_note(&chart, (struct chart_point){0, risk}, "no score is precise enough");
    }
    chart_close(&chart);
}
