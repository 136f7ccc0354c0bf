#include "learn/eval/calibrate.h"

#include <stdlib.h>

enum err_code known_inputs_open(struct known_inputs *out, const struct engine_model *model,
                                const char *path, const struct dataset_options *fields,
                                struct err *err)
{
    const struct engine_info *info = engine_describe(model);
    *out = (struct known_inputs){0};
    if (dataset_open(&out->dataset, path, fields, err))
        return err->code;
    out->classes = calloc(out->dataset.count, sizeof *out->classes);
    if (out->classes == NULL)
        return err_no_memory(err, out->dataset.count * sizeof *out->classes);
    if (dataset_match(&out->dataset, info->labels, info->label_count, out->classes, err))
        return err_prefix(err, "%s: ", path);
    return ERR_OK;
}

enum err_code known_inputs_run(struct known_inputs *known, const struct engine_model *model,
                               const struct evaluation_options *how, struct err *err)
{
    struct evaluation_options options = *how;
    options.features = true;
    return evaluation_run(&known->evaluation, model, &known->dataset, &options, err);
}

void known_inputs_close(struct known_inputs *known)
{
    evaluation_close(&known->evaluation);
    dataset_close(&known->dataset);
    free(known->classes);
    *known = (struct known_inputs){0};
}
