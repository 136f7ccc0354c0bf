#include "learn/data/samples_form.h"

static const float chosen_share = 0.15f, masked_share = 0.8f, random_share = 0.1f;

static bool is_special(const struct tokenizer_specials *specials, int32_t id)
{
    return id == specials->cls || id == specials->sep || id == specials->unk ||
           id == specials->pad || id == specials->mask;
}

/* Ascending places; every plain token with the same probability, and one at least if there is one.
 */
static unsigned choose(const struct tokenizer_specials *specials, const struct engine_input *input,
                       struct rng *rng, unsigned *places)
{
    unsigned count = 0, plain = 0;
    for (unsigned i = 0; i < input->tokens; i++) {
        if (is_special(specials, input->ids[i]))
            continue;
        plain++;
        if (rng_uniform(rng) < chosen_share)
            places[count++] = i;
    }
    if (count == 0 && plain > 0) {
        unsigned skipped = rng_below(rng, plain), at = 0;
        while (is_special(specials, input->ids[at]) || skipped-- > 0)
            at++;
        places[count++] = at;
    }
    return count;
}

static int32_t replacement(const struct samples *samples, int32_t id, struct rng *rng)
{
    float u = rng_uniform(rng);
    if (u < masked_share)
        return samples->pipeline.tokenizer->specials.mask;
    if (u < masked_share + random_share)
        return (int32_t)rng_below(rng, samples->pipeline.tokenizer->vocab_size);
    return id;
}

enum err_code samples_masked_input(const struct samples *samples, size_t item,
                                   const struct samples_view *view, struct rng *rng,
                                   struct arena *arena, struct engine_input *out,
                                   struct samples_targets *masked, struct err *err)
{
    struct samples_view plain = *view;
    plain.word_dropout = 0;
    *masked = (struct samples_targets){0};
    if (samples->spec.family->kind != ENGINE_TEXT)
        return err_set(err, ERR_UNUSABLE, "words are masked in texts only");
    const struct tokenizer_specials *specials = &samples->pipeline.tokenizer->specials;
    if (specials->mask < 0)
        return err_set(err, ERR_UNSUPPORTED, "the vocabulary has no mask_token");
    if (samples_input(samples, item, &plain, rng, arena, out, err))
        return err->code;
    unsigned *places = arena_alloc_array(arena, out->tokens, sizeof *places);
    int32_t *truth = arena_alloc_array(arena, out->tokens, sizeof *truth);
    int32_t *ids = arena_alloc_array(arena, out->tokens, sizeof *ids);
    if (places == NULL || truth == NULL || ids == NULL)
        return err_no_memory(err, out->tokens * sizeof *ids);
    masked->count = choose(specials, out, rng, places);
    masked->places = places;
    masked->ids = truth;
    for (unsigned i = 0; i < out->tokens; i++)
        ids[i] = out->ids[i];
    for (unsigned k = 0; k < masked->count; k++) {
        truth[k] = ids[places[k]];
        ids[places[k]] = replacement(samples, truth[k], rng);
    }
    out->ids = ids;
    return ERR_OK;
}
