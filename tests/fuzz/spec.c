/* config.json of a checkpoint: an encoder, or an encoder with a decoder. */
#include "engine/model/decoder/pair_spec.h"

#include "tests/fuzz/driver/fuzz.h"

#include <string.h>

/* Rows by distance lie in the table and do not fall; the largest is a text's length less one. */
static void check_distances(const struct disentangled *disentangled, long largest)
{
    unsigned before = 0;
    for (long t = -largest; t <= largest; t++) {
        unsigned row = disentangled_row(disentangled, t);
        FUZZ_CLAIM(row >= before && row < 2 * disentangled->span);
        before = row;
    }
    FUZZ_CLAIM(disentangled_terms(disentangled) >= 2 && disentangled_terms(disentangled) <= 3);
}

/* Checks the sizes that embeddings, shared blocks and relative positions are laid out by. */
static void check_text(const struct spec *spec)
{
    FUZZ_CLAIM(spec->vocab_size >= 1 && spec->positions >= 3);
    FUZZ_CLAIM((spec->token_types >= 1) == (spec->disentangled.span == 0));
    FUZZ_CLAIM(spec_text_tokens(spec) >= 3 && spec_text_tokens(spec) <= spec->positions);
    FUZZ_CLAIM(spec->pad_id < spec->positions && spec_embedding(spec) >= 1);
    FUZZ_CLAIM(spec->buckets == 0 || spec->buckets >= 32);
    if (spec->disentangled.span > 0)
        check_distances(&spec->disentangled, (long)spec_text_tokens(spec) - 1);
    FUZZ_CLAIM(spec_blocks(spec) >= 1 && spec_blocks(spec) <= 1024);
    for (unsigned i = 0; spec->family->is_rotary && i < 2; i++)
        FUZZ_CLAIM(spec->rotary_base[i] >= 1 && spec->hidden / spec->heads % 2 == 0);
    for (unsigned i = 0; i < spec->layers; i++)
        FUZZ_CLAIM(spec_reach(spec, i) <= 32768);
    for (unsigned i = 0; i < spec->layers; i++)
        FUZZ_CLAIM(spec_block(spec, i) < spec_blocks(spec));
}

/* Stages follow each other, and windows divide every grid. */
static void check_stages(const struct spec *spec)
{
    unsigned layers = 0;
    const struct stage_config *stages = spec->stages;
    if (stages == NULL)
        return;
    FUZZ_CLAIM(stages->count >= 1 && stages->count <= STAGES_MAX && stages->window >= 2);
    for (unsigned i = 0; i < stages->count; i++) {
        const struct spec stage = spec_at(spec, i);
        FUZZ_CLAIM(spec_first_layer(&stage) == layers && spec_end_layer(&stage) > layers);
        FUZZ_CLAIM(stage.hidden % stage.heads == 0 && stage.intermediate >= 1);
        const struct spec_grid grid = spec_grid(&stage);
        FUZZ_CLAIM(grid.image.width == grid.across * stages->window);
        FUZZ_CLAIM(i == 0 || stage.patches * 4 == spec_at(spec, i - 1).patches);
        layers = spec_end_layer(&stage);
    }
    FUZZ_CLAIM(layers == spec->layers);
}

static void check_encoder(const struct spec *spec)
{
    FUZZ_CLAIM(spec->heads >= 1 && spec->hidden % spec->heads == 0 && spec->layers >= 1);
    FUZZ_CLAIM(spec->intermediate >= 1 && spec->norm_eps >= 0 && spec->norm_eps <= 1);
}

static void check_sizes(const struct spec *spec)
{
    check_encoder(spec);
    FUZZ_CLAIM(spec->family->is_zero_shot || spec->sentence != NULL || spec->label_count >= 1);
    FUZZ_CLAIM(spec->sentence == NULL || spec->sentence->width >= 1);
    FUZZ_CLAIM(spec->label_count <= SPEC_LABELS_MAX);
    for (unsigned i = 0; i < spec->label_count; i++)
        FUZZ_CLAIM(spec->labels[i] != NULL && strlen(spec->labels[i]) < SIZE_MAX);
    if (spec->family->kind == ENGINE_TEXT)
        check_text(spec);
    else
        FUZZ_CLAIM(spec->patch.height >= 1 && spec->patch.width >= 1 && spec->patches >= 1 &&
                   spec->channels == 3);
    check_stages(spec);
    FUZZ_CLAIM(spec->intermediate <= 4 * 65536 && spec->registers <= 1024);
    FUZZ_CLAIM(spec_features(spec) >= (spec->projection > 0 ? 1 : spec->hidden));
}

/* Every setting that the preprocessor may ask for. */
static void check_fit(struct spec *spec, struct extent image_size)
{
    struct err err = {0};
    unsigned places = spec_places(spec);
    if (spec->family->kind != ENGINE_IMAGE || spec_fit_image_size(spec, image_size, &err))
        return;
    FUZZ_CLAIM(spec_places(spec) == places);
    FUZZ_CLAIM(spec_image_tokens(spec) == spec->patches + spec_image_specials(spec));
}

/* Sizes that tensors and tables of one side are laid out by. */
static void check_side(const struct spec *spec)
{
    FUZZ_CLAIM(spec->heads >= 1 && spec->layers >= 1 && spec->layers <= 1024);
    FUZZ_CLAIM(spec_head_width(spec) >= 1 && spec_heads_width(spec) <= 65536);
    FUZZ_CLAIM(spec->intermediate >= 1 && spec->norm_eps > 0 && spec->hidden >= 1);
    if (spec->family->kind == ENGINE_IMAGE)
        return;
    FUZZ_CLAIM(spec->vocab_size >= 1 && spec->positions <= 3 * 65536);
    FUZZ_CLAIM(spec_text_tokens(spec) >= 3);
    FUZZ_CLAIM(spec->family->positions != POSITION_PAST_PAD || spec->pad_id + 1 < spec->positions);
    FUZZ_CLAIM(spec->buckets == spec->relative.count);
    for (long t = -1000; spec->buckets > 0 && t <= 1000; t++)
        FUZZ_CLAIM(relative_bias_bucket(&spec->relative, t * 131) < spec->buckets);
}

static void check_pair(const struct spec *source, const struct spec *target)
{
    check_side(source);
    check_side(target);
    FUZZ_CLAIM(source->head == HEAD_STATES && target->head == HEAD_WORDS);
    FUZZ_CLAIM(target->source == source->hidden && target->family->block.is_decoder);
    FUZZ_CLAIM(!spec_shares_words(target) ||
               (target->hidden == source->hidden && target->vocab_size == source->vocab_size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct spec spec, target;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    fuzz_file("config.json", data, size);
    if (spec_read(&spec, fuzz_dir(), &arena, &err) == ERR_OK) {
        check_sizes(&spec);
        const unsigned height = size > 0 ? data[0] * 64u : 0;
        check_fit(&spec, (struct extent){height, size > 1 ? data[1] * 64u : height});
    }
    fuzz_check_err(&err);
    err = (struct err){0};
    if (spec_read_texts(&spec, &(struct spec){0}, fuzz_dir(), &err) == ERR_OK &&
        spec.family != NULL) {
        check_encoder(&spec);
        check_text(&spec);
    }
    fuzz_check_err(&err);
    err = (struct err){0};
    if (pair_spec_read(&spec, &target, fuzz_dir(), &err) == ERR_OK)
        check_pair(&spec, &target);
    fuzz_check_err(&err);
    arena_deinit(&arena);
    return 0;
}
