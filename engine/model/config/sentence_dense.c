#include "engine/model/config/sentence_dense.h"

#include "engine/format/checkpoint.h"

#include <string.h>

#define WEIGHT_NAME "linear.weight"
#define BIAS_NAME "linear.bias"

/* ---- description ---- */

static enum err_code read_size(const struct json_t *object, const char *key, unsigned *out,
                               struct err *err)
{
    long long size = 0;
    if (doc_get_integer(object, "$", key, 1, SENTENCE_DENSE_MAX, &size, err))
        return err->code;
    if (size == 0)
        return err_set(err, ERR_UNSUPPORTED, "$.%s is missing", key);
    *out = (unsigned)size;
    return ERR_OK;
}

/* The class's name is the last part of a path in torch. A class of another package of the same name
 * may compute something else. */
static enum err_code read_activation(const struct json_t *object, enum sentence_activation *out,
                                     struct err *err)
{
    static const char *const names[SENTENCE_ACTIVATIONS] = {
        [SENTENCE_IDENTITY] = "Identity", [SENTENCE_TANH] = "Tanh", [SENTENCE_RELU] = "ReLU",
        [SENTENCE_GELU] = "GELU",         [SENTENCE_SILU] = "SiLU", [SENTENCE_SIGMOID] = "Sigmoid",
    };
    static const char package[] = "torch.nn.";
    const char *path = "torch.nn.Tanh"; /* Dense's default */
    if (doc_has_null(object, "activation_function"))
        return err_set(err, ERR_UNUSABLE, "$.activation_function: expected a string, found null");
    if (doc_get_string(object, "$", "activation_function", &path, err))
        return err->code;
    const char *dot = strrchr(path, '.');
    for (int i = 0; i < SENTENCE_ACTIVATIONS; i++)
        if (dot != NULL && strncmp(path, package, sizeof package - 1) == 0 &&
            strcmp(dot + 1, names[i]) == 0) {
            *out = (enum sentence_activation)i;
            return ERR_OK;
        }
    return err_set(err, ERR_UNSUPPORTED,
                   "$.activation_function '%s' is not supported (supported: Identity, Tanh, ReLU, "
                   "GELU, SiLU, Sigmoid of torch.nn)",
                   printable_name(path).text);
}

enum err_code sentence_dense_read(struct sentence_dense *out, const struct json_t *object,
                                  struct err *err)
{
    static const char known[] = "in_features, out_features, bias, activation_function, "
                                "module_input_name, module_output_name, use_residual";
    bool is_residual = false;
    *out = (struct sentence_dense){.has_bias = true};
    if (doc_check_members(object, "$", known, err) ||
        read_size(object, "in_features", &out->in, err) ||
        read_size(object, "out_features", &out->out, err) ||
        doc_get_bool(object, "$", "bias", &out->has_bias, err) ||
        read_activation(object, &out->activation, err) ||
        doc_expect_string(object, "$", "module_input_name", SENTENCE_VECTOR, err) ||
        doc_expect_string(object, "$", "module_output_name", SENTENCE_VECTOR, err) ||
        doc_get_bool(object, "$", "use_residual", &is_residual, err))
        return err->code;
    if (is_residual)
        return err_set(err, ERR_UNSUPPORTED,
                       "$.use_residual true is not supported (supported: false)");
    return ERR_OK;
}

/* ---- weights ---- */

struct wanted {
    const char *name;
    unsigned rank;
    size_t shape[2];
    const struct tensor_info *info;
};

static enum err_code find(struct wanted *wanted, const struct checkpoint *checkpoint,
                          struct err *err)
{
    const struct tensor_info *info = checkpoint_find(checkpoint, wanted->name);
    if (info == NULL)
        return err_set(err, ERR_UNSUPPORTED, "tensor '%s' is missing", wanted->name);
    if (info->rank != wanted->rank ||
        memcmp(info->shape, wanted->shape, wanted->rank * sizeof *wanted->shape) != 0)
        return err_set(err, ERR_UNSUPPORTED,
                       wanted->rank == 2 ? "tensor '%s' must have the shape [%zu, %zu], as "
                                           "config.json says"
                                         : "tensor '%s' must have the shape [%zu], as config.json "
                                           "says",
                       wanted->name, wanted->shape[0], wanted->shape[1]);
    wanted->info = info;
    return checkpoint_check_f32(checkpoint, info, err);
}

/* The package, too, refuses a tensor that no parameter takes. */
static enum err_code refuse_others(const struct checkpoint *checkpoint, bool has_bias,
                                   struct err *err)
{
    for (size_t i = 0; i < checkpoint_count(checkpoint); i++) {
        const char *name = checkpoint_at(checkpoint, i)->name;
        if (strcmp(name, WEIGHT_NAME) != 0 && !(has_bias && strcmp(name, BIAS_NAME) == 0))
            return err_set(err, ERR_UNSUPPORTED, "tensor '%s' is not supported (supported: %s)",
                           printable_name(name).text,
                           has_bias ? WEIGHT_NAME ", " BIAS_NAME : WEIGHT_NAME);
    }
    return ERR_OK;
}

static enum err_code read_tensor(const struct wanted *wanted, const struct checkpoint *checkpoint,
                                 struct arena *arena, const float **out, struct err *err)
{
    const size_t bytes = memory_product(wanted->info->count, sizeof(float));
    float *numbers = arena_alloc(arena, bytes);
    if (numbers == NULL)
        return err_no_memory(err, bytes);
    if (checkpoint_read_f32(checkpoint, wanted->info, 0, wanted->info->count, numbers, err))
        return err->code;
    *out = numbers;
    return ERR_OK;
}

enum err_code sentence_dense_load(struct sentence_dense *dense, const char *dir,
                                  struct arena *arena, struct err *err)
{
    struct wanted weight = {.name = WEIGHT_NAME, .rank = 2, .shape = {dense->out, dense->in}};
    struct wanted bias = {.name = BIAS_NAME, .rank = 1, .shape = {dense->out}};
    struct checkpoint *checkpoint;
    if (checkpoint_open(&checkpoint, dir, err))
        return err->code;
    if (find(&weight, checkpoint, err) || (dense->has_bias && find(&bias, checkpoint, err)) ||
        refuse_others(checkpoint, dense->has_bias, err) ||
        read_tensor(&weight, checkpoint, arena, &dense->weight, err))
        goto out;
    if (dense->has_bias)
        read_tensor(&bias, checkpoint, arena, &dense->bias, err);
out:
    checkpoint_close(checkpoint);
    return err->code;
}
