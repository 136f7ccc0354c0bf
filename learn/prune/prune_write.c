#include "learn/prune/prune_write.h"

#include "learn/eval/fit/attnd_json.h"
#include "learn/train/checkpoint/export.h"

#include <string.h>

/* Writes attnd.json without temperature, thresholds, OOD score, reference and examples, which were
 * fitted on the answers of another model. */
static enum err_code write_reading(const char *dir, const struct prune_writing *writing,
                                   struct err *err)
{
    struct spec kept = writing->parameters->spec;
    kept.version = writing->version;
    kept.temperature = 1;
    kept.class_prior = (struct class_prior){0};
    kept.reference = NULL;
    kept.precisions = (struct precision_record){0};
    kept.head_file = NULL;
    kept.policy = policy_unfitted(&kept.policy);
    return attnd_json_write(dir, &kept, err);
}

enum err_code prune_write(const char *dir, const struct prune_writing *writing, struct err *err)
{
    const struct export what = {.parameters = writing->parameters,
                                .values = writing->parameters->values,
                                .dtype = strcmp(writing->store, "f16") == 0 ? DTYPE_F16 : DTYPE_F32,
                                .source_dir = writing->source_dir};
    if (export_checkpoint(dir, &what, err))
        return err->code;
    return write_reading(dir, writing, err);
}

enum err_code prune_write_codes(const char *dir, const struct spec *source, struct err *err)
{
    struct arena arena;
    struct spec spec;
    if (source->class_codes == NULL)
        return ERR_OK;
    arena_init(&arena);
    if (!spec_read(&spec, dir, &arena, err)) {
        spec.class_codes = source->class_codes;
        attnd_json_write(dir, &spec, err);
    }
    arena_deinit(&arena);
    return err->code;
}
