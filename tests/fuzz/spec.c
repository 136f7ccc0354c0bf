/* config.json of a checkpoint. */
#include "engine/model/spec.h"

#include "tests/fuzz/driver/fuzz.h"

#include <string.h>

/* What embeddings, shared blocks and relative positions are laid out by. */
static void check_text(const struct spec *spec)
{
    FUZZ_CLAIM(spec->vocab_size >= 1 && spec->positions >= 3 && spec->token_types >= 1);
    FUZZ_CLAIM(spec_text_tokens(spec) >= 3 && spec_text_tokens(spec) <= spec->positions);
    FUZZ_CLAIM(spec->pad_id < spec->positions && spec_embedding(spec) >= 1);
    FUZZ_CLAIM(spec->buckets == 0 || spec->buckets >= 32);
    FUZZ_CLAIM(spec_blocks(spec) >= 1 && spec_blocks(spec) <= 1024);
    for (unsigned i = 0; i < spec->layers; i++)
        FUZZ_CLAIM(spec_block(spec, i) < spec_blocks(spec));
}

static void check_sizes(const struct spec *spec)
{
    FUZZ_CLAIM(spec->heads >= 1 && spec->hidden % spec->heads == 0 && spec->layers >= 1);
    FUZZ_CLAIM(spec->intermediate >= 1 && spec->norm_eps >= 0 && spec->norm_eps <= 1);
    FUZZ_CLAIM(spec->label_count >= 1 && spec->label_count <= SPEC_LABELS_MAX);
    for (unsigned i = 0; i < spec->label_count; i++)
        FUZZ_CLAIM(spec->labels[i] != NULL && strlen(spec->labels[i]) < SIZE_MAX);
    if (spec->family->kind == ENGINE_TEXT)
        check_text(spec);
    else
        FUZZ_CLAIM(spec->patch >= 1 && spec->patches >= 1 && spec->channels == 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct spec spec;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    fuzz_file("config.json", data, size);
    if (spec_read(&spec, fuzz_dir(), &arena, &err) == ERR_OK)
        check_sizes(&spec);
    fuzz_check_err(&err);
    arena_deinit(&arena);
    return 0;
}
