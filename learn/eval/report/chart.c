/* chart.c - see chart.h. Numbers are written with at most two decimals, since a tenth of a unit of
 * the SVG is not visible. There are three to seven ticks, at 1, 2, 2.5 or 5 times a power of ten.
 */
#include "learn/eval/report/chart.h"

#include <math.h>

enum { LEFT = 52, TOP = 12, RIGHT = 14, BOTTOM = 46, TICKS_MAX = 6 };

/* ---- scales ---- */

static double round_step(double span)
{
    static const double steps[] = {1, 2, 2.5, 5};
    double rough = span / TICKS_MAX, power = pow(10, floor(log10(rough)));
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i] * power >= rough * (1 - 1e-9))
            return steps[i] * power;
    return 10 * power;
}

struct chart_range chart_range_from_zero(double largest)
{
    if (!(largest > 0) || !isfinite(largest))
        return (struct chart_range){.min = 0, .max = 1};
    double step = round_step(largest);
    return (struct chart_range){.min = 0, .max = step * ceil(largest / step - 1e-9)};
}

static double place(struct chart_range range, double value, double from, double to)
{
    return from + (value - range.min) / (range.max - range.min) * (to - from);
}

static double x_of(const struct chart *chart, double x)
{
    return place(chart->x, x, LEFT, CHART_WIDTH - RIGHT);
}

static double y_of(const struct chart *chart, double y)
{
    return place(chart->y, y, CHART_HEIGHT - BOTTOM, TOP);
}

/* ---- frame ---- */

void chart_open(const struct chart *chart, const char *title, const char *description)
{
    fprintf(chart->file,
            "<svg class=\"chart\" viewBox=\"0 0 %d %d\" role=\"img\"><title>%s</title>"
            "<desc>%s</desc>\n",
            CHART_WIDTH, CHART_HEIGHT, title, description);
}

void chart_close(const struct chart *chart)
{
    fputs("</svg>\n", chart->file);
}

void chart_axes(const struct chart *chart, const char *x_label, const char *y_label)
{
    const double middle = (TOP + CHART_HEIGHT - BOTTOM) / 2.0;
    double step = round_step(chart->y.max - chart->y.min);
    for (double at = ceil(chart->y.min / step - 1e-9) * step; at <= chart->y.max + step * 1e-6;
         at += step)
        fprintf(chart->file,
                "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text class=\"tick\" x=\"%d\" y=\"%.1f\" "
                "text-anchor=\"end\">%.4g</text>\n",
                LEFT, y_of(chart, at), CHART_WIDTH - RIGHT, LEFT - 8, y_of(chart, at) + 4,
                fabs(at) < step / 2 ? 0 : at);
    step = round_step(chart->x.max - chart->x.min);
    for (double at = ceil(chart->x.min / step - 1e-9) * step; at <= chart->x.max + step * 1e-6;
         at += step)
        fprintf(chart->file,
                "<text class=\"tick\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.4g</text>\n",
                x_of(chart, at), CHART_HEIGHT - BOTTOM + 18, fabs(at) < step / 2 ? 0 : at);
    fprintf(chart->file, "<path class=\"axis\" d=\"M%d %dH%d\"/>\n", LEFT, CHART_HEIGHT - BOTTOM,
            CHART_WIDTH - RIGHT);
    fprintf(chart->file,
            "<text class=\"name\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
            (LEFT + CHART_WIDTH - RIGHT) / 2.0, CHART_HEIGHT - 8, x_label);
    if (y_label == NULL)
        return;
    fprintf(chart->file,
            "<text class=\"name\" transform=\"translate(13 %.1f) rotate(-90)\" "
            "text-anchor=\"middle\">%s</text>\n",
            middle, y_label);
}

/* ---- shapes ---- */

void chart_line(const struct chart *chart, const char *class, const struct chart_point *points,
                unsigned count)
{
    unsigned drawn = 0;
    struct chart_point last = {0};
    fprintf(chart->file, "<path class=\"line %s\" d=\"", class);
    for (unsigned i = 0; i < count; i++) {
        if (!isfinite(points[i].x) || !isfinite(points[i].y))
            continue;
        last = points[i];
        fprintf(chart->file, "%c%.1f %.1f", drawn++ == 0 ? 'M' : 'L', x_of(chart, last.x),
                y_of(chart, last.y));
    }
    fputs("\"/>\n", chart->file);
    if (drawn == 1)
        chart_dot(chart, class, last);
}

void chart_dot(const struct chart *chart, const char *class, struct chart_point point)
{
    fprintf(chart->file, "<circle class=\"dot %s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n", class,
            x_of(chart, point.x), y_of(chart, point.y));
}

void chart_box(const struct chart *chart, const char *class, struct chart_point a,
               struct chart_point b)
{
    double left = x_of(chart, fmin(a.x, b.x)), top = y_of(chart, fmax(a.y, b.y));
    fprintf(chart->file,
            "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", class,
            left, top, x_of(chart, fmax(a.x, b.x)) - left, y_of(chart, fmin(a.y, b.y)) - top);
}

void chart_note(const struct chart *chart, struct chart_point point, const char *text)
{
    double x = x_of(chart, point.x), y = y_of(chart, point.y);
    bool to_the_left = x > (LEFT + CHART_WIDTH - RIGHT) / 2.0;
    fprintf(
        chart->file, "<text class=\"note\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n",
        to_the_left ? x - 9 : x + 9, fmax(y - 9, TOP + 12), to_the_left ? "end" : "start", text);
}
