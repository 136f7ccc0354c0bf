#include "learn/train/loop/plan.h"

#include <math.h>
#include <string.h>

/* Checks that images are squares, or of the model's own size. */
static enum err_code check_shape(const struct train_options *options, const struct spec *spec,
                                 struct err *err)
{
    if (extent_is_square(spec->image_size) && extent_is_square(spec->patch))
        return ERR_OK;
    const struct extent_text image = extent_text(spec->image_size),
                             patch = extent_text(spec->patch);
    if (options->stages.count > 0)
        return err_set(err, ERR_UNUSABLE,
                       "--stages is for square images; the model reads %s pixels in patches of %s",
                       image.text, patch.text);
    if (spec->family->takes_any_size)
        return err_set(err, ERR_UNSUPPORTED,
                       "images become %s; the positions of a %s are learnt on squares", image.text,
                       spec->family->name);
    return ERR_OK;
}

static enum err_code plan_stages(struct plan *plan, const struct train_options *options,
                                 const struct spec *spec, struct err *err)
{
    bool is_text = spec->family->kind == ENGINE_TEXT;
    const bool keeps_size = is_text || spec->head == HEAD_STATES;
    plan->stages = options->stages;
    if (is_text && options->stages.count > 0)
        return err_set(err, ERR_UNUSABLE, "--stages is for images; the model reads texts");
    if (check_shape(options, spec, err))
        return err->code;
    const bool is_square = !keeps_size && extent_is_square(spec->image_size);
    const unsigned side = is_square ? spec->image_size.height : 0, patch = spec->patch.height;
    if (options->stages.count == 0)
        plan->stages = (struct train_stages){.stage = {{side, options->epochs}}, .count = 1};
    bool has_window = spec->family->tensors[TENSOR_WINDOW_BIAS] != NULL;
    for (unsigned i = 0; i < plan->stages.count && has_window && !keeps_size; i++)
        if (plan->stages.stage[i].image_size != side)
            return err_set(err, ERR_UNUSABLE,
                           "--stages: %u pixels: the relative positions of a %s are for its %u",
                           plan->stages.stage[i].image_size, spec->family->name, side);
    for (unsigned i = 0; i < plan->stages.count && extent_is_square(spec->patch) && !keeps_size;
         i++)
        if (plan->stages.stage[i].image_size % patch != 0)
            return err_set(err, ERR_UNUSABLE,
                           "--stages: %u pixels are no multiple of the model's patches of %u",
                           plan->stages.stage[i].image_size, patch);
    return ERR_OK;
}

static void plan_views(struct plan *plan, const struct train_options *options,
                       const struct long_text *long_text)
{
    const bool in_windows = long_text->in_windows && strcmp(options->task, "mlm") != 0;
    plan->judging = (struct samples_view){.tokens_max = options->tokens,
                                          .windows = in_windows ? options->windows : 0,
                                          .window_stride = long_text->stride};
    plan->learning = plan->judging;
    plan->learning.any_window = strcmp(options->window, "any") == 0;
    plan->learning.line_dropout = options->line_dropout;
    plan->learning.word_dropout = options->word_dropout;
    plan->learning.augment = (struct augment){.mirror = options->mirror ? 0.5f : 0,
                                              .turn = options->turn ? 1 : 0,
                                              .spin = options->spin,
                                              .shift = options->shift,
                                              .die_noise = options->die_noise,
                                              .die_dropout = options->die_dropout,
                                              .brightness = options->contrast,
                                              .contrast = options->contrast};
}

enum err_code plan_make(struct plan *out, const struct train_options *options,
                        const struct spec *spec, size_t inputs, struct err *err)
{
    size_t wanted = options->epoch_inputs > 0 ? options->epoch_inputs : inputs;
    *out = (struct plan){.batch = options->batch,
                         .epochs = options->epochs,
                         .freeze_epochs = options->freeze_epochs,
                         .epoch_inputs = (unsigned)wanted};
    out->epoch_steps = (out->epoch_inputs + out->batch - 1) / out->batch;
    out->steps = (uint64_t)out->epochs * out->epoch_steps;
    uint64_t warmup = (uint64_t)((double)options->warmup * (double)out->steps);
    out->schedule = (struct plan_schedule){.peak = options->rate,
                                           .floor = options->rate * options->rate_floor,
                                           .warmup = warmup,
                                           .end = out->steps};
    plan_views(out, options, &spec->long_text);
    return plan_stages(out, options, spec, err);
}

float plan_rate(const struct plan_schedule *schedule, uint64_t step)
{
    const double pi = 3.14159265358979323846;
    if (step < schedule->warmup)
        return schedule->peak * (float)(step + 1) / (float)schedule->warmup;
    if (step >= schedule->end)
        return schedule->floor;
    double done = (double)(step - schedule->warmup) / (double)(schedule->end - schedule->warmup);
    return schedule->floor +
           (schedule->peak - schedule->floor) * (float)(0.5 + 0.5 * cos(pi * done));
}

unsigned plan_image_size(const struct plan *plan, unsigned epoch)
{
    unsigned i = 0;
    for (unsigned end = plan->stages.stage[0].epochs; i + 1 < plan->stages.count && epoch >= end;)
        end += plan->stages.stage[++i].epochs;
    return plan->stages.stage[i].image_size;
}

double plan_work(const struct plan *plan, const struct spec *spec, uint64_t step)
{
    double work = 0;
    uint64_t first = 0;
    for (unsigned i = 0; i < plan->stages.count && first < step; i++) {
        uint64_t steps = (uint64_t)plan->stages.stage[i].epochs * plan->epoch_steps;
        uint64_t done = step - first < steps ? step - first : steps;
        const struct extent size = extent_square(plan->stages.stage[i].image_size);
        const size_t patches = extent_area(extent_parts(size, spec->patch));
        work += (double)done * ((patches > 0 ? (double)patches : 1) + 1);
        first += steps;
    }
    return work;
}
