#include "learn/eval/report/report_json_parts.h"

#include "engine/decide/class_prior.h"
#include "learn/eval/measure/interval.h"
#include "learn/eval/report/report_sizes.h"
#include "wire/answer.h"

#include <jansson.h>
#include <math.h>

struct json_t *report_json_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

bool report_json_add(struct json_t *object, struct json_t *members)
{
    const bool failed = json_object_update(object, members) != 0;
    json_decref(members);
    return !failed;
}

struct json_t *report_json_put(struct json_t *object, const char *key, struct json_t *value)
{
    if (json_object_set_new(object, key, value) == 0)
        return object;
    json_decref(object);
    return NULL;
}

struct json_t *report_json_append(struct json_t *array, struct json_t *value)
{
    if (json_array_append_new(array, value) == 0)
        return array;
    json_decref(array);
    return NULL;
}

enum err_code report_json_print(struct json_t *object, const char *what, FILE *file,
                                struct err *err)
{
    if (object == NULL)
        return err->code != ERR_OK ? err->code : err_no_memory(err, sizeof *object);
    const bool printed = answer_print(object, file);
    json_decref(object);
    return printed ? ERR_OK : err_set(err, ERR_IO, "%s cannot be printed", what);
}

/* ---- what to expect ---- */

static json_t *labels_of(const struct report *report)
{
    const struct engine_info *info = engine_describe(report->model);
    const struct confusion *confusion = report->run.confusion;
    json_t *labels = json_object();
    for (unsigned i = 0; i < info->label_count && labels != NULL; i++) {
        const struct expectation_class *class = &report->expectation->classes[i];
        const double counted =
            report_percent(confusion->classes[i].support, confusion->count) / 100;
        json_t *row = json_pack("{s:f, s:f, s:f, s:f}", "share", counted, "expected_share",
                                class->share, "precision", class->precision, "f1", class->f1);
        labels = report_json_put(labels, info->labels[i], row);
    }
    return labels;
}

struct json_t *report_expected_json(const struct report *report)
{
    const struct engine_info *info = engine_describe(report->model);
    const struct expectation *expectation = report->expectation;
    return json_pack("{s:s, s:f, s:[f,f], s:f, s:[f,f], s:f, s:o}", "class_prior",
                     class_prior_name(info->class_prior), "accuracy", expectation->accuracy,
                     "accuracy_interval", expectation->accuracy_interval.low,
                     expectation->accuracy_interval.high, "macro_f1", expectation->macro_f1,
                     "macro_f1_interval", expectation->macro_f1_interval.low,
                     expectation->macro_f1_interval.high, "unseen_share", expectation->unseen,
                     "labels", labels_of(report));
}

/* ---- by size ---- */

static json_t *cell_of(const struct size_cell *cell)
{
    const struct interval interval = wilson_interval(cell->hits, cell->support);
    return json_pack("{s:I, s:I, s:f, s:[f,f]}", "support", (json_int_t)cell->support, "hits",
                     (json_int_t)cell->hits, "recall",
                     report_percent(cell->hits, cell->support) / 100, "recall_interval",
                     interval.low, interval.high);
}

/* Labels without an input in the group are left out. */
static json_t *size_group_of(const struct report *report, unsigned g)
{
    const struct engine_info *info = engine_describe(report->model);
    const struct size_group *group = &report->sizes->groups[g];
    json_t *labels = json_object();
    for (unsigned i = 0; i < info->label_count && labels != NULL; i++)
        if (size_groups_cell(report->sizes, g, i)->support > 0)
            labels = report_json_put(labels, info->labels[i],
                                     cell_of(size_groups_cell(report->sizes, g, i)));
    return json_pack("{s:I, s:I, s:o, s:o}", "from", (json_int_t)group->from, "to",
                     (json_int_t)group->to, "all", cell_of(&group->all), "labels", labels);
}

struct json_t *report_sizes_json(const struct report *report)
{
    json_t *groups = json_array();
    for (unsigned g = 0; g < report->sizes->count && groups != NULL; g++)
        groups = report_json_append(groups, size_group_of(report, g));
    return json_pack("{s:s, s:o}", "unit", report_sizes_unit(report), "groups", groups);
}

/* ---- what is not learnt ---- */

static json_t *separation_of(const struct separation *found)
{
    return json_pack("{s:I, s:f, s:[f,f], s:f, s:[f,f]}", "inputs", (json_int_t)found->known,
                     "auroc", found->auroc, "auroc_interval", found->auroc_interval.low,
                     found->auroc_interval.high, "fpr95", found->fpr95, "fpr95_interval",
                     found->fpr95_interval.low, found->fpr95_interval.high);
}

static json_t *classes_of(const struct strangeness *unseen, const struct strangeness_group *group,
                          const struct engine_info *info)
{
    json_t *classes = json_object();
    for (unsigned c = 0; c < unseen->label_count && classes != NULL; c++)
        if (group->classes[c].known > 0)
            classes = report_json_put(classes, info->labels[c], separation_of(&group->classes[c]));
    return classes;
}

static json_t *group_of(const struct strangeness *unseen, const struct strangeness_group *group,
                        const struct engine_info *info)
{
    const struct selective_decisions *decisions = &group->decisions;
    const struct interval automatic = wilson_interval(decisions->automatic, decisions->count);
    return json_pack(
        "{s:I, s:I, s:[f,f], s:I, s:I, s:o, s:o, s:o}", "inputs", (json_int_t)decisions->count,
        "auto", (json_int_t)decisions->automatic, "auto_interval", automatic.low, automatic.high,
        "review", (json_int_t)decisions->review, "unknown", (json_int_t)decisions->unknown, "known",
        separation_of(&group->all), "known_defects", separation_of(&group->defects), "known_labels",
        classes_of(unseen, group, info));
}

struct json_t *report_strange_json(const struct report *report)
{
    const struct engine_info *info = engine_describe(report->model);
    const struct strangeness *unseen = report->unseen;
    json_t *labels = json_object();
    for (unsigned g = 1; g < unseen->group_count && labels != NULL; g++)
        labels = report_json_put(labels, unseen->groups[g].label,
                                 group_of(unseen, &unseen->groups[g], info));
    return json_pack("{s:s, s:s, s:o, s:o}", "ood_method", info->ood_method, "majority",
                     info->labels[unseen->majority], "all",
                     group_of(unseen, &unseen->groups[0], info), "labels", labels);
}
