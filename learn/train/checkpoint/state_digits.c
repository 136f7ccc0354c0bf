#include "learn/train/checkpoint/state_digits.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static enum err_code read_numbers(const struct safetensors *file, const char *name, size_t count,
                                  float *out, struct err *err)
{
    const struct tensor_info *info = safetensors_find(file, name);
    if (info == NULL || info->count != count)
        return err_set(err, ERR_UNSUPPORTED,
                       "the training state has no '%s' of %zu numbers; --restart begins anew", name,
                       count);
    return safetensors_read_f32(file, info, 0, count, out, err);
}

/* A number that is no character becomes '?', which no fingerprint has. */
enum err_code state_digits_fingerprint(const struct safetensors *file, char out[SHA256_HEX_BYTES],
                                       struct err *err)
{
    float found[SHA256_HEX_BYTES];
    if (read_numbers(file, "fingerprint", SHA256_HEX_BYTES, found, err))
        return err->code;
    for (size_t i = 0; i < SHA256_HEX_BYTES; i++) {
        bool is_character = found[i] >= 0 && found[i] <= 0x7F && found[i] == floorf(found[i]);
        out[i] = is_character ? (char)found[i] : '?';
    }
    return ERR_OK;
}

static enum err_code from_digits(const float *digits, size_t count, void *words, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t word = 0;
        for (unsigned d = 0; d < STATE_DIGITS; d++) {
            float digit = digits[i * STATE_DIGITS + d];
            if (!(digit >= 0 && digit <= 0xFFFF))
                return err_set(err, ERR_UNSUPPORTED, "a counter of the training state is damaged");
            word |= (uint64_t)digit << 16 * d;
        }
        memcpy((char *)words + i * sizeof word, &word, sizeof word);
    }
    return ERR_OK;
}

enum err_code state_digits_words(const struct safetensors *file, const char *name, size_t count,
                                 void *words, struct err *err)
{
    float *digits = calloc(count * STATE_DIGITS + 1, sizeof *digits);
    if (digits == NULL)
        return err_no_memory(err, count * STATE_DIGITS * sizeof *digits);
    if (!read_numbers(file, name, count * STATE_DIGITS, digits, err))
        from_digits(digits, count, words, err);
    free(digits);
    return err->code;
}
