/* A whole checkpoint directory. An input is, with a byte 0 between them, config.json, the index
 * (empty: none), and JSON headers of up to three weight files: model.safetensors or a.safetensors,
 * then b.safetensors, then c.safetensors. The tensors' bytes are made as the headers ask for them,
 * small numbers. A model that opens is run once. */
#include "engine/engine.h"

#include "engine/base/doc.h"
#include "tests/fuzz/driver/fuzz.h"
#include "tests/support/run_logits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_BYTES = 8, DATA_MAX = 32 * 1024, TOKENS_MAX = 64, WORK_MAX = 1 << 16 };

static enum err_code see_entry(void *context, const char *key, const struct json_t *value,
                               struct err *err)
{
    size_t *end = context;
    long long offset = 0;
    (void)key, (void)err;
    doc_as_integer(doc_array_item(doc_member(value, "data_offsets"), 1), &offset);
    if (offset > 0 && offset <= DATA_MAX && (size_t)offset > *end)
        *end = (size_t)offset;
    return ERR_OK;
}

/* End of the last tensor; 0 if the header does not tell it. */
static size_t data_bytes(const char *header, size_t len)
{
    static const struct doc_limits limits = {.depth_max = 4, .tokens_max = 4096};
    struct json_t *root = NULL;
    struct err err = {0};
    size_t end = 0;
    if (doc_parse(&root, header, len, &limits, &err) == ERR_OK)
        doc_each_member(root, see_entry, &end, &err);
    doc_free(root);
    return end;
}

/* Numbers that are small in fp32 as in fp16. */
static void write_weights(const char *name, const char *header, size_t len)
{
    size_t data = data_bytes(header, len);
    char *file = malloc(LENGTH_BYTES + len + data);
    FUZZ_CLAIM(file != NULL);
    for (int i = 0; i < LENGTH_BYTES; i++)
        file[i] = (char)(len >> 8 * i);
    memcpy(file + LENGTH_BYTES, header, len);
    for (size_t i = 0; i < data; i++)
        file[LENGTH_BYTES + len + i] = (char)(i % 2 == 0 ? i * 37 : 0x3C | (i & 0x80));
    fuzz_file(name, file, LENGTH_BYTES + len + data);
    free(file);
}

static void write_directory(struct fuzz_input *input)
{
    static const char vocab[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n##b\n";
    static const char *const shards[] = {"a.safetensors", "b.safetensors", "c.safetensors"};
    size_t len;
    char *part = fuzz_part(input, '\0', &len);
    fuzz_file("config.json", part, len);
    free(part);
    part = fuzz_part(input, '\0', &len);
    bool indexed = len > 0;
    if (indexed)
        fuzz_file("model.safetensors.index.json", part, len);
    else
        fuzz_file_remove("model.safetensors.index.json");
    free(part);
    fuzz_file_remove("model.safetensors");
    for (unsigned i = 0; i < 3; i++) {
        part = fuzz_part(input, '\0', &len);
        if (i == 0 || indexed)
            write_weights(indexed ? shards[i] : "model.safetensors", part, len);
        free(part);
    }
    fuzz_file("vocab.txt", vocab, strlen(vocab));
}

static enum err_code prepare(const struct engine_model *model, struct arena *arena,
                             struct engine_input *input, struct err *err)
{
    static const unsigned char png[] = {
        0x89, 'P',  'N',  'G',  '\r', '\n', 0x1A, '\n', 0,    0,    0,    13,   'I',  'H',
        'D',  'R',  0,    0,    0,    1,    0,    0,    0,    1,    8,    0,    0,    0,
        0,    0x3A, 0x7E, 0x9B, 0x55, 0,    0,    0,    10,   'I',  'D',  'A',  'T',  0x78,
        0x9C, 0x63, 0x60, 0,    0,    0,    2,    0,    1,    0x48, 0xAF, 0xA4, 0x71, 0,
        0,    0,    0,    'I',  'E',  'N',  'D',  0xAE, 0x42, 0x60, 0x82};
    if (engine_describe(model)->kind == ENGINE_TEXT)
        return engine_prepare(
            model, &(struct engine_source){.kind = ENGINE_TEXT, .bytes = "a ab", .len = 4}, NULL,
            arena, input, err);
    return engine_prepare(
        model,
        &(struct engine_source){
            .kind = ENGINE_IMAGE, .bytes = png, .len = sizeof png, .pixels_max = 16},
        NULL, arena, input, err);
}

static void run(const struct engine_model *model)
{
    const struct engine_info *info = engine_describe(model);
    struct engine_session *session = NULL;
    struct engine_input input;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    float *logits = arena_alloc_array(&arena, info->label_count, sizeof *logits);
    FUZZ_CLAIM(prepare(model, &arena, &input, &err) == ERR_OK);
    FUZZ_CLAIM(engine_session_open(&session, model, TOKENS_MAX, 1, &err) == ERR_OK);
    run_logits_one(session, &input, logits);
    engine_session_close(session);
    arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct engine_options options = {.linear_backend = "reference", .load_threads = 1};
    struct fuzz_input input = {data, size};
    struct engine_model *model;
    struct err err = {0};
    write_directory(&input);
    if (engine_open(&model, fuzz_dir(), &options, &err) == ERR_OK) {
        const struct engine_info *info = engine_describe(model);
        size_t work = (size_t)info->tokens_max * info->layers *
                      (info->hidden_size + info->intermediate_size + info->tokens_max);
        if (work <= WORK_MAX && info->image_width <= 64)
            run(model);
    }
    fuzz_check_err(&err);
    engine_close(model);
    return 0;
}
