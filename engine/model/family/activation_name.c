#include "engine/base/doc.h"
#include "engine/model/family/family.h"

#include <string.h>

enum err_code activation_find(const char *name, const char *key, enum activation *out,
                              struct err *err)
{
    /* Several names share one function: transformers only rounds intermediate values
     * differently. */
    static const struct {
        const char *name;
        enum activation activation;
    } known[] = {{"gelu", ACTIVATION_GELU},
                 {"gelu_python", ACTIVATION_GELU},
                 {"gelu_new", ACTIVATION_GELU_TANH},
                 {"gelu_fast", ACTIVATION_GELU_TANH},
                 {"gelu_accurate", ACTIVATION_GELU_TANH},
                 {"gelu_pytorch_tanh", ACTIVATION_GELU_TANH},
                 {"gelu_python_tanh", ACTIVATION_GELU_TANH},
                 {"relu", ACTIVATION_RELU},
                 {"quick_gelu", ACTIVATION_QUICK_GELU},
                 {"silu", ACTIVATION_SILU},
                 {"swish", ACTIVATION_SILU},
                 {"tanh", ACTIVATION_TANH}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].name, name) == 0) {
            *out = known[i].activation;
            return ERR_OK;
        }
    return err_set(err, ERR_UNSUPPORTED,
                   "%s '%s' is not supported (supported: gelu, gelu_new, relu, silu, tanh and "
                   "quick_gelu, under all names of transformers)",
                   key, name);
}

enum err_code activation_name_read(const struct json_t *config, const char *key,
                                   const char *fallback, enum activation *out, struct err *err)
{
    const char *name = fallback != NULL ? fallback : "gelu";
    if (doc_get_string(config, "$", key, &name, err))
        return err->code;
    return activation_find(name, key, out, err);
}
