#include "learn/eval/report/report_strange.h"

#include "learn/eval/report/html.h"
#include "learn/eval/report/report_page.h"

/* A row compares with these inputs, by `index`: 0 all known ones, 1 those that are not of the
 * majority class, then those of each label. */
enum { SEPARATIONS_BEFORE_LABELS = 2 };

static const struct separation *separation_at(const struct strangeness_group *group, unsigned index)
{
    return index == 0   ? &group->all
           : index == 1 ? &group->defects
                        : &group->classes[index - SEPARATIONS_BEFORE_LABELS];
}

static unsigned separations(const struct strangeness *strangeness)
{
    return SEPARATIONS_BEFORE_LABELS + strangeness->label_count;
}

/* The words before a row's label: "all", "all but" or "". */
static const char *words_at(unsigned index)
{
    return index == 0 ? "all" : index == 1 ? "all but " : "";
}

static const char *label_at(const struct strangeness *strangeness, const struct engine_info *info,
                            unsigned index)
{
    return index == 0   ? ""
           : index == 1 ? info->labels[strangeness->majority]
                        : info->labels[index - SEPARATIONS_BEFORE_LABELS];
}

static struct interval automatic_of(const struct strangeness_group *group)
{
    return wilson_interval(group->decisions.automatic, group->decisions.count);
}

/* ---- terminal ---- */

static void print_group(const struct strangeness *strangeness,
                        const struct strangeness_group *group, const struct engine_info *info,
                        FILE *file)
{
    const struct selective_decisions *decisions = &group->decisions;
    const struct interval automatic = automatic_of(group);
    fprintf(file, "\nunseen         %s: %zu inputs\n", group->label != NULL ? group->label : "all",
            decisions->count);
    fprintf(file,
            "decisions      automatic %.2f %% (95 %% interval %.2f to %.2f), review %.2f %%, "
            "unknown %.2f %%\n",
            report_percent(decisions->automatic, decisions->count), 100 * automatic.low,
            100 * automatic.high, report_percent(decisions->review, decisions->count),
            report_percent(decisions->unknown, decisions->count));
    fputs("     AUROC  (95 % interval)    FPR95  (95 % interval)  against known inputs\n", file);
    for (unsigned i = 0; i < separations(strangeness); i++) {
        const struct separation *found = separation_at(group, i);
        if (found->known == 0)
            continue;
        fprintf(file, "    %.4f  %.4f to %.4f  %.4f  %.4f to %.4f  %s%s (%zu)\n", found->auroc,
                found->auroc_interval.low, found->auroc_interval.high, found->fpr95,
                found->fpr95_interval.low, found->fpr95_interval.high, words_at(i),
                label_at(strangeness, info, i), found->known);
    }
}

void report_strange_print(const struct strangeness *strangeness, const struct engine_info *info,
                          FILE *file)
{
    /* With a single label group 0, all inputs, equals group 1 and is left out. */
    for (unsigned g = strangeness->group_count == 2; g < strangeness->group_count; g++)
        print_group(strangeness, &strangeness->groups[g], info, file);
}

/* ---- page ---- */

static void html_group(const struct strangeness *strangeness, const struct strangeness_group *group,
                       const struct engine_info *info, FILE *file)
{
    const struct selective_decisions *decisions = &group->decisions;
    const struct interval automatic = automatic_of(group);
    fputs("<h3>", file);
    html_text(file, group->label != NULL ? group->label : "All of them");
    fprintf(file,
            "</h3><p>%zu inputs: %.2f&nbsp;%% pass as automatic (%.2f to %.2f), %.2f&nbsp;%% go to "
            "review, %.2f&nbsp;%% are unknown.</p>\n",
            decisions->count, report_percent(decisions->automatic, decisions->count),
            100 * automatic.low, 100 * automatic.high,
            report_percent(decisions->review, decisions->count),
            report_percent(decisions->unknown, decisions->count));
    fputs("<div class=\"scroll\"><table><thead><tr><th>Against known inputs</th><th>Inputs</th>"
          "<th>AUROC</th><th>Interval</th><th>FPR95</th><th>Interval</th></tr></thead><tbody>\n",
          file);
    for (unsigned i = 0; i < separations(strangeness); i++) {
        const struct separation *found = separation_at(group, i);
        if (found->known == 0)
            continue;
        fprintf(file, "<tr><th>%s", words_at(i));
        html_text(file, label_at(strangeness, info, i));
        fprintf(file,
                "</th><td>%zu</td><td>%.4f</td><td>%.4f to %.4f</td><td>%.4f</td><td>%.4f to "
                "%.4f</td></tr>\n",
                found->known, found->auroc, found->auroc_interval.low, found->auroc_interval.high,
                found->fpr95, found->fpr95_interval.low, found->fpr95_interval.high);
    }
    fputs("</tbody></table></div>\n", file);
}

void report_strange_html(const struct report *report, FILE *file)
{
    const struct strangeness *unseen = report->unseen;
    if (unseen == NULL)
        return;
    report_page_section(
        file, "What the model has not learnt",
        "Inputs of labels that it lacks. AUROC: how often such an input has a higher "
        "<code>ood_score</code> than a known one. FPR95: the share of them below the score that "
        "95&nbsp;% of known inputs keep to. Known defects, without the most frequent label, are "
        "the stricter measure. Intervals are at 95&nbsp;%.");
    for (unsigned g = unseen->group_count == 2; g < unseen->group_count; g++)
        html_group(unseen, &unseen->groups[g], engine_describe(report->model), file);
    report_page_end_section(file);
}
