#include "learn/eval/report/report_remarks.h"

#include "engine/base/memory_file.h"

#include <stdlib.h>

static bool is_at_bound(const struct report *report)
{
    return report->findings->temperature_bound > 0;
}

static void write_bound(const struct report *report, FILE *file)
{
    fprintf(file,
            "temperature at its bound %g: not used; these inputs are too few or too easy to tell "
            "how sure scores should be",
            report->findings->temperature_bound);
}

static const struct remark {
    bool (*applies)(const struct report *report);
    void (*write)(const struct report *report, FILE *file);
} remarks[] = {
    {is_at_bound, write_bound},
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
