/* A training state. An input is the file as it stands. If its first byte is 0, it is the numbers of
 * a sound state of digits; if it is 1, of typed numbers. A state that is read is written again. */
#include "learn/train/checkpoint/state.h"

#include "engine/format/safetensors_write.h"
#include "tests/fuzz/driver/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 3, COUNTER_DIGITS = 32, ROW_DIGITS = HISTORY_FIELDS_FIRST * 4, EPOCHS_MAX = 2 };

static const char fingerprint[SHA256_HEX_BYTES] = "0123456789abcdef";

/* Small whole numbers, as digits are; sometimes none. */
static void take_numbers(struct fuzz_input *input, float *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned byte = fuzz_byte(input);
        out[i] = byte == 0xFF ? -1.0f : byte == 0xFE ? 65536.0f : (float)(byte * 257);
    }
}

static void write_digits(struct fuzz_input *input, const char *path)
{
    float print[SHA256_HEX_BYTES], counters[COUNTER_DIGITS], values[NUMBERS],
        history[EPOCHS_MAX * ROW_DIGITS];
    size_t epochs = fuzz_byte(input) % (EPOCHS_MAX + 1);
    struct err err = {0};
    for (size_t i = 0; i < SHA256_HEX_BYTES; i++)
        print[i] = (float)fingerprint[i];
    take_numbers(input, counters, COUNTER_DIGITS);
    take_numbers(input, history, epochs * ROW_DIGITS);
    take_numbers(input, values, NUMBERS);
    const struct tensor_out tensors[] = {
        {"fingerprint", DTYPE_F32, 1, {SHA256_HEX_BYTES}, print},
        {"counters", DTYPE_F32, 1, {COUNTER_DIGITS}, counters},
        {"history", DTYPE_F32, 2, {epochs, ROW_DIGITS}, history},
        {"values", DTYPE_F32, 1, {NUMBERS}, values},
        {"m", DTYPE_F32, 1, {NUMBERS}, values},
        {"v", DTYPE_F32, 1, {NUMBERS}, values},
        {"best", DTYPE_F32, 1, {NUMBERS}, values},
    };
    FUZZ_CLAIM(safetensors_write(path, tensors, 7, "fuzz", &err) == ERR_OK);
}

static void take_bytes(struct fuzz_input *input, void *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ((unsigned char *)out)[i] = fuzz_byte(input);
}

/* Counters and history of any bits. */
static void write_typed(struct fuzz_input *input, const char *path)
{
    struct history_epoch epochs[EPOCHS_MAX];
    float values[NUMBERS];
    struct state state = {
        .values = values, .m = values, .v = values, .best = values, .numbers = NUMBERS};
    struct err err = {0};
    memcpy(state.fingerprint, fingerprint, sizeof fingerprint);
    state.history =
        (struct history){.epochs = epochs, .count = fuzz_byte(input) % (EPOCHS_MAX + 1)};
    take_bytes(input, &state.counters, sizeof state.counters);
    take_bytes(input, epochs, state.history.count * sizeof *epochs);
    take_numbers(input, values, NUMBERS);
    FUZZ_CLAIM(state_write(path, &state, &err) == ERR_OK);
}

static void write_again(const char *path, const struct state *state)
{
    struct state_counters counters;
    bool found = false;
    struct err err = {0};
    FUZZ_CLAIM(state_write(path, state, &err) == ERR_OK);
    FUZZ_CLAIM(state_read_counters(path, fingerprint, &found, &counters, &err) == ERR_OK && found);
    FUZZ_CLAIM(memcmp(&counters, &state->counters, sizeof counters) == 0);
}

static void read_state(const char *path)
{
    float values[NUMBERS], m[NUMBERS], v[NUMBERS], best[NUMBERS];
    struct state state = {.values = values, .m = m, .v = v, .best = best, .numbers = NUMBERS};
    bool found = false;
    struct err err = {0};
    memcpy(state.fingerprint, fingerprint, sizeof fingerprint);
    state_read_counters(path, fingerprint, &found, &state.counters, &err);
    FUZZ_CLAIM(found);
    if (err.code == ERR_OK && state_read(path, &state, &err) == ERR_OK)
        write_again(path, &state);
    fuzz_check_err(&err);
    free(state.history.epochs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    char path[256];
    fuzz_file_remove("state.safetensors"); /* the writer puts another file in its place */
    bool is_file = size == 0 || data[0] > 1;
    snprintf(path, sizeof path, "%s",
             is_file ? fuzz_file("state.safetensors", data, size)
                     : fuzz_file("state.safetensors", "", 0));
    if (!is_file && fuzz_byte(&input) == 0)
        write_digits(&input, path);
    else if (!is_file)
        write_typed(&input, path);
    read_state(path);
    return 0;
}
