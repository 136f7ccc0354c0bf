#include "learn/train/checkpoint/state.h"

#include "engine/base/file.h"
#include "engine/format/safetensors.h"
#include "engine/format/safetensors_write.h"

#include <stdlib.h>
#include <string.h>

enum {
    DIGITS = 4, /* of 16 bits, that a 64-bit word is written in: exact in fp32 */
    WORDS = sizeof(struct state_counters) / sizeof(uint64_t),
    ROW_DIGITS = HISTORY_FIELDS * DIGITS,
};
_Static_assert(sizeof(struct state_counters) == WORDS * sizeof(uint64_t), "only 64-bit fields");

/* ---- 64-bit words as digits ---- */

static void to_digits(const void *words, size_t count, float *digits)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t word;
        memcpy(&word, (const char *)words + i * sizeof word, sizeof word);
        for (unsigned d = 0; d < DIGITS; d++)
            digits[i * DIGITS + d] = (float)(word >> 16 * d & 0xFFFF);
    }
}

static enum err_code from_digits(const float *digits, size_t count, void *words, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t word = 0;
        for (unsigned d = 0; d < DIGITS; d++) {
            float digit = digits[i * DIGITS + d];
            if (!(digit >= 0 && digit <= 0xFFFF))
                return err_set(err, ERR_UNSUPPORTED, "a counter of the training state is damaged");
            word |= (uint64_t)digit << 16 * d;
        }
        memcpy((char *)words + i * sizeof word, &word, sizeof word);
    }
    return ERR_OK;
}

/* ---- write ---- */

enum err_code state_write(const char *path, const struct state *state, struct err *err)
{
    float counters[WORDS * DIGITS], fingerprint[SHA256_HEX_BYTES];
    size_t epochs = state->history.count, n = state->numbers;
    float *history = calloc(epochs * ROW_DIGITS + 1, sizeof *history);
    if (history == NULL)
        return err_no_memory(err, epochs * ROW_DIGITS * sizeof *history);
    to_digits(&state->counters, WORDS, counters);
    to_digits(state->history.epochs, epochs * HISTORY_FIELDS, history);
    for (size_t i = 0; i < SHA256_HEX_BYTES; i++)
        fingerprint[i] = (float)(unsigned char)state->fingerprint[i];
    const struct tensor_out tensors[] = {
        {"fingerprint", DTYPE_F32, 1, {SHA256_HEX_BYTES}, fingerprint},
        {"counters", DTYPE_F32, 1, {WORDS * DIGITS}, counters},
        {"history", DTYPE_F32, 2, {epochs, ROW_DIGITS}, history},
        {"values", DTYPE_F32, 1, {n}, state->values},
        {"m", DTYPE_F32, 1, {n}, state->m},
        {"v", DTYPE_F32, 1, {n}, state->v},
        {"best", DTYPE_F32, 1, {n}, state->best},
        {"average", DTYPE_F32, 1, {n}, state->average},
    };
    size_t count = sizeof tensors / sizeof tensors[0] - (state->average == NULL);
    safetensors_write(path, tensors, count, "attnd-train", err);
    free(history);
    return err->code;
}

/* ---- read ---- */

/* A tensor of exactly `count` numbers. */
static enum err_code read_tensor(const struct safetensors *file, const char *name, size_t count,
                                 float *out, struct err *err)
{
    const struct tensor_info *info = safetensors_find(file, name);
    if (info == NULL || info->count != count)
        return err_set(err, ERR_UNSUPPORTED,
                       "the training state has no '%s' of %zu numbers; --restart begins anew", name,
                       count);
    return safetensors_read_f32(file, info, 0, count, out, err);
}

static enum err_code check_fingerprint(const struct safetensors *file, const char *fingerprint,
                                       struct err *err)
{
    float found[SHA256_HEX_BYTES];
    if (read_tensor(file, "fingerprint", SHA256_HEX_BYTES, found, err))
        return err->code;
    for (size_t i = 0; i < SHA256_HEX_BYTES; i++)
        if (found[i] != (float)(unsigned char)fingerprint[i])
            return err_set(err, ERR_UNUSABLE,
                           "the training state is of a run with other options or data; go on with "
                           "those, or begin anew with --restart");
    return ERR_OK;
}

enum err_code state_read_counters(const char *path, const char *fingerprint, bool *found,
                                  struct state_counters *out, struct err *err)
{
    struct safetensors *file;
    float counters[WORDS * DIGITS];
    if (file_exists(path, found, err) || !*found)
        return err->code;
    if (safetensors_open(&file, path, err))
        return err_prefix(err, "%s: ", path);
    if (!check_fingerprint(file, fingerprint, err) &&
        !read_tensor(file, "counters", WORDS * DIGITS, counters, err))
        from_digits(counters, WORDS, out, err);
    safetensors_close(file);
    return err->code != ERR_OK ? err_prefix(err, "%s: ", path) : ERR_OK;
}

static enum err_code read_history(const struct safetensors *file, struct history *out,
                                  struct err *err)
{
    const struct tensor_info *info = safetensors_find(file, "history");
    size_t count = info != NULL ? info->count : 0, epochs = count / ROW_DIGITS;
    if (info == NULL || count % ROW_DIGITS != 0 || epochs > HISTORY_EPOCHS_MAX)
        return err_set(err, ERR_UNSUPPORTED, "the training state's history is damaged");
    float *digits = calloc(count + 1, sizeof *digits);
    out->epochs = calloc(epochs + 1, sizeof *out->epochs);
    out->count = (unsigned)epochs;
    if (digits == NULL || out->epochs == NULL)
        err_no_memory(err, count * sizeof *digits);
    else if (count > 0 && !safetensors_read_f32(file, info, 0, count, digits, err))
        from_digits(digits, epochs * HISTORY_FIELDS, out->epochs, err);
    free(digits);
    return err->code;
}

enum err_code state_read(const char *path, struct state *state, struct err *err)
{
    struct safetensors *file;
    size_t n = state->numbers;
    if (safetensors_open(&file, path, err))
        return err_prefix(err, "%s: ", path);
    if (read_history(file, &state->history, err) ||
        read_tensor(file, "values", n, state->values, err) ||
        read_tensor(file, "m", n, state->m, err) || read_tensor(file, "v", n, state->v, err) ||
        read_tensor(file, "best", n, state->best, err) ||
        (state->average != NULL && read_tensor(file, "average", n, state->average, err)))
        err_prefix(err, "%s: ", path);
    safetensors_close(file);
    return err->code;
}
