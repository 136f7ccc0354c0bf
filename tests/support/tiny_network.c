#include "tests/support/tiny_network.h"

#include "engine/base/rng.h"
#include "tests/support/numbers.h"

#include <check.h>

#include <stdlib.h>
#include <string.h>

enum { VOCAB = 30, PATCH = 3, TEXT_TOKENS = 9 };

static const char *const labels[TINY_LABELS] = {"a", "b", "c"};

static void fill_spec(struct spec *spec, const char *model_type, const struct pruned_heads *pruned)
{
    *spec = (struct spec){.family = family_find(model_type, NULL),
                          .layers = TINY_LAYERS,
                          .heads = TINY_HEADS,
                          .hidden = TINY_HIDDEN,
                          .intermediate = TINY_COLUMNS,
                          .activation = ACTIVATION_GELU,
                          .norm_eps = 1e-6f,
                          .qkv_bias = true,
                          .labels = (const char **)(size_t)labels,
                          .label_count = TINY_LABELS,
                          .temperature = 1};
    if (pruned != NULL)
        spec->pruned = *pruned;
    spec->is_gated = spec->family->block.gates_by_activation;
    if (spec->family->is_rotary)
        spec->rotary_base[0] = spec->rotary_base[1] = 100;
    if (spec->family->kind == ENGINE_TEXT) {
        spec->vocab_size = VOCAB;
        spec->positions = TINY_TOKENS + 2;
        spec->token_types = 2;
        return;
    }
    spec->patch = extent_square(PATCH);
    spec->channels = 3;
    spec_set_image_size(spec, extent_square(3 * PATCH));
}

/* Norms near what they are trained to, weights that make every part count. */
static void fill_values(struct parameters *parameters)
{
    for (unsigned p = 0; p < parameters->count; p++) {
        const struct parameter *parameter = &parameters->list[p];
        float *values = parameters->values + parameter->offset;
        numbers_fill(values, parameter->row.count, 0.3f, p + 1);
        for (size_t i = 0; i < parameter->row.count && parameter->row.part == TENSOR_GAMMA; i++)
            values[i] += 1;
    }
}

static void fill_inputs(struct tiny_network *tiny)
{
    const size_t numbers = (size_t)tiny->spec.patches * 3 * PATCH * PATCH;
    const bool is_text = tiny->spec.family->kind == ENGINE_TEXT;
    tiny->patches = numbers_new(TINY_INPUTS * numbers + 1, 1, 7);
    for (unsigned i = 0; i < TINY_INPUTS; i++) {
        for (unsigned t = 0; t < TEXT_TOKENS; t++)
            tiny->ids[i][t] = (int32_t)(rng_hash(i + 1, t) % VOCAB);
        tiny->inputs[i] = (struct engine_input){.kind = tiny->spec.family->kind,
                                                .tokens = TEXT_TOKENS - i,
                                                .ids = tiny->ids[i],
                                                .patches = tiny->patches + i * numbers};
        if (!is_text)
            tiny->inputs[i].tokens = spec_image_tokens(&tiny->spec);
    }
}

void tiny_network_open(struct tiny_network *tiny, const char *model_type,
                       const struct pruned_heads *pruned)
{
    struct err err = {0};
    *tiny = (struct tiny_network){0};
    fill_spec(&tiny->spec, model_type, pruned);
    parameters_open(&tiny->parameters, &tiny->spec, HEAD_CLASSIFIER, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    fill_values(&tiny->parameters);
    fill_inputs(tiny);
}

void tiny_network_close(struct tiny_network *tiny)
{
    parameters_close(&tiny->parameters);
    free(tiny->patches);
}

void tiny_network_logits(const struct tiny_network *tiny, const struct parameters *parameters,
                         float *logits)
{
    const struct network_options options = {.threads = 1, .tokens_max = TINY_INPUTS * TINY_TOKENS};
    const struct engine_input *inputs[TINY_INPUTS];
    struct network *network;
    struct err err = {0};
    for (unsigned i = 0; i < TINY_INPUTS; i++)
        inputs[i] = &tiny->inputs[i];
    network_open(&network, parameters, &options, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    network_repack(network, parameters->values);
    network_forward(network, &(struct network_batch){.inputs = inputs, .rows = TINY_INPUTS});
    memcpy(logits, network_logits(network), TINY_INPUTS * TINY_LABELS * sizeof *logits);
    network_close(network);
}
