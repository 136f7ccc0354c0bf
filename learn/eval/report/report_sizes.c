#include "learn/eval/report/report_sizes.h"

#include "engine/base/utf8.h"
#include "learn/eval/measure/interval.h"
#include "learn/eval/report/html.h"
#include "learn/eval/report/report_page.h"
#include "learn/eval/report/report_tables.h"

enum { LABEL_COLUMN = 24, RANGE_BYTES = 48 };

bool report_sizes_differ(const struct report *report)
{
    return report->sizes != NULL && report->sizes->count > 1;
}

const char *report_sizes_unit(const struct report *report)
{
    return engine_describe(report->model)->kind == ENGINE_IMAGE ? "pixels" : "tokens";
}

static const char *what(const struct report *report)
{
    return engine_describe(report->model)->kind == ENGINE_IMAGE ? "larger side in pixels"
                                                                : "length in tokens";
}

static const char *range(const struct size_group *group, char out[RANGE_BYTES])
{
    snprintf(out, RANGE_BYTES, "%zu-%zu", group->from, group->to);
    return out;
}

/* False for labels without an input. */
static bool has_row(const struct report *report, unsigned label)
{
    return engine_describe(report->model)->label_count <= REPORT_TABLES_LABELS_MAX &&
           report->run.confusion->classes[label].support > 0;
}

/* ---- terminal ---- */

static void print_cell(const struct size_cell *cell, FILE *file)
{
    char text[RANGE_BYTES] = "-";
    if (cell->support > 0)
        snprintf(text, sizeof text, "%.3f of %zu", report_percent(cell->hits, cell->support) / 100,
                 cell->support);
    fprintf(file, "  %14s", text);
}

void report_sizes_print(const struct report *report, FILE *file)
{
    const struct engine_info *info = engine_describe(report->model);
    const struct size_groups *sizes = report->sizes;
    char text[RANGE_BYTES];
    if (!report_sizes_differ(report))
        return;
    fprintf(file, "\nrecall by size (%s)\n  %-*s", what(report), LABEL_COLUMN, "");
    for (unsigned g = 0; g < sizes->count; g++)
        fprintf(file, "  %14s", range(&sizes->groups[g], text));
    for (unsigned i = 0; i < info->label_count; i++) {
        if (!has_row(report, i))
            continue;
        fprintf(file, "\n  %-*s", utf8_width(info->labels[i], LABEL_COLUMN), info->labels[i]);
        for (unsigned g = 0; g < sizes->count; g++)
            print_cell(size_groups_cell(sizes, g, i), file);
    }
    fprintf(file, "\n  %-*s", LABEL_COLUMN, "all classes");
    for (unsigned g = 0; g < sizes->count; g++)
        print_cell(&sizes->groups[g].all, file);
    fputc('\n', file);
}

/* ---- page ---- */

static void put_cell(const struct size_cell *cell, FILE *file)
{
    if (cell->support == 0) {
        fputs("<td class=\"muted\">-</td>", file);
        return;
    }
    struct interval interval = wilson_interval(cell->hits, cell->support);
    fprintf(file,
            "<td title=\"95 %% interval %.3f to %.3f\">%.3f <span class=\"muted\">of "
            "%zu</span></td>",
            interval.low, interval.high, report_percent(cell->hits, cell->support) / 100,
            cell->support);
}

void report_sizes_html(const struct report *report, FILE *file)
{
    const struct engine_info *info = engine_describe(report->model);
    const struct size_groups *sizes = report->sizes;
    char about[400], text[RANGE_BYTES];
    if (!report_sizes_differ(report))
        return;
    snprintf(about, sizeof about,
             "Columns are groups of inputs by their %s; numbers are the share of a class's inputs "
             "in the group that got the right answer, and how many they are. A cell's title has "
             "the 95&nbsp;%% interval (Wilson's).",
             what(report));
    report_page_section(file, "Recall by size", about);
    fputs("<div class=\"scroll\"><table><thead><tr><th scope=\"col\">Class</th>", file);
    for (unsigned g = 0; g < sizes->count; g++)
        fprintf(file, "<th scope=\"col\">%s</th>", range(&sizes->groups[g], text));
    fputs("</tr></thead>\n<tbody>\n", file);
    for (unsigned i = 0; i < info->label_count; i++) {
        if (!has_row(report, i))
            continue;
        fputs("<tr><th scope=\"row\">", file);
        html_text(file, info->labels[i]);
        fputs("</th>", file);
        for (unsigned g = 0; g < sizes->count; g++)
            put_cell(size_groups_cell(sizes, g, i), file);
        fputs("</tr>\n", file);
    }
    fputs("<tr><th scope=\"row\">all classes</th>", file);
    for (unsigned g = 0; g < sizes->count; g++)
        put_cell(&sizes->groups[g].all, file);
    fputs("</tr>\n</tbody></table></div>\n", file);
    report_page_end_section(file);
}
