#include "learn/eval/report/chart.h"

/* Draws a bin: a box as wide as the bin, from the diagonal to the share that is right, and a bar at
 * the bottom for the number of verdicts. Most bins of a sure model are nearly empty, and a large
 * gap there means little. */
static void draw_bin(const struct chart *chart, const struct calibration_bin *bin, unsigned index,
                     size_t largest)
{
    const double width = 1.0 / CALIBRATION_BINS, gap = 0.008, foot = 0.12;
    double left = index * width + gap, right = (index + 1) * width - gap;
    if (bin->count == 0)
        return;
    chart_box(chart, "mass", (struct chart_point){left, 0},
              (struct chart_point){right, foot * (double)bin->count / (double)largest});
    chart_box(chart, "gap", (struct chart_point){left, bin->score},
              (struct chart_point){right, bin->right});
    chart_line(chart, "accent", (struct chart_point[]){{left, bin->right}, {right, bin->right}}, 2);
}

void chart_reliability(FILE *file, const struct findings_figures *figures, const char *title)
{
    static const struct chart_point diagonal[] = {{0, 0}, {1, 1}};
    struct chart chart = {.file = file, .x = {0, 1}, .y = {0, 1}};
    char description[160];
    size_t largest = 1;
    for (unsigned i = 0; i < CALIBRATION_BINS; i++)
        largest = figures->bins[i].count > largest ? figures->bins[i].count : largest;
    snprintf(description, sizeof description,
             "Share of right answers by score, in %d bins; expected calibration error %.4f.",
             CALIBRATION_BINS, figures->ece);
    chart_open(&chart, title, description);
    chart_axes(&chart, "score", "share right");
    chart_line(&chart, "faint", diagonal, 2);
    for (unsigned i = 0; i < CALIBRATION_BINS; i++)
        draw_bin(&chart, &figures->bins[i], i, largest);
    chart_close(&chart);
}
