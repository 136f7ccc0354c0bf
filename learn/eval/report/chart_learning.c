#include "learn/eval/report/chart.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Most points of a line: more are not visible in the SVG. */
enum { POINTS_MAX = 400 };

/* One value of all epochs. */
struct series {
    const char *class;
    size_t offset; /* of a double in struct report_epoch */
};

static double value_of(const struct report_epoch *epochs, unsigned index, size_t offset)
{
    double value;
    memcpy(&value, (const char *)&epochs[index] + offset, sizeof value);
    return value;
}

static double largest_of(const struct report_epoch *epochs, unsigned count,
                         const struct series *series, unsigned series_count)
{
    double largest = 0;
    for (unsigned s = 0; s < series_count; s++)
        for (unsigned i = 0; i < count; i++) {
            double value = value_of(epochs, i, series[s].offset);
            largest = isfinite(value) ? fmax(largest, value) : largest;
        }
    return largest;
}

static void draw(const struct chart *chart, const struct report_epoch *epochs, unsigned count,
                 const struct series *series)
{
    struct chart_point points[POINTS_MAX];
    unsigned drawn = count < POINTS_MAX ? count : POINTS_MAX;
    for (unsigned i = 0; i < drawn; i++) {
        unsigned at = drawn > 1 ? (unsigned)((uint64_t)i * (count - 1) / (drawn - 1)) : 0;
        points[i] = (struct chart_point){(double)at + 1, value_of(epochs, at, series->offset)};
    }
    chart_line(chart, series->class, points, drawn);
}

static void draw_chart(FILE *file, const struct report_epoch *epochs, unsigned count,
                       const struct series *series, unsigned series_count, const char *name)
{
    char title[64];
    struct chart chart = {
        .file = file,
        .x = {1, count > 1 ? count : 2},
        .y = chart_range_from_zero(largest_of(epochs, count, series, series_count))};
    snprintf(title, sizeof title, "%s by epoch", name);
    fprintf(file, "<figure><h3>%s</h3>", name);
    chart_open(&chart, title, "The numbers are in the table below.");
    chart_axes(&chart, "epoch", NULL);
    for (unsigned s = 0; s < series_count; s++)
        draw(&chart, epochs, count, &series[s]);
    chart_close(&chart);
    fputs("</figure>\n", file);
}

void chart_learning(FILE *file, const struct report_epoch *epochs, unsigned count)
{
    static const struct series losses[] = {
        {"faint", offsetof(struct report_epoch, train_loss)},
        {"accent", offsetof(struct report_epoch, validation_loss)},
    };
    static const struct series macro_f1 = {"accent", offsetof(struct report_epoch, measure)};
    static const struct series rate = {"accent", offsetof(struct report_epoch, rate)};
    draw_chart(file, epochs, count, losses, 2, "Loss");
    draw_chart(file, epochs, count, &macro_f1, 1, "Macro-F1");
    draw_chart(file, epochs, count, &rate, 1, "Learning rate");
}
