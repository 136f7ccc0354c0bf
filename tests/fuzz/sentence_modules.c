/* A sentence-transformers directory. An input is, with a byte 0 between them, modules.json,
 * 1_Pooling/config.json, 2_Dense/config.json, 3_Normalize/config.json,
 * config_sentence_transformers.json and sentence_bert_config.json; an optional one that is empty is
 * absent. Weights are made as the first Dense asks for them, small numbers; a text of three tokens
 * is then embedded. */
#include "engine/model/sentence_pooling.h"

#include "tests/fuzz/driver/fuzz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS_MAX = 4096, LENGTH_BYTES = 8, TOKENS = 3 };

static void put_part(struct fuzz_input *input, const char *name, bool is_optional)
{
    size_t len;
    char *part = fuzz_part(input, '\0', &len);
    if (is_optional && len == 0)
        fuzz_file_remove(name);
    else
        fuzz_file(name, part, len);
    free(part);
}

static void write_directory(struct fuzz_input *input)
{
    put_part(input, "modules.json", false);
    put_part(input, "1_Pooling/config.json", false);
    put_part(input, "2_Dense/config.json", false);
    put_part(input, "3_Normalize/config.json", true);
    put_part(input, "config_sentence_transformers.json", true);
    put_part(input, "sentence_bert_config.json", true);
}

static void check_options(const struct sentence_options *options)
{
    FUZZ_CLAIM(options->prompt_count <= SENTENCE_PROMPTS_MAX);
    for (unsigned i = 0; i < options->prompt_count; i++)
        FUZZ_CLAIM(sentence_prompt_find(options, options->prompts[i].name) != NULL);
    FUZZ_CLAIM(sentence_prompt_find(options, NULL) != NULL);
    FUZZ_CLAIM(sentence_similarity_name(options->similarity) != NULL);
}

/* Checks that each step takes what the one before gives, and that no path leads outside. */
static void check_modules(const struct sentence_modules *modules)
{
    size_t width = (size_t)modules->hidden * modules->pooling.count;
    FUZZ_CLAIM(modules->hidden >= 1 && modules->hidden <= SENTENCE_HIDDEN_MAX);
    FUZZ_CLAIM(modules->pooling.count >= 1 && modules->pooling.count <= SENTENCE_MODES);
    FUZZ_CLAIM(modules->step_count <= SENTENCE_STEPS_MAX);
    FUZZ_CLAIM(modules->transformer_path[0] != '/' && modules->transformer_path[0] != '.');
    for (unsigned i = 0; i < modules->step_count; i++) {
        const struct sentence_step *step = &modules->steps[i];
        FUZZ_CLAIM(step->path[0] != '\0' && step->path[0] != '/' && step->path[0] != '.');
        FUZZ_CLAIM(strstr(step->path, "/.") == NULL && strlen(step->path) <= 200);
        if (step->kind != SENTENCE_DENSE)
            continue;
        FUZZ_CLAIM(step->dense.in == width && step->dense.out >= 1);
        width = step->dense.out;
    }
    FUZZ_CLAIM(modules->width == width);
    check_options(&modules->options);
}

static bool is_small(const struct sentence_modules *modules)
{
    for (unsigned i = 0; i < modules->step_count; i++)
        if (modules->steps[i].kind == SENTENCE_DENSE &&
            (size_t)modules->steps[i].dense.in * modules->steps[i].dense.out > NUMBERS_MAX)
            return false;
    return modules->hidden * modules->pooling.count <= NUMBERS_MAX;
}

static void write_weights(const struct sentence_dense *dense)
{
    enum { HEADER_MAX = 1024 };
    static char file[HEADER_MAX + 8 * NUMBERS_MAX];
    const size_t weight = (size_t)dense->in * dense->out * sizeof(float);
    const size_t bias = dense->has_bias ? dense->out * sizeof(float) : 0;
    char *header = file + LENGTH_BYTES;
    int len = snprintf(header, HEADER_MAX - LENGTH_BYTES,
                       "{\"linear.weight\":{\"dtype\":\"F32\",\"shape\":[%u,%u],"
                       "\"data_offsets\":[0,%zu]}",
                       dense->out, dense->in, weight);
    if (dense->has_bias)
        len += snprintf(header + len, HEADER_MAX - LENGTH_BYTES - (size_t)len,
                        ",\"linear.bias\":{\"dtype\":\"F32\",\"shape\":[%u],"
                        "\"data_offsets\":[%zu,%zu]}",
                        dense->out, weight, weight + bias);
    header[len++] = '}';
    for (int i = 0; i < LENGTH_BYTES; i++)
        file[i] = (char)((uint64_t)len >> 8 * i);
    for (size_t i = 0; i < (weight + bias) / sizeof(float); i++)
        memcpy(header + len + i * sizeof(float), &(float){(float)(i % 7) / 8 - 0.25f},
               sizeof(float));
    fuzz_file("2_Dense/model.safetensors", file, LENGTH_BYTES + (size_t)len + weight + bias);
}

static void embed(const struct sentence_modules *modules)
{
    const size_t states = (size_t)TOKENS * modules->hidden;
    float *x = malloc(states * sizeof *x);
    float *scratch = malloc(sentence_scratch(modules) * sizeof *scratch);
    float *vector = malloc(modules->width * sizeof *vector);
    FUZZ_CLAIM(x != NULL && scratch != NULL && vector != NULL);
    for (size_t i = 0; i < states; i++)
        x[i] = (float)(i % 11) / 4 - 1;
    sentence_embed(vector, modules, &(struct sentence_tokens){x, modules->hidden, 1, TOKENS},
                   scratch);
    for (unsigned i = 0; i < modules->width; i++)
        FUZZ_CLAIM(isfinite(vector[i]));
    free(x);
    free(scratch);
    free(vector);
}

static void load(struct sentence_modules *modules, struct arena *arena, struct err *err)
{
    fuzz_file_remove("2_Dense/model.safetensors");
    for (unsigned i = modules->step_count; i-- > 0;)
        if (modules->steps[i].kind == SENTENCE_DENSE)
            write_weights(&modules->steps[i].dense);
    if (sentence_modules_load(modules, arena, err) == ERR_OK)
        embed(modules);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    struct sentence_modules modules;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    write_directory(&input);
    if (sentence_modules_read(&modules, fuzz_dir(), &arena, &err) == ERR_OK) {
        check_modules(&modules);
        if (is_small(&modules))
            load(&modules, &arena, &err);
    }
    fuzz_check_err(&err);
    arena_deinit(&arena);
    return 0;
}
