#include "learn/eval/report/report_expected.h"

#include "engine/decide/class_prior.h"
#include "learn/eval/report/html.h"
#include "learn/eval/report/report_page.h"

/* ---- terminal ---- */

static const char *prior_name(const struct report *report)
{
    return class_prior_name(engine_describe(report->model)->class_prior);
}

/* The share of the inputs that have the label. */
static double counted_share(const struct report *report, unsigned label)
{
    const struct confusion *confusion = report->run.confusion;
    return report_percent(confusion->classes[label].support, confusion->count);
}

void report_expected_print(const struct report *report, FILE *file)
{
    const struct engine_info *info = engine_describe(report->model);
    const struct expectation *expectation = report->expectation;
    if (expectation == NULL)
        return;
    fprintf(file, "\nclass prior    %s: in a stream with these shares\n", prior_name(report));
    fprintf(file, "accuracy       %.4f (95 %% interval %.4f to %.4f)\n", expectation->accuracy,
            expectation->accuracy_interval.low, expectation->accuracy_interval.high);
    fprintf(file, "macro-F1       %.4f (95 %% interval %.4f to %.4f)\n", expectation->macro_f1,
            expectation->macro_f1_interval.low, expectation->macro_f1_interval.high);
    if (expectation->unseen > 0)
        fprintf(file, "left out       %.4f %%: labels without an input\n",
                100 * expectation->unseen);
    fputs("     inputs   expected  precision      F1\n", file);
    for (unsigned i = 0; i < info->label_count; i++) {
        const struct expectation_class *class = &expectation->classes[i];
        fprintf(file, "  %7.3f %%  %7.3f %%     %.4f  %.4f  %s\n", counted_share(report, i),
                100 * class->share, class->precision, class->f1, info->labels[i]);
    }
}

/* ---- page ---- */

void report_expected_html(const struct report *report, FILE *file)
{
    const struct engine_info *info = engine_describe(report->model);
    const struct expectation *expectation = report->expectation;
    char about[500];
    if (expectation == NULL)
        return;
    snprintf(about, sizeof about,
             "In a stream with the shares of the class prior (%s) accuracy would be %.4f (%.4f to "
             "%.4f) and macro-F1 %.4f (%.4f to %.4f, 95&nbsp;%% intervals): each input weighs as "
             "much as its label is expected more often than it is here.",
             prior_name(report), expectation->accuracy, expectation->accuracy_interval.low,
             expectation->accuracy_interval.high, expectation->macro_f1,
             expectation->macro_f1_interval.low, expectation->macro_f1_interval.high);
    report_page_section(file, "What to expect", about);
    fputs("<div class=\"scroll\"><table><thead><tr><th>Class</th><th>Of these inputs</th>"
          "<th>Expected</th><th>Precision</th><th>F1</th></tr></thead><tbody>\n",
          file);
    for (unsigned i = 0; i < info->label_count; i++) {
        const struct expectation_class *class = &expectation->classes[i];
        fputs("<tr><th>", file);
        html_text(file, info->labels[i]);
        fprintf(file,
                "</th><td>%.3f&nbsp;%%</td><td>%.3f&nbsp;%%</td><td>%.4f</td><td>%.4f</td></tr>\n",
                counted_share(report, i), 100 * class->share, class->precision, class->f1);
    }
    fputs("</tbody></table></div>\n", file);
    report_page_end_section(file);
}
