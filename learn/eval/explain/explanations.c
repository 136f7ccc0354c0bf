/* explanations.c - see explanations.h. An input takes about 500 runs: 38 for each of eight orders
 * (19 shares removed, 19 added), and one for each part of the occlusion. They go through the probe
 * in packed batches. Their memory is one arena, emptied after each input. */
#include "learn/eval/explain/explanations.h"

#include "engine/base/clock.h"
#include "engine/base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ORDERS = 3, PURPOSE_CHOICE = 0x4558 }; /* ORDERS: random orders for each input */

const char *explanations_method_name(unsigned method)
{
    if (method < EXPLAIN_LABEL_METHODS)
        return method_name((enum explain_method)method);
    return method == METHOD_RANDOM ? "random" : "occlusion";
}

/* The input that is explained by all methods. Its memory is in the arena. */
struct subject {
    struct explanations *out;
    struct explained *explained;
    struct probe *probe;
    struct pictures *pictures;
    struct arena *arena;
    struct engine_input input;
    struct perturbation parts;
    struct score whole, empty;
    struct explanation shape;               /* of the first method: where the parts lie */
    bool *kept;                             /* [parts] scratch */
    unsigned *order;                        /* [parts] */
    float *relevance[EXPLANATIONS_METHODS]; /* [parts] */
    bool *marked;                           /* [parts] */
    unsigned marked_count;
};

/* ---- choice ---- */

static int by_item(const void *left, const void *right)
{
    size_t a = ((const struct explained *)left)->item, b = ((const struct explained *)right)->item;
    return (a > b) - (a < b);
}

/* Chooses inputs_max of the usable inputs at random: the first of a shuffle. */
static enum err_code choose(struct explanations *out, struct err *err)
{
    const struct evaluation *evaluation = out->source.evaluation;
    struct rng rng = rng_for(out->options.seed, PURPOSE_CHOICE, 0);
    out->inputs = calloc(evaluation->count + 1, sizeof *out->inputs);
    if (out->inputs == NULL)
        return err_no_memory(err, evaluation->count * sizeof *out->inputs);
    for (size_t i = 0; i < evaluation->count; i++) {
        if (evaluation->problems[i] != NULL)
            continue;
        size_t at = rng_below(&rng, (uint32_t)++out->count);
        out->inputs[out->count - 1] = out->inputs[at];
        out->inputs[at] = (struct explained){.item = i, .label = out->source.classes[i]};
    }
    if (out->count > out->options.inputs_max)
        out->count = out->options.inputs_max;
    qsort(out->inputs, out->count, sizeof *out->inputs, by_item);
    return ERR_OK;
}

/* Prepares an input as the evaluation did. If it can no longer be read, the error names it. */
static enum err_code prepare(const struct explanations_source *source, size_t item,
                             struct pictures *pictures, struct arena *arena,
                             struct engine_input *out, struct err *err)
{
    if (evaluation_prepare(source->model, source->dataset, item, NULL, pictures, arena, out, err))
        err_prefix(err, "%.200s: ", source->dataset->items[item].name);
    return err->code;
}

/* ---- relevance ---- */

/* Runs the whole input with a capture of everything that the methods read. */
static enum err_code run_whole(struct subject *subject, struct err *err)
{
    const struct engine_model *model = subject->out->source.model;
    const struct explain_options all = {.method = EXPLAIN_GRADIENT};
    struct engine_result result;
    if (engine_result_init(&result, model, subject->arena, err) ||
        engine_capture(model, &subject->input, &all, subject->arena, err))
        return err->code;
    uint64_t start = clock_now_ns();
    probe_run(subject->probe, &subject->input, &result);
    subject->out->inference_ms += clock_ms_between(start, clock_now_ns());
    subject->explained->winner = result.label;
    return ERR_OK;
}

static enum err_code explain(struct subject *subject, unsigned method, struct err *err)
{
    struct explanation found;
    const struct engine_model *model = subject->out->source.model;
    uint64_t start = clock_now_ns();
    const struct explain_options how = {.method = (enum explain_method)method};
    if (engine_explain(model, NULL, &subject->input, &how, subject->explained->winner,
                       subject->arena, &found, err))
        return err->code;
    subject->out->ms[method] += clock_ms_between(start, clock_now_ns());
    for (unsigned i = 0; i < subject->parts.count; i++)
        subject->relevance[method][i] =
            found.words != NULL ? found.words[i].relevance : found.patches[i];
    if (method == 0)
        subject->shape = found;
    return ERR_OK;
}

/* Computes the occlusion's relevance, and the two end points of all curves. */
static enum err_code occlude(struct subject *subject, const struct scorer *scorer, struct err *err)
{
    unsigned parts = subject->parts.count;
    struct score *without = arena_alloc_array(subject->arena, parts, sizeof *without);
    if (without == NULL)
        return err_no_memory(err, parts * sizeof *without);
    memset(subject->kept, false, parts * sizeof *subject->kept);
    scorer->ask(scorer->context, subject->kept, &subject->empty);
    memset(subject->kept, true, parts * sizeof *subject->kept);
    scorer->ask(scorer->context, subject->kept, &subject->whole);
    scorer->flush(scorer->context);
    uint64_t start = clock_now_ns();
    faithfulness_ask_occlusion(scorer, parts, subject->kept, without);
    scorer->flush(scorer->context);
    faithfulness_occlusion(subject->whole, without, parts, subject->relevance[METHOD_OCCLUSION]);
    subject->out->ms[METHOD_OCCLUSION] += clock_ms_between(start, clock_now_ns());
    return ERR_OK;
}

/* ---- measures ---- */

static void add_points(struct score *sum, const struct score *points, double weight)
{
    for (unsigned p = 0; p < FAITHFULNESS_POINTS; p++)
        for (unsigned s = 0; s < SCORE_SCALES; s++)
            sum[p].on[s] += weight * points[p].on[s];
}

/* Adds one order's figures with `weight` to those of its method. */
static void judge(struct subject *subject, unsigned method, const struct scorer *scorer,
                  double weight)
{
    struct faithfulness_curves curves, *sum = &subject->out->curves[method];
    struct explanations_areas *areas = &subject->explained->methods[method];
    faithfulness_ask(scorer, subject->order, subject->parts.count, subject->kept, &curves);
    scorer->flush(scorer->context);
    faithfulness_end(&curves, subject->whole, subject->empty);
    for (unsigned s = 0; s < SCORE_SCALES; s++) {
        areas->deletion[s] += weight * faithfulness_area(curves.deletion, s);
        areas->insertion[s] += weight * faithfulness_area(curves.insertion, s);
    }
    add_points(sum->deletion, curves.deletion, weight);
    add_points(sum->insertion, curves.insertion, weight);
    if (subject->marked_count == 0)
        return;
    struct localisation found =
        localisation_measure(subject->order, subject->marked, subject->marked_count);
    areas->points += weight * found.pointed;
    areas->iou += weight * found.iou;
}

static void judge_all(struct subject *subject, const struct scorer *scorer)
{
    unsigned parts = subject->parts.count;
    uint64_t seed =
        rng_hash((uint32_t)subject->out->options.seed, (uint32_t)subject->explained->item);
    for (unsigned method = 0; method < EXPLANATIONS_METHODS; method++) {
        if (method == METHOD_RANDOM)
            continue;
        faithfulness_order(subject->relevance[method], parts, seed, subject->order);
        judge(subject, method, scorer, 1);
    }
    for (unsigned i = 0; i < ORDERS; i++) {
        faithfulness_random_order(parts, seed + i, subject->order);
        judge(subject, METHOD_RANDOM, scorer, 1.0 / ORDERS);
    }
}

static enum err_code read_mask(struct subject *subject, struct err *err)
{
    const struct dataset_item *item =
        &subject->out->source.dataset->items[subject->explained->item];
    struct localisation_mask mask;
    unsigned parts = subject->parts.count;
    if (item->mask == NULL)
        return ERR_OK;
    subject->marked = arena_alloc_array(subject->arena, parts, sizeof *subject->marked);
    if (subject->marked == NULL)
        return err_no_memory(err, parts * sizeof *subject->marked);
    if (localisation_read_mask(item->mask, subject->input.width, subject->input.height,
                               subject->arena, &mask, err))
        return err->code;
    subject->marked_count = localisation_patches(&mask, &subject->shape.view, subject->marked);
    subject->explained->marked = (double)subject->marked_count / parts;
    return ERR_OK;
}

/* ---- one input ---- */

static enum err_code run_input(struct subject *subject, struct err *err)
{
    const struct explanations_source *source = &subject->out->source;
    const struct engine_info *info = engine_describe(source->model);
    const struct extent image_size = {info->image_height, info->image_width};
    struct scorer scorer = probe_scorer(subject->probe);
    if (prepare(source, subject->explained->item, subject->pictures, subject->arena,
                &subject->input, err) ||
        perturbation_open(&subject->parts, &subject->input, info->patch_size, image_size,
                          subject->out->options.fill, subject->arena, err))
        return err->code;
    const size_t parts = subject->parts.count, numbers = parts * EXPLANATIONS_METHODS;
    subject->kept = arena_alloc_array(subject->arena, parts, sizeof *subject->kept);
    subject->order = arena_alloc_array(subject->arena, parts, sizeof *subject->order);
    float *relevance = arena_alloc_array(subject->arena, numbers, sizeof *relevance);
    if (subject->kept == NULL || subject->order == NULL || relevance == NULL)
        return err_no_memory(err, numbers * sizeof *relevance);
    for (unsigned method = 0; method < EXPLANATIONS_METHODS; method++)
        subject->relevance[method] = relevance + method * parts;
    if (run_whole(subject, err) ||
        probe_take(subject->probe, &subject->parts, subject->explained->winner, err))
        return err->code;
    for (unsigned method = 0; method < EXPLAIN_LABEL_METHODS; method++)
        if (explain(subject, method, err))
            return err->code;
    if (occlude(subject, &scorer, err) || read_mask(subject, err))
        return err->code;
    subject->explained->parts = subject->parts.count;
    judge_all(subject, &scorer);
    return ERR_OK;
}

/* ---- the gallery ---- */

/* True for right answers, up to each class's share of the gallery: what is shown is what the
 * figures are about. */
static bool is_wanted(const struct explanations *out, const struct explained *explained)
{
    unsigned labels = engine_describe(out->source.model)->label_count, same = 0;
    unsigned each = (EXPLANATIONS_GALLERY_MAX + labels - 1) / labels;
    for (unsigned i = 0; i < out->gallery_count; i++)
        same += out->gallery[i].explained->label == explained->label;
    return out->gallery_count < EXPLANATIONS_GALLERY_MAX && same < each &&
           explained->label == explained->winner;
}

static enum err_code exhibit(const struct subject *subject, struct err *err)
{
    struct explanations *out = subject->out;
    struct explanations_exhibit *exhibit = &out->gallery[out->gallery_count];
    size_t parts = subject->parts.count, numbers = parts * EXPLANATIONS_METHODS;
    float *relevance = arena_alloc_array(&out->arena, numbers, sizeof *relevance);
    struct excerpt *words = arena_alloc_array(&out->arena, parts, sizeof *words);
    if (relevance == NULL || words == NULL)
        return err_no_memory(err, numbers * sizeof *relevance);
    memcpy(relevance, subject->relevance[0], numbers * sizeof *relevance);
    *exhibit =
        (struct explanations_exhibit){.explained = subject->explained, .shape = subject->shape};
    for (unsigned method = 0; method < EXPLANATIONS_METHODS; method++)
        exhibit->relevance[method] = relevance + method * parts;
    exhibit->shape.patches = NULL;
    if (subject->shape.words != NULL)
        memcpy(words, subject->shape.words, parts * sizeof *words);
    exhibit->shape.words = subject->shape.words != NULL ? words : NULL;
    out->gallery_count++;
    return ERR_OK;
}

/* ---- the run ---- */

/* Checks all masks first, so that an error is reported before minutes of computing. */
static enum err_code check_masks(const struct explanations *out, struct pictures *pictures,
                                 struct err *err)
{
    for (size_t i = 0; i < out->count && err->code == ERR_OK; i++) {
        struct arena arena;
        struct engine_input input;
        struct localisation_mask mask;
        const struct explanations_source *source = &out->source;
        const char *path = source->dataset->items[out->inputs[i].item].mask;
        if (path == NULL)
            continue;
        arena_init(&arena);
        if (!prepare(source, out->inputs[i].item, pictures, &arena, &input, err))
            localisation_read_mask(path, input.width, input.height, &arena, &mask, err);
        arena_deinit(&arena);
    }
    return err->code;
}

enum err_code explanations_run(struct explanations *out, const struct explanations_source *source,
                               const struct explanations_options *options, struct err *err)
{
    struct probe probe = {0};
    struct pictures pictures = {0};
    *out = (struct explanations){.source = *source, .options = *options};
    arena_init(&out->arena);
    if (choose(out, err) || check_masks(out, &pictures, err) ||
        probe_open(&probe, source->model, options->threads, err))
        goto out;
    for (size_t i = 0; i < out->count && err->code == ERR_OK; i++) {
        struct arena arena;
        arena_init(&arena);
        struct subject subject = {.out = out,
                                  .explained = &out->inputs[i],
                                  .probe = &probe,
                                  .pictures = &pictures,
                                  .arena = &arena};
        if (!run_input(&subject, err) && is_wanted(out, subject.explained))
            exhibit(&subject, err);
        arena_deinit(&arena);
        if (options->progress != NULL)
            options->progress(options->context, i + 1);
    }
out:
    probe_close(&probe);
    pictures_close(&pictures);
    return err->code;
}

void explanations_close(struct explanations *explanations)
{
    free(explanations->inputs);
    arena_deinit(&explanations->arena);
    *explanations = (struct explanations){0};
}

/* ---- figures ---- */

static bool is_over(const struct explained *explained, unsigned over)
{
    bool right = explained->label == explained->winner;
    return over == EXPLANATIONS_ALL      ? true
           : over == EXPLANATIONS_RIGHT  ? right
           : over == EXPLANATIONS_MASKED ? right && explained->marked > 0
                                         : explained->label == over - EXPLANATIONS_CLASS;
}

enum figure { DELETION, INSERTION, DIFFERENCE, GAIN, POINTS, IOU, FIGURES };

static double value_of(const struct explained *explained, unsigned method, enum figure figure,
                       enum score_scale scale)
{
    const struct explanations_areas *areas = &explained->methods[method];
    switch (figure) {
    case DELETION:
        return areas->deletion[scale];
    case INSERTION:
        return areas->insertion[scale];
    case DIFFERENCE:
        return areas->insertion[scale] - areas->deletion[scale];
    case GAIN:
        return value_of(explained, method, DIFFERENCE, scale) -
               value_of(explained, METHOD_RANDOM, DIFFERENCE, scale);
    case POINTS:
        return areas->points;
    default:
        return areas->iou;
    }
}

enum err_code explanations_figures(const struct explanations *explanations, unsigned method,
                                   unsigned over, enum score_scale scale,
                                   struct explanations_figures *out, struct err *err)
{
    struct explanations_figure *figures[FIGURES] = {
        &out->deletion, &out->insertion, &out->difference, &out->gain, &out->points, &out->iou};
    double *values = calloc(explanations->count + 1, sizeof *values);
    if (values == NULL)
        return err_no_memory(err, explanations->count * sizeof *values);
    for (unsigned f = 0; f < FIGURES; f++) {
        out->count = 0;
        for (size_t i = 0; i < explanations->count; i++)
            if (is_over(&explanations->inputs[i], over))
                values[out->count++] = value_of(&explanations->inputs[i], method, f, scale);
        figures[f]->interval = interval_mean(values, out->count, &figures[f]->mean);
    }
    if (method != METHOD_RANDOM) /* a share; a random order's value is a mean of several */
        out->points.interval =
            wilson_interval((size_t)(out->points.mean * (double)out->count + 0.5), out->count);
    free(values);
    return ERR_OK;
}

size_t explanations_masked(const struct explanations *explanations, double *marked)
{
    size_t count = 0, right = 0;
    double sum = 0;
    for (size_t i = 0; i < explanations->count; i++) {
        const struct explained *explained = &explanations->inputs[i];
        bool counts = is_over(explained, EXPLANATIONS_MASKED);
        count += explained->marked > 0;
        right += counts;
        sum += counts ? explained->marked : 0;
    }
    *marked = right > 0 ? sum / (double)right : 0;
    return count;
}

size_t explanations_right(const struct explanations *explanations)
{
    size_t right = 0;
    for (size_t i = 0; i < explanations->count; i++)
        right += is_over(&explanations->inputs[i], EXPLANATIONS_RIGHT);
    return right;
}

double explanations_mean_ms(const struct explanations *explanations, double sum)
{
    return explanations->count > 0 ? sum / (double)explanations->count : 0;
}
