#include "learn/eval/number_reference.h"

#include "learn/eval/fit/attnd_json.h"
#include "learn/eval/fit/reference_fit.h"

#include <stdlib.h>

static enum err_code fit(struct drift_reference *out, const struct number_assessment *assessment,
                         struct arena *arena, struct err *err)
{
    const size_t count = assessment->count;
    float *numbers = calloc(count + 1, sizeof *numbers);
    if (numbers == NULL)
        return err_no_memory(err, count * sizeof *numbers);
    for (size_t i = 0; i < count; i++)
        numbers[i] = (float)assessment->answered[i];
    reference_fit_numbers(out, numbers, count, arena, err);
    free(numbers);
    return err->code;
}

enum err_code number_reference_write(const char *dir, const char *version,
                                     const struct number_assessment *assessment, struct err *err)
{
    struct drift_reference reference;
    struct spec spec;
    struct arena arena;
    if (assessment->outputs > 1)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: a reference is of one number, and the model answers %u", dir,
                       assessment->outputs);
    arena_init(&arena);
    if (!spec_read(&spec, dir, &arena, err) && !fit(&reference, assessment, &arena, err)) {
        spec.reference = &reference;
        spec.version = version != NULL ? version : spec.version;
        attnd_json_write(dir, &spec, err);
    }
    arena_deinit(&arena);
    return err->code;
}
