#include "learn/train/checkpoint/state.h"

#include "engine/base/file.h"
#include "engine/format/safetensors.h"
#include "engine/format/safetensors_write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char version[] = "2"; /* version 1, of attnd 0.1, has no such member */

/* Each counter is a tensor without dimensions. */
static const struct counter {
    const char *name;
    enum dtype dtype;
    size_t offset; /* in struct state_counters */
} counters[] = {
    {"step", DTYPE_U64, offsetof(struct state_counters, step)},
    {"optimizer_steps", DTYPE_U64, offsetof(struct state_counters, optimizer_steps)},
    {"image_size", DTYPE_U64, offsetof(struct state_counters, image_size)},
    {"best_epoch", DTYPE_U64, offsetof(struct state_counters, best_epoch)},
    {"best_figure", DTYPE_F64, offsetof(struct state_counters, best)},
    {"epoch_loss", DTYPE_F64, offsetof(struct state_counters, epoch_loss)},
    {"epoch_seconds", DTYPE_F64, offsetof(struct state_counters, epoch_seconds)},
    {"epoch_skipped", DTYPE_U64, offsetof(struct state_counters, epoch_skipped)},
};

enum { COUNTERS = sizeof counters / sizeof counters[0], ARRAYS = 5 };
_Static_assert(sizeof(struct state_counters) == COUNTERS * sizeof(uint64_t), "every field");

/* ---- write ---- */

enum err_code state_write(const char *path, const struct state *state, struct err *err)
{
    size_t epochs = state->history.count, n = state->numbers;
    const struct metadata_out metadata[] = {{"format", "attnd-train"},
                                            {"version", version},
                                            {"fingerprint", state->fingerprint},
                                            {state->lines != NULL ? "run" : NULL, state->lines},
                                            {NULL, NULL}};
    const struct tensor_out wide[] = {
        {"history", DTYPE_F64, 2, {epochs, HISTORY_FIELDS}, state->history.epochs},
        {"values", DTYPE_F32, 1, {n}, state->values},
        {"m", DTYPE_F32, 1, {n}, state->m},
        {"v", DTYPE_F32, 1, {n}, state->v},
        {"best", DTYPE_F32, 1, {n}, state->best},
        {"average", DTYPE_F32, 1, {n}, state->average},
    };
    struct tensor_out tensors[COUNTERS + 1 + ARRAYS];
    for (size_t i = 0; i < COUNTERS; i++)
        tensors[i] =
            (struct tensor_out){.name = counters[i].name,
                                .dtype = counters[i].dtype,
                                .values = (const char *)&state->counters + counters[i].offset};
    memcpy(tensors + COUNTERS, wide, sizeof wide);
    return safetensors_write_with(path, tensors, COUNTERS + 1 + ARRAYS - (state->average == NULL),
                                  metadata, err);
}

/* ---- tensors ---- */

/* A tensor of exactly `count` numbers. */
static enum err_code find(const struct safetensors *file, const char *name, size_t count,
                          const struct tensor_info **out, struct err *err)
{
    *out = safetensors_find(file, name);
    if (*out == NULL || (*out)->count != count)
        return err_set(err, ERR_UNSUPPORTED,
                       "the training state has no '%s' of %zu numbers; --restart begins anew", name,
                       count);
    return ERR_OK;
}

static enum err_code read_array(const struct safetensors *file, const char *name, size_t count,
                                float *out, struct err *err)
{
    const struct tensor_info *info;
    if (find(file, name, count, &info, err))
        return err->code;
    return safetensors_read_f32(file, info, 0, count, out, err);
}

/* ---- states of attnd 0.1 ---- */

/* attnd 0.1 wrote fp32 numbers only. A 64-bit word is four digits of 16 bits, each exact in fp32,
 * the lowest first. These files are read but no longer written. */
enum { DIGITS = 4 };

/* The fingerprint has one number for each character. A number that is no character becomes '?',
 * which no fingerprint has. */
static enum err_code read_digit_fingerprint(const struct safetensors *file,
                                            char out[SHA256_HEX_BYTES], struct err *err)
{
    float found[SHA256_HEX_BYTES];
    if (read_array(file, "fingerprint", SHA256_HEX_BYTES, found, err))
        return err->code;
    for (size_t i = 0; i < SHA256_HEX_BYTES; i++) {
        bool is_character = found[i] >= 0 && found[i] <= 0x7F && found[i] == floorf(found[i]);
        out[i] = is_character ? (char)found[i] : '?';
    }
    return ERR_OK;
}

/* words [count] of 64 bits <- digits [count, DIGITS]. */
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

static enum err_code read_digit_words(const struct safetensors *file, const char *name,
                                      size_t count, void *words, struct err *err)
{
    float *digits = calloc(count * DIGITS + 1, sizeof *digits);
    if (digits == NULL)
        return err_no_memory(err, count * DIGITS * sizeof *digits);
    if (!read_array(file, name, count * DIGITS, digits, err))
        from_digits(digits, count, words, err);
    free(digits);
    return err->code;
}

/* ---- read ---- */

static enum err_code check_version(const struct safetensors *file, bool *is_digits, struct err *err)
{
    const char *found = safetensors_metadata(file, "version");
    *is_digits = found == NULL;
    if (found != NULL && strcmp(found, version) != 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "the training state has version '%s', which this program does not read; "
                       "--restart begins anew",
                       printable_name(found).text);
    return ERR_OK;
}

static enum err_code check_fingerprint(const struct safetensors *file, bool is_digits,
                                       const char *fingerprint, struct err *err)
{
    char digits[SHA256_HEX_BYTES];
    const char *found = is_digits ? digits : safetensors_metadata(file, "fingerprint");
    if (is_digits && read_digit_fingerprint(file, digits, err))
        return err->code;
    if (found == NULL)
        return err_set(err, ERR_UNSUPPORTED,
                       "the training state has no fingerprint; --restart begins anew");
    if (strncmp(found, fingerprint, SHA256_HEX_BYTES) != 0)
        return err_set(err, ERR_UNUSABLE,
                       "the training state is of a run with other options or data; go on with "
                       "those, or begin anew with --restart");
    return ERR_OK;
}

static enum err_code read_as(const struct safetensors *file, const char *name, enum dtype dtype,
                             size_t count, void *out, struct err *err)
{
    const struct tensor_info *info;
    if (find(file, name, count, &info, err))
        return err->code;
    if (safetensors_read_as(file, info, dtype, out, err))
        return err_prefix(err, "tensor '%s': ", name);
    return ERR_OK;
}

enum err_code state_read_lines(const char *path, char **lines, struct err *err)
{
    struct safetensors *file;
    *lines = NULL;
    if (safetensors_open(&file, path, err))
        return err_prefix(err, "%s: ", path);
    const char *found = safetensors_metadata(file, "run");
    if (found != NULL && (*lines = strdup(found)) == NULL)
        err_no_memory(err, strlen(found));
    safetensors_close(file);
    return err->code;
}

enum err_code state_read_counters(const char *path, const char *fingerprint, bool *found,
                                  struct state_counters *out, struct err *err)
{
    struct safetensors *file;
    bool is_digits;
    if (file_exists(path, found, err) || !*found)
        return err->code;
    if (safetensors_open(&file, path, err))
        return err_prefix(err, "%s: ", path);
    if (check_version(file, &is_digits, err) ||
        check_fingerprint(file, is_digits, fingerprint, err))
        goto out;
    if (is_digits)
        read_digit_words(file, "counters", COUNTERS, out, err);
    for (size_t i = 0; !is_digits && i < COUNTERS; i++)
        if (read_as(file, counters[i].name, counters[i].dtype, 1, (char *)out + counters[i].offset,
                    err))
            break;
out:
    safetensors_close(file);
    return err->code != ERR_OK ? err_prefix(err, "%s: ", path) : ERR_OK;
}

/* The history has one row an epoch. In the older format a number is DIGITS numbers. Rows [epochs,
 * fields] are moved apart, into whole epochs, in place: fields that they lack are 0. */
static enum err_code read_history(const struct safetensors *file, struct history *out,
                                  struct err *err)
{
    bool is_digits;
    if (check_version(file, &is_digits, err))
        return err->code;
    const struct tensor_info *info = safetensors_find(file, "history");
    bool is_wide = !is_digits && info != NULL && info->rank == 2 &&
                   info->shape[1] >= HISTORY_FIELDS_SECOND && info->shape[1] <= HISTORY_FIELDS;
    size_t fields = is_wide ? info->shape[1] : HISTORY_FIELDS_FIRST;
    size_t row = is_digits ? fields * DIGITS : fields;
    size_t epochs = info != NULL ? info->count / row : 0, words = epochs * fields;
    if (info == NULL || info->count % row != 0 || epochs > HISTORY_EPOCHS_MAX)
        return err_set(err, ERR_UNSUPPORTED, "the training state's history is damaged");
    out->epochs = calloc(epochs + 1, sizeof *out->epochs);
    out->count = (unsigned)epochs;
    if (out->epochs == NULL)
        return err_no_memory(err, epochs * sizeof *out->epochs);
    if (is_digits)
        read_digit_words(file, "history", words, out->epochs, err);
    else
        read_as(file, "history", DTYPE_F64, words, out->epochs, err);
    const double *rows = (const double *)(const void *)out->epochs;
    for (size_t i = out->count; err->code == ERR_OK && i-- > 0;) {
        struct history_epoch epoch = {0};
        memcpy(&epoch, rows + i * fields, fields * sizeof *rows);
        out->epochs[i] = epoch;
    }
    return err->code;
}

enum err_code state_read(const char *path, struct state *state, struct err *err)
{
    struct safetensors *file;
    size_t n = state->numbers;
    if (safetensors_open(&file, path, err))
        return err_prefix(err, "%s: ", path);
    if (read_history(file, &state->history, err) ||
        read_array(file, "values", n, state->values, err) ||
        read_array(file, "m", n, state->m, err) || read_array(file, "v", n, state->v, err) ||
        read_array(file, "best", n, state->best, err) ||
        (state->average != NULL && read_array(file, "average", n, state->average, err)))
        err_prefix(err, "%s: ", path);
    safetensors_close(file);
    return err->code;
}
