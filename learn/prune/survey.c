#include "learn/prune/survey.h"

#include "learn/train/loop/plan.h"

#include <string.h>

static enum err_code make_view(struct samples_view *out, const struct survey *survey,
                               const struct spec *spec, struct err *err)
{
    struct plan plan;
    if (plan_make(&plan, survey->options, spec, survey->corpus->train.count, err))
        return err->code;
    *out = plan.judging;
    out->image_size = plan_image_size(&plan, 0);
    return ERR_OK;
}

static enum err_code load(struct learner *out, const struct survey *survey, const struct spec *spec,
                          const struct samples_view *view, struct err *err)
{
    const struct samples *samples = survey->corpus->train.part->samples;
    struct learner_setup setup = {
        .spec = *spec,
        .network = {.threads = survey->threads, .tokens_max = samples_tokens_max(samples, view)}};
    struct checkpoint *checkpoint;
    if (checkpoint_open(&checkpoint, survey->options->model, err))
        return err->code;
    learner_open(out, &setup, checkpoint, err);
    checkpoint_close(checkpoint);
    if (err->code == ERR_OK && out->loaded.missing > 0)
        return err_set(err, ERR_UNSUPPORTED, "tensor '%s' is missing: train the model first",
                       out->loaded.first_missing);
    return err->code;
}

enum err_code survey_open_model(struct learner *out, const struct survey *survey,
                                const struct spec *spec, struct err *err)
{
    struct samples_view view;
    *out = (struct learner){0};
    if (make_view(&view, survey, spec, err) || load(out, survey, spec, &view, err))
        return err_prefix(err, "%s: ", survey->options->model);
    return ERR_OK;
}

/* Computes the gradient of one prepared input's loss and adds its part of the importance. */
static enum err_code add_input(struct learner *learner, const struct data_loader *loader,
                               const float *target, struct importance *out, struct err *err)
{
    const struct spec *spec = &learner->parameters.spec;
    const struct loss loss = {.scores = spec->scores, .labels = spec->label_count};
    const struct learner_targets targets = {.rows = &target};
    float *gradient = network_gradient(learner->network);
    double value;
    memset(gradient, 0, learner->parameters.numbers * sizeof *gradient);
    if (learner_batch(learner, loader, &loss, &targets, 0, &value, err))
        return err->code;
    importance_add(out, &learner->parameters, gradient);
    return ERR_OK;
}

static bool must_stop(const struct survey *survey)
{
    return survey->stop != NULL && atomic_load(survey->stop);
}

static enum err_code add_all(const struct survey *survey, struct learner *learner,
                             struct data_loader *loader, const struct samples_view *view,
                             struct importance *out, struct err *err)
{
    const struct corpus_items *train = &survey->corpus->train;
    const size_t total = train->count < survey->inputs_max ? train->count : survey->inputs_max;
    const size_t labels = learner->parameters.spec.label_count;
    const struct data_loader_order order = {.view = view};
    for (size_t i = 0; i < total && !must_stop(survey); i++) {
        size_t place = i * train->count / total;
        if (data_loader_prepare(loader, network_pool(learner->network), &train->item[place], 1,
                                &order, err) ||
            add_input(learner, loader, train->targets + place * labels, out, err))
            return err->code;
        if (survey->progress != NULL)
            survey->progress(survey->context, i + 1, total);
    }
    return ERR_OK;
}

enum err_code survey_run(const struct survey *survey, struct learner *learner,
                         struct importance *out, struct err *err)
{
    const struct spec *spec = &learner->parameters.spec;
    struct data_loader loader = {0};
    struct samples_view view;
    if (importance_open(out, spec, err) || make_view(&view, survey, spec, err) ||
        data_loader_open(&loader, survey->corpus->train.part->samples, 1, err) ||
        add_all(survey, learner, &loader, &view, out, err)) {
        data_loader_close(&loader);
        return err->code;
    }
    data_loader_close(&loader);
    return ERR_OK;
}
