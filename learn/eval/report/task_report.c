#include "learn/eval/report/task_report.h"

#include "engine/base/file.h"
#include "engine/base/memory_file.h"
#include "learn/eval/report/report_json_parts.h"

#include <jansson.h>

enum { PROBLEMS_SHOWN = 8 };

void task_report_problems(FILE *file, const struct evaluation *evaluation,
                          const struct dataset *dataset)
{
    for (size_t i = 0, shown = 0; i < evaluation->count; i++)
        if (evaluation->problems[i] != NULL && shown++ < PROBLEMS_SHOWN)
            fprintf(file, "  %s: %s\n", dataset->items[i].name, evaluation->problems[i]);
}

json_t *task_report_json(json_t *object, json_t *parts, const struct task_report *report,
                         const char *measure)
{
    if (report_json_add(object, parts) &&
        (report->epoch_count == 0 ||
         json_object_set_new(object, "epochs",
                             report_epochs_json(report->epochs, report->epoch_count, measure)) ==
             0))
        return object;
    json_decref(object);
    return NULL;
}

enum err_code task_report_print_json(const struct task_report *report, FILE *file, struct err *err)
{
    return report_json_print(report->kind->json(report), "the report", file, err);
}

enum err_code task_report_write(const struct task_report *report, const char *folder,
                                struct err *err)
{
    char path[PATH_MAX];
    struct memory_file text;
    if (report->kind->page != NULL) {
        if (file_path(path, folder, "report.html", err) || memory_file_open(&text, err))
            return err->code;
        report->kind->page(report, text.stream);
        if (memory_file_save(&text, path, err))
            return err->code;
    }
    if (file_path(path, folder, "report.json", err) || memory_file_open(&text, err))
        return err->code;
    task_report_print_json(report, text.stream, err);
    return memory_file_save(&text, path, err);
}
