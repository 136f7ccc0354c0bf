#include "learn/eval/report/report_remarks.h"

#include "engine/base/memory_file.h"

#include <stdlib.h>

enum { CLASSES_MAX = 8 };

static bool is_out_of_fold(const struct report *report)
{
    return report->folds > 0;
}

static void write_folds(const struct report *report, FILE *file)
{
    fprintf(file,
            "the model has learnt these inputs: each was answered by a model that had not (%u "
            "fold%s)",
            report->folds, report->folds == 1 ? "" : "s");
}

static bool is_at_bound(const struct report *report)
{
    return report->findings->temperature_bound > 0;
}

static void write_bound(const struct report *report, FILE *file)
{
    fprintf(
        file,
        "temperature at its bound %g: not used, the model keeps its own; these inputs are too few "
        "or too easy to tell how sure scores should be",
        report->findings->temperature_bound);
}

static unsigned count_never_automatic(const struct report *report)
{
    unsigned never = 0;
    float threshold;
    for (unsigned i = 0; i < engine_describe(report->model)->label_count; i++)
        never += !report_threshold(report, i, &threshold);
    return never;
}

static bool has_never_automatic(const struct report *report)
{
    return count_never_automatic(report) > 0;
}

static void write_never_automatic(const struct report *report, FILE *file)
{
    unsigned labels = engine_describe(report->model)->label_count, shown = 0;
    struct selective_goal goal = {report->findings->target_precision, SELECTIVE_Z};
    size_t needed = selective_right_min(&goal);
    unsigned never = count_never_automatic(report);
    float threshold;
    fprintf(file, "%u of %u classes %s never automatic: ", never, labels,
            never == 1 ? "is" : "are");
    for (unsigned i = 0; i < labels && shown < CLASSES_MAX; i++) {
        if (report_threshold(report, i, &threshold))
            continue;
        fputs(shown++ > 0 ? ", " : "", file);
        const struct confusion_class *class = &report->run.confusion->classes[i];
        fprintf(file, "'%s' ", engine_describe(report->model)->labels[i]);
        if (class->predicted == 0)
            fputs("(never the answer)", file);
        else
            fprintf(file, "(%zu of %zu answers right)", class->hits, class->predicted);
    }
    if (never > shown)
        fprintf(file, " and %u more", never - shown);
    if (report->served != NULL)
        fprintf(file, "; attnd.json has no threshold for %s", never == 1 ? "it" : "them");
    else if (needed == 0)
        fputs("; no number of right answers vouches for a precision of 1: ask for less with "
              "--target-precision",
              file);
    else
        fprintf(file,
                "; it takes %zu right answers to inputs that were not learnt, and hardly a wrong "
                "one, to vouch for a precision of %g: judge by more inputs of %s, or ask for less "
                "with --target-precision",
                needed, goal.target_precision, never == 1 ? "this class" : "these classes");
}

static const struct remark {
    bool (*applies)(const struct report *report);
    void (*write)(const struct report *report, FILE *file);
} remarks[] = {
    {is_out_of_fold, write_folds},
    {is_at_bound, write_bound},
    {has_never_automatic, write_never_automatic},
};

enum { REMARKS = sizeof remarks / sizeof *remarks };

void report_remarks_print(const struct report *report, FILE *file)
{
    for (size_t i = 0; i < REMARKS; i++) {
        if (!remarks[i].applies(report))
            continue;
        fputs("note: ", file);
        remarks[i].write(report, file);
        fputc('\n', file);
    }
}

enum err_code report_remarks_each(const struct report *report,
                                  void (*take)(void *context, const char *remark), void *context,
                                  struct err *err)
{
    for (size_t i = 0; i < REMARKS; i++) {
        struct memory_file text;
        if (!remarks[i].applies(report))
            continue;
        if (memory_file_open(&text, err))
            return err->code;
        remarks[i].write(report, text.stream);
        if (memory_file_close(&text, err))
            return err->code;
        take(context, text.bytes);
        free(text.bytes);
    }
    return ERR_OK;
}
