/* report_tables.c - see report_tables.h. A share is printed as a percentage if a person decides by
 * it, and as a fraction if papers do so (precision, recall, F1, ECE). Every row and column of a
 * table has a header, so that a screen reader can announce the position. */
#include "learn/eval/report/report_tables.h"

#include "learn/eval/report/html.h"

#include <stdlib.h>

static const struct engine_info *info_of(const struct report *report)
{
    return engine_describe(report->model);
}

static void row_header(FILE *file, const char *text)
{
    fputs("<tr><th scope=\"row\">", file);
    html_text(file, text);
    fputs("</th>", file);
}

static void column_headers(FILE *file, const char *const *texts, size_t count)
{
    fputs("<thead><tr>", file);
    for (size_t i = 0; i < count; i++)
        fprintf(file, "<th scope=\"col\">%s</th>", texts[i]);
    fputs("</tr></thead>\n<tbody>\n", file);
}

/* ---- classes ---- */

static void bar(FILE *file, const char *name, double value, struct interval interval)
{
    const double width = 150;
    fprintf(file,
            "<svg class=\"bar\" viewBox=\"0 0 150 16\" role=\"img\"><title>%s %.3f, 95 %% interval "
            "%.3f to %.3f</title><rect class=\"track\" width=\"150\" height=\"10\" y=\"3\" "
            "rx=\"2\"/><rect class=\"value\" width=\"%.1f\" height=\"10\" y=\"3\" rx=\"2\"/>"
            "<path class=\"whisker\" d=\"M%.1f 4V12M%.1f 8H%.1fM%.1f 4V12\"/></svg>",
            name, value, interval.low, interval.high, width * value, width * interval.low,
            width * interval.low, width * interval.high, width * interval.high);
}

static void class_row(const struct report *report, unsigned index, FILE *file)
{
    const struct confusion_class *class = &report->run.confusion->classes[index];
    const struct findings_class *found = &report->findings->classes[index];
    float threshold;
    row_header(file, info_of(report)->labels[index]);
    fprintf(file,
            "<td>%zu</td><td title=\"95 %% interval %.3f to %.3f\">%.3f</td>"
            "<td title=\"95 %% interval %.3f to %.3f\">%.3f</td><td>%.3f</td><td>",
            class->support, found->precision.low, found->precision.high, class->precision,
            found->recall.low, found->recall.high, class->recall, class->f1);
    bar(file, "F1", class->f1, found->f1);
    if (report_threshold(report, index, &threshold))
        fprintf(file, "</td><td>%.4f</td></tr>\n", (double)threshold);
    else
        fputs("</td><td class=\"muted\">review</td></tr>\n", file);
}

void report_tables_classes(const struct report *report, FILE *file)
{
    static const char *const columns[] = {"Class",         "Inputs", "Precision",
                                          "Recall",        "F1",     "F1 with 95&nbsp;% interval",
                                          "Automatic from"};
    fputs("<div class=\"scroll\"><table class=\"wide\">", file);
    column_headers(file, columns, sizeof columns / sizeof *columns);
    for (unsigned i = 0; i < info_of(report)->label_count; i++)
        class_row(report, i, file);
    fputs("</tbody></table></div>\n", file);
}

/* ---- confusion ---- */

/* Writes a cell that is shaded by its share of the row; dark cells have light digits. */
static void matrix_cell(FILE *file, size_t count, size_t support, const char *label,
                        const char *winner)
{
    double share = support > 0 ? (double)count / (double)support : 0;
    if (count == 0) {
        fputs("<td class=\"zero\">0</td>", file);
        return;
    }
    fprintf(file, "<td style=\"background:rgba(var(--tint),%.2f)%s\" title=\"", 0.06 + 0.94 * share,
            share > 0.5 ? ";color:var(--on-accent)" : "");
    html_text(file, label);
    fputs(" taken for ", file);
    html_text(file, winner);
    fprintf(file, ": %zu, %.1f %%\">%zu</td>", count, 100 * share, count);
}

void report_tables_matrix(const struct report *report, FILE *file)
{
    const struct engine_info *info = info_of(report);
    const struct confusion *confusion = report->run.confusion;
    fputs("<div class=\"scroll\"><table class=\"matrix\"><thead><tr><td></td>", file);
    for (unsigned i = 0; i < info->label_count; i++) {
        fputs("<th scope=\"col\"><span>", file);
        html_text(file, info->labels[i]);
        fputs("</span></th>", file);
    }
    fputs("</tr></thead>\n<tbody>\n", file);
    for (unsigned label = 0; label < info->label_count; label++) {
        row_header(file, info->labels[label]);
        for (unsigned winner = 0; winner < info->label_count; winner++)
            matrix_cell(file, confusion->matrix[(size_t)label * info->label_count + winner],
                        confusion->classes[label].support, info->labels[label],
                        info->labels[winner]);
        fputs("</tr>\n", file);
    }
    fputs("</tbody></table></div>\n", file);
}

struct cell {
    size_t count;
    unsigned label, winner;
};

static int compare_cells(const void *left, const void *right)
{
    const struct cell *a = left, *b = right;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return a->label != b->label ? (a->label < b->label ? -1 : 1)
                                : (a->winner > b->winner) - (a->winner < b->winner);
}

/* Lists the cells off the diagonal that are not empty. Returns their number. */
static size_t list_cells(const struct confusion *confusion, struct cell *cells)
{
    size_t found = 0;
    for (unsigned label = 0; label < confusion->class_count; label++)
        for (unsigned winner = 0; winner < confusion->class_count; winner++) {
            size_t count = confusion->matrix[(size_t)label * confusion->class_count + winner];
            if (count == 0 || label == winner)
                continue;
            if (cells != NULL)
                cells[found] = (struct cell){count, label, winner};
            found++;
        }
    return found;
}

enum err_code report_tables_confusions(const struct report *report, FILE *file, struct err *err)
{
    static const char *const columns[] = {"Class", "Taken for", "Inputs"};
    const struct engine_info *info = info_of(report);
    size_t count = list_cells(report->run.confusion, NULL);
    struct cell *cells = calloc(count + 1, sizeof *cells);
    if (cells == NULL)
        return err_no_memory(err, count * sizeof *cells);
    list_cells(report->run.confusion, cells);
    qsort(cells, count, sizeof *cells, compare_cells);
    fputs("<div class=\"scroll\"><table>", file);
    column_headers(file, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count && i < REPORT_INPUTS_MAX; i++) {
        row_header(file, info->labels[cells[i].label]);
        fputs("<td>", file);
        html_text(file, info->labels[cells[i].winner]);
        fprintf(file, "</td><td>%zu</td></tr>\n", cells[i].count);
    }
    fputs("</tbody></table></div>\n", file);
    free(cells);
    return ERR_OK;
}

/* ---- calibration ---- */

static void figures_row(FILE *file, const char *name, const struct findings_figures *figures)
{
    row_header(file, name);
    fprintf(file, "<td>%.3f</td><td>%.4f</td><td>%.4f</td><td>%.4f</td><td>%.4f</td></tr>\n",
            figures->temperature, figures->ece, figures->ece_by_mass, figures->nll, figures->brier);
}

void report_tables_calibration(const struct report *report, FILE *file)
{
    static const char *const columns[] = {"Scores",          "Temperature", "ECE",
                                          "ECE, equal mass", "NLL",         "Brier"};
    const struct findings *findings = report->findings;
    fputs("<div class=\"scroll\"><table>", file);
    column_headers(file, columns, sizeof columns / sizeof *columns);
    figures_row(file, "as served", &findings->served);
    figures_row(file, "fitted on these inputs", &findings->fitted);
    if (findings->has_crossed)
        figures_row(file, "fitted on other inputs (5 folds)", &findings->crossed);
    fputs("</tbody></table></div>\n", file);
}

/* ---- decisions ---- */

static void decisions_row(FILE *file, const char *name, const struct selective_decisions *decisions)
{
    size_t count = decisions->count;
    row_header(file, name);
    fprintf(file, "<td>%.2f %%</td>", report_percent(decisions->automatic, count));
    if (decisions->automatic > 0)
        fprintf(file, "<td>%.2f %%</td>", report_percent(decisions->right, decisions->automatic));
    else
        fputs("<td class=\"muted\">none</td>", file);
    fprintf(file, "<td>%.2f %%</td><td>%.2f %%</td></tr>\n",
            report_percent(decisions->review, count), report_percent(decisions->unknown, count));
}

void report_tables_decisions(const struct report *report, FILE *file)
{
    static const char *const columns[] = {"Rule", "Automatic", "Right among them", "Review",
                                          "Unknown"};
    const struct findings *findings = report->findings;
    fputs("<div class=\"scroll\"><table>", file);
    column_headers(file, columns, sizeof columns / sizeof *columns);
    if (report->decisions != NULL)
        decisions_row(file, "as the checkpoint decides", report->decisions);
    decisions_row(file, "one score for all, chosen on these inputs", &findings->served.by_score);
    if (findings->has_crossed)
        decisions_row(file, "one score for all, chosen on other inputs",
                      &findings->crossed.by_score);
    decisions_row(file, "a score for each class, chosen on these inputs",
                  &findings->fitted.by_class);
    if (findings->has_crossed)
        decisions_row(file, "a score for each class, chosen on other inputs",
                      &findings->crossed.by_class);
    fputs("</tbody></table></div>\n", file);
}

/* ---- training ---- */

static void epoch_number(FILE *file, double value)
{
    if (value == value)
        fprintf(file, "<td>%.4g</td>", value);
    else
        fputs("<td class=\"muted\">-</td>", file);
}

void report_tables_epochs(const struct report *report, FILE *file)
{
    static const char *const columns[] = {"Epoch", "Training loss", "Validation loss", "Macro-F1",
                                          "Learning rate"};
    fputs("<div class=\"scroll\"><table>", file);
    column_headers(file, columns, sizeof columns / sizeof *columns);
    for (unsigned i = 0; i < report->epoch_count; i++) {
        const struct report_epoch *epoch = &report->epochs[i];
        fprintf(file, "<tr><th scope=\"row\">%u</th>", i + 1);
        epoch_number(file, epoch->train_loss);
        epoch_number(file, epoch->validation_loss);
        epoch_number(file, epoch->measure);
        epoch_number(file, epoch->rate);
        fputs("</tr>\n", file);
    }
    fputs("</tbody></table></div>\n", file);
}

/* ---- a second precision ---- */

static void run_row(const struct report_run *run, FILE *file)
{
    row_header(file, run->dtype);
    fprintf(file, "<td>%.2f %%</td><td>%.4f</td><td>%.1f</td></tr>\n",
            100 * run->confusion->accuracy, run->confusion->macro_f1,
            report_inputs_per_second(run));
}

void report_tables_agreement(const struct report *report, FILE *file)
{
    static const char *const columns[] = {"Precision", "Accuracy", "Macro-F1", "Inputs/s"};
    fputs("<div class=\"scroll\"><table>", file);
    column_headers(file, columns, sizeof columns / sizeof *columns);
    run_row(&report->run, file);
    run_row(&report->against, file);
    fputs("</tbody></table></div>\n", file);
}

/* ---- before and after ---- */

static void change_row(const char *name, const char *figure, double before,
                       struct interval before_range, double after, struct interval after_range,
                       FILE *file)
{
    row_header(file, name);
    fprintf(file, "<td>%.3f</td><td>", before);
    bar(file, figure, before, before_range);
    fprintf(file, "</td><td>%.3f</td><td>", after);
    bar(file, figure, after, after_range);
    fprintf(file, "</td><td>%+.1f</td></tr>\n", 100 * (after - before));
}

static void share_row(const char *name, size_t before, size_t before_count, size_t after,
                      size_t after_count, FILE *file)
{
    change_row(name, name, report_percent(before, before_count) / 100,
               wilson_interval(before, before_count), report_percent(after, after_count) / 100,
               wilson_interval(after, after_count), file);
}

void report_tables_change(const struct report *report, FILE *file)
{
    static const char *const columns[] = {"", "Before", "", "After", "", "Points"};
    const struct report_figures *old = &report->change->before, *new = &report->change->after;
    fputs("<div class=\"scroll\"><table class=\"wide\">", file);
    column_headers(file, columns, sizeof columns / sizeof *columns);
    change_row("Accuracy", "accuracy", old->confusion->accuracy, old->accuracy,
               new->confusion->accuracy, new->accuracy, file);
    change_row("Macro-F1", "macro-F1", old->confusion->macro_f1, old->macro_f1,
               new->confusion->macro_f1, new->macro_f1, file);
    for (unsigned i = 0; i < info_of(report)->label_count; i++)
        change_row(info_of(report)->labels[i], "F1", old->confusion->classes[i].f1, old->f1[i],
                   new->confusion->classes[i].f1, new->f1[i], file);
    const struct selective_decisions *was = old->decisions, *is = new->decisions;
    if (was != NULL && is != NULL) {
        share_row("Automatic", was->automatic, was->count, is->automatic, is->count, file);
        share_row("Review", was->review, was->count, is->review, is->count, file);
        share_row("Unknown", was->unknown, was->count, is->unknown, is->count, file);
    }
    fputs("</tbody></table></div>\n", file);
}
