/* measure.c - engine_measure: what a checkpoint costs, before anything of it is loaded. A process
 * that would not fit into its memory must report that instead of being killed while it loads. */
#include "engine/engine_rules.h"
#include "engine/engine_state.h"

#include "engine/format/checkpoint.h"
#include "engine/model/bias/relative_bias.h"
#include "engine/model/bias/window_bias.h"
#include "engine/model/config/candidates.h"
#include "engine/model/decoder/pair_spec.h"
#include "engine/model/family_tensors.h"
#include "engine/model/head_parts.h"
#include "engine/model/relative_tables.h"
#include "engine/model/workspace.h"
#include "engine/prepare/pipeline.h"
#include "engine/tensor/gemm/operand.h"
#include "engine/tensor/rotary.h"
#include "engine/text/tokenizer.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The precisions that are measured: the most that one of them takes counts. */
struct precisions {
    enum precision first, last;
    const char *backend; /* of the options */
};

/* Returns the backend of the encoder; a precision that has none is refused when it is opened. */
static const struct linear_backend *encoder_of(const struct precisions *precisions,
                                               enum precision p)
{
    const struct linear_backend *encoder = linear_backend_find(precisions->backend, p);
    return encoder != NULL ? encoder : &linear_native[p];
}

/* Adds the numbers of the blocks' linear layers, and their bytes with rows as held. */
static void count_linear(const struct spec *spec, const struct linear_backend *encoder,
                         size_t *linear, size_t *bytes)
{
    struct tensor_walk walk = {.spec = spec, .head = spec->head};
    for (struct tensor_row row; family_tensors_next(&walk, &row);)
        if (row.part == TENSOR_WEIGHT && row.depth > 0 && !row.is_of_head) {
            const struct linear_backend *backend = workspace_backend(spec, encoder, row.field);
            *linear += row.count;
            *bytes += row.shape[0] * linear_held_row(backend, row.count / row.shape[0]) *
                      precision_bytes(backend->precision);
        }
}

/* Returns the numbers that the word embedding saves by its 16 bits: half of them. */
static size_t saved_numbers(const struct spec *spec, const struct checkpoint *checkpoint)
{
    struct tensor_walk walk = {.spec = spec, .head = spec->head};
    for (struct tensor_row row; family_tensors_next(&walk, &row);) {
        const struct tensor_info *info = family_tensors_find(
            &row, checkpoint, spec->head == HEAD_EMBEDDING ? spec->family : NULL);
        if (row.field == TENSOR_WORD && info != NULL && info->bytes < info->count * sizeof(float))
            return info->count / 2;
    }
    return 0;
}

/* Numbers of the tables by distance: one for all layers, or one for each. */
static size_t bias_numbers(const struct spec *spec)
{
    const bool has_own = spec->family->tensors[TENSOR_LAYER_BIAS] != NULL;
    return spec->buckets == 0 ? 0
                              : (has_own ? spec->layers : 1) *
                                    relative_bias_floats(spec->heads, spec_text_tokens(spec));
}

/* Counts every number of the file, and of an embedding's Dense, as fp32, but the linear layers of
 * the blocks in their precision, with rows as it holds them; a part for whole panels and what is
 * kept beside them (scales, the arena's blocks). target: the decoder of a model that writes, or
 * NULL. */
static size_t weight_bytes(const struct spec *spec, const struct spec *target,
                           const struct checkpoint *checkpoint,
                           const struct linear_backend *encoder)
{
    enum { ROUNDING_SHARE = 32, ROUNDING_BYTES = 1 << 20 };
    const bool has_windows = spec->family->tensors[TENSOR_WINDOW_BIAS] != NULL;
    size_t numbers = 0, linear = 0, linear_bytes = 0;
    count_linear(spec, encoder, &linear, &linear_bytes);
    if (target != NULL) {
        count_linear(target, encoder, &linear, &linear_bytes);
        numbers += ((size_t)target->vocab_size + 64) * (target->hidden + 64); /* packed output */
        numbers += bias_numbers(target);
    }
    for (size_t i = 0; i < checkpoint_count(checkpoint); i++)
        numbers += checkpoint_at(checkpoint, i)->count;
    numbers -= saved_numbers(spec, checkpoint);
    linear = linear < numbers ? linear : numbers;
    if (spec->sentence != NULL)
        numbers += sentence_modules_numbers(spec->sentence);
    if (spec->head == HEAD_FILL || spec->head == HEAD_SPARSE) /* packed word embedding, and texts */
        numbers += ((size_t)spec->vocab_size + 64) * (spec->hidden + 64);
    for (unsigned i = 0; i < spec->layers && has_windows; i++) { /* spread out for all pairs */
        const struct spec at = spec_at(spec, spec_stage_of(spec, i));
        const struct window_bias shape = spec_window_bias(&at, i);
        numbers += window_bias_floats(&shape);
    }
    numbers += bias_numbers(spec);
    if (spec->disentangled.span > 0)
        numbers += relative_tables_floats(spec);
    if (spec->family->is_rotary)
        numbers += 2 * rotary_floats(spec_text_tokens(spec), spec->hidden / spec->heads);
    const size_t bytes = (numbers - linear) * sizeof(float) + linear_bytes;
    return bytes + bytes / ROUNDING_SHARE + ROUNDING_BYTES;
}

/* The tokenizer itself is opened, as it will be for serving: its vocabulary is small. */
static enum err_code tokenizer_measure(const struct spec *spec, const char *dir, size_t *bytes,
                                       unsigned *longest, struct err *err)
{
    struct tokenizer *tokenizer;
    *bytes = 0;
    *longest = 0;
    if (spec->family->kind == ENGINE_IMAGE) {
        *longest = spec_image_tokens(spec);
        return ERR_OK;
    }
    if (tokenizer_open(&tokenizer, dir, spec_tokens_max(spec), err))
        return err->code;
    *bytes = tokenizer_bytes(tokenizer);
    *longest = tokenizer->limit;
    tokenizer_close(tokenizer);
    return ERR_OK;
}

/* attnd.json is not parsed for its size alone: that takes as long as loading a small model. Its
 * arrays hold a float for at least two characters, and each label has a code and a threshold. */
static size_t attnd_bytes(const struct spec *spec, const char *dir)
{
    enum { LABEL_BYTES = 64 };
    char path[PATH_MAX];
    struct stat file;
    if ((size_t)snprintf(path, sizeof path, "%s/attnd.json", dir) >= sizeof path ||
        stat(path, &file) != 0)
        return 0;
    return (size_t)file.st_size / 2 * sizeof(float) + spec->label_count * (size_t)LABEL_BYTES;
}

/* Labels of attnd.json: as many as may be there. */
static unsigned own_labels(const struct spec *spec, size_t attnd_bytes)
{
    if (!spec_is_zero_shot(spec))
        return spec->label_count;
    return attnd_bytes > 0 ? CANDIDATES_MAX : 0;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Adds what reads texts beside images: of an embedding it is a part of each session; of a zero-shot
 * model it encodes labels beside the workers, which become a classifier, twice. */
static enum err_code measure_texts(struct engine_cost *out, const struct spec *images,
                                   const char *dir, struct precisions precisions,
                                   unsigned batch_tokens_max, unsigned threads, struct err *err)
{
    struct spec spec;
    size_t bytes;
    unsigned longest;
    if (!images->family->is_zero_shot)
        return ERR_OK;
    if (spec_read_texts(&spec, images, dir, err) ||
        tokenizer_measure(&spec, dir, &bytes, &longest, err))
        return err->code;
    if (!spec_is_zero_shot(images)) {
        const unsigned tokens = batch_tokens_max > longest ? batch_tokens_max : longest;
        size_t most = 0;
        for (enum precision p = precisions.first; p <= precisions.last; p++)
            most =
                larger(most, workspace_bytes(&spec, encoder_of(&precisions, p), tokens, threads));
        out->session_bytes += most;
        out->model_bytes += bytes;
        return ERR_OK;
    }
    longest = longest > LABELLER_TOKENS ? longest : LABELLER_TOKENS;
    out->labeller_bytes = workspace_bytes(&spec, &linear_native[PRECISION_F32], longest, 1);
    out->model_bytes += bytes + 2 * (size_t)out->label_count * images->projection * sizeof(float);
    return ERR_OK;
}

/* Adds the decoder's part of a session, and its tokenizer. */
static enum err_code measure_target(struct engine_cost *out, const struct spec *target,
                                    const char *dir, unsigned source_tokens,
                                    struct precisions precisions, unsigned threads, struct err *err)
{
    const struct decoder_sizes sizes = engine_decoder_sizes(target, source_tokens);
    struct tokenizer *tokenizer;
    size_t most = 0;
    if (tokenizer_open_target(&tokenizer, dir, spec_tokens_max(target), err))
        return err->code;
    for (enum precision p = precisions.first; p <= precisions.last; p++)
        most = larger(most,
                      decoder_workspace_bytes(target, encoder_of(&precisions, p), &sizes, threads));
    out->session_bytes += most;
    out->model_bytes += tokenizer_bytes(tokenizer) +
                        2 * tokenizer_additions_bytes(tokenizer, target->vocab_size) +
                        engine_rules_checksum_bytes();
    tokenizer_close(tokenizer);
    return ERR_OK;
}

/* target: the decoder of a model that writes, or NULL. */
static enum err_code measure(struct engine_cost *out, const struct spec *spec,
                             const struct spec *target, const char *dir,
                             struct precisions precisions, unsigned batch_tokens_max,
                             unsigned threads, struct err *err)
{
    struct checkpoint *checkpoint;
    size_t bytes;
    unsigned tokens, longest;
    if (tokenizer_measure(spec, dir, &bytes, &longest, err) ||
        checkpoint_open(&checkpoint, dir, err))
        return err->code;
    if (weights_check(spec, checkpoint, err) ||
        (target != NULL && weights_check(target, checkpoint, err))) {
        checkpoint_close(checkpoint);
        return err->code;
    }
    tokens = batch_tokens_max > longest ? batch_tokens_max : longest;
    for (enum precision p = precisions.first; p <= precisions.last; p++) {
        out->model_bytes = larger(
            out->model_bytes, weight_bytes(spec, target, checkpoint, encoder_of(&precisions, p)));
        out->session_bytes = larger(
            out->session_bytes, workspace_bytes(spec, encoder_of(&precisions, p), tokens, threads));
    }
    out->model_bytes += bytes + attnd_bytes(spec, dir) + head_parts_bytes(dir);
    out->label_count = own_labels(spec, attnd_bytes(spec, dir));
    checkpoint_close(checkpoint);
    if (target != NULL)
        return measure_target(out, target, dir, longest, precisions, threads, err);
    return measure_texts(out, spec, dir, precisions, batch_tokens_max, threads, err);
}

enum err_code engine_measure(struct engine_cost *out, const char *dir,
                             const struct engine_options *options, unsigned batch_tokens_max,
                             unsigned threads, struct err *err)
{
    const char *dtype = options->dtype != NULL ? options->dtype : "f32";
    const bool is_auto = strcmp(dtype, "auto") == 0;
    const bool writes = options->writes_texts && pair_spec_is(dir);
    struct spec spec, target;
    struct arena arena;
    struct precisions precisions = {PRECISION_F32, PRECISION_COUNT - 1, options->linear_backend};
    *out = (struct engine_cost){0};
    if (!is_auto && !precision_find(dtype, &precisions.first))
        return err_set(err, ERR_UNSUPPORTED,
                       "dtype '%s' is not known (known: f32, bf16, int8, auto)", dtype);
    arena_init(&arena);
    if (writes)
        pair_spec_read(&spec, &target, dir, err);
    else
        (is_auto ? spec_read : spec_read_config)(&spec, dir, &arena, err);
    if (err->code == ERR_OK && !pipeline_fit(&spec, dir, err)) {
        spec.token_pruning.full_layers = 1; /* attnd.json, if not read, may leave tokens out */
        if (is_auto && spec.precisions.is_pinned)
            precisions.first = spec.precisions.pinned;
        if (!is_auto || spec.precisions.is_pinned)
            precisions.last = precisions.first;
        if (!measure(out, &spec, writes ? &target : NULL, dir, precisions, batch_tokens_max,
                     threads, err))
            out->model_bytes += arena.bytes;
    }
    arena_deinit(&arena);
    return err->code;
}
