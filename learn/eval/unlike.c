#include "learn/eval/unlike.h"

#include <stdlib.h>

enum err_code unlike_measure(struct strangeness *out, const struct assessment *assessment,
                             const struct dataset *dataset, const struct evaluation_options *how,
                             struct err *err)
{
    struct evaluation evaluation = {0};
    struct evaluation_options with_features = *how;
    const char **labels = calloc(dataset->count + 1, sizeof *labels);
    with_features.features = true;
    *out = (struct strangeness){0};
    if (labels == NULL)
        err_no_memory(err, dataset->count * sizeof *labels);
    for (size_t i = 0; i < dataset->count && labels != NULL; i++)
        labels[i] = dataset->items[i].label;
    const struct strangeness_source source = {.model = assessment->model,
                                              .known = &assessment->evaluation,
                                              .classes = assessment->classes,
                                              .strange = &evaluation,
                                              .labels = labels};
    if (err->code == ERR_OK &&
        !evaluation_run(&evaluation, assessment->model, dataset, &with_features, err))
        strangeness_measure(out, &source, err);
    evaluation_close(&evaluation);
    free(labels);
    return err->code;
}
