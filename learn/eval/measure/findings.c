/* findings.c - see findings.h. The inputs that have logits are listed once and divided into folds
 * once. Folds are stratified: inputs are sorted by class and, within a class, by a hash of seed and
 * index, and then assigned to the folds in turn. */
#include "learn/eval/measure/findings.h"

#include "engine/base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct work {
    struct calibration_set set; /* all inputs with logits */
    struct selective_goal goal;
    size_t *items;                          /* [set.count] */
    size_t *dealt;                          /* [set.count], fold after fold */
    size_t folds[FINDINGS_FOLDS + 1];       /* where each begins */
    size_t *rest;                           /* [set.count]: all folds but one */
    struct verdict *winners;                /* [set.count] */
    struct verdict *labels;                 /* [set.count, label_count] if sigmoid, else [count] */
    struct verdict *crossed;                /* verdicts of all folds */
    struct selective_threshold *thresholds; /* [label_count] */
    struct arena arena;
};

/* ---- memory ---- */

static enum err_code open_work(struct work *work, const struct evaluation *evaluation,
                               const unsigned *classes, const struct findings_options *options,
                               struct err *err)
{
    size_t count = evaluation->count - evaluation->failed;
    *work =
        (struct work){.set = {.logits = evaluation_answers(evaluation),
                              .classes = classes,
                              .label_count = evaluation->label_count,
                              .sigmoid = options->sigmoid},
                      .goal = {.target_precision = options->target_precision, .z = SELECTIVE_Z}};
    size_t each = calibration_verdicts_each(&work->set);
    struct arena *arena = &work->arena;
    work->items = arena_alloc_array(arena, count, sizeof *work->items);
    work->dealt = arena_alloc_array(arena, count, sizeof *work->dealt);
    work->rest = arena_alloc_array(arena, count, sizeof *work->rest);
    work->winners = arena_alloc_array(arena, count, sizeof *work->winners);
    work->labels = arena_alloc_array(arena, count, each * sizeof *work->labels);
    work->crossed = arena_alloc_array(arena, count, each * sizeof *work->crossed);
    work->thresholds = arena_alloc_array(arena, evaluation->label_count, sizeof *work->thresholds);
    if (arena->failed)
        return err_no_memory(err, count * each * sizeof *work->labels);
    for (size_t i = 0; i < evaluation->count; i++)
        if (evaluation->problems[i] == NULL)
            work->items[work->set.count++] = i;
    work->set.items = work->items;
    return ERR_OK;
}

/* ---- one temperature for all inputs ---- */

static struct calibration_set part_of(const struct work *work, const size_t *items, size_t count)
{
    struct calibration_set part = work->set;
    part.items = items;
    part.count = count;
    return part;
}

/* Sorts the verdicts. */
static void measure_bins(struct findings_figures *out, struct verdict *verdicts, size_t count)
{
    struct calibration_bin by_mass[CALIBRATION_BINS];
    calibration_bins(out->bins, verdicts, count);
    calibration_bins_by_mass(by_mass, verdicts, count);
    out->ece = calibration_ece(out->bins);
    out->ece_by_mass = calibration_ece(by_mass);
}

static void decide_by_score(struct selective_decisions *sum, const struct selective_curve *curve,
                            const struct verdict *verdicts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool automatic = curve->coverage > 0 && verdicts[i].score >= curve->threshold;
        sum->automatic += automatic;
        sum->right += automatic && verdicts[i].right;
        sum->review += !automatic;
    }
    sum->count += count;
}

/* Leaves the thresholds in `work`. */
static void measure_at(struct findings_figures *out, struct selective_curve *curve,
                       struct work *work, double temperature)
{
    const struct calibration_set *set = &work->set;
    double count = (double)set->count;
    struct calibration_losses losses = calibration_losses(set, temperature);
    size_t judged = calibration_verdicts(set, temperature, work->labels);
    out->temperature = temperature;
    out->nll = losses.nll / count;
    out->brier = losses.brier / count;
    measure_bins(out, work->labels, judged);
    selective_thresholds(work->thresholds, set->label_count, work->labels, judged, &work->goal);
    calibration_predictions(set, temperature, work->winners);
    selective_decide(&out->by_class, work->thresholds, work->winners, set->count);
    selective_curve(curve, work->winners, set->count, work->goal.target_precision);
    decide_by_score(&out->by_score, curve, work->winners, set->count);
}

/* ---- folds ---- */

struct card {
    unsigned class;
    uint32_t key;
    size_t item;
};

static int compare_cards(const void *left, const void *right)
{
    const struct card *a = left, *b = right;
    if (a->class != b->class)
        return a->class < b->class ? -1 : 1;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->item > b->item) - (a->item < b->item);
}

static enum err_code deal(struct work *work, uint64_t seed, struct err *err)
{
    size_t count = work->set.count, at = 0;
    struct card *cards = arena_alloc_array(&work->arena, count, sizeof *cards);
    if (cards == NULL)
        return err_no_memory(err, count * sizeof *cards);
    for (size_t i = 0; i < count; i++) {
        size_t item = work->items[i];
        cards[i] = (struct card){.class = work->set.classes[item],
                                 .key = rng_hash((uint32_t)seed, (uint32_t)item),
                                 .item = item};
    }
    qsort(cards, count, sizeof *cards, compare_cards);
    for (unsigned fold = 0; fold < FINDINGS_FOLDS; fold++) {
        work->folds[fold] = at;
        for (size_t i = fold; i < count; i += FINDINGS_FOLDS)
            work->dealt[at++] = cards[i].item;
    }
    work->folds[FINDINGS_FOLDS] = at;
    return ERR_OK;
}

/* The inputs of a fold are evaluated with the temperature and thresholds of the others, whose
 * inputs are copied to work->rest. */
static void cross_fold(struct findings_figures *out, struct work *work, unsigned index,
                       double present, struct verdict *crossed)
{
    size_t begin = work->folds[index], end = work->folds[index + 1];
    size_t held = end - begin, behind = work->set.count - end;
    memcpy(work->rest, work->dealt, begin * sizeof *work->rest);
    memcpy(work->rest + begin, work->dealt + end, behind * sizeof *work->rest);
    struct calibration_set other = part_of(work, work->rest, begin + behind);
    struct calibration_set fold = part_of(work, work->dealt + begin, held);
    struct selective_curve curve;
    double bound, temperature = calibration_temperature_within(&other, present, &bound);
    size_t judged = calibration_verdicts(&other, temperature, work->labels);
    selective_thresholds(work->thresholds, other.label_count, work->labels, judged, &work->goal);
    calibration_predictions(&other, temperature, work->winners);
    selective_curve(&curve, work->winners, other.count, work->goal.target_precision);

    struct calibration_losses losses = calibration_losses(&fold, temperature);
    out->temperature += log(temperature) / FINDINGS_FOLDS;
    out->nll += losses.nll / (double)work->set.count;
    out->brier += losses.brier / (double)work->set.count;
    calibration_verdicts(&fold, temperature, crossed);
    calibration_predictions(&fold, temperature, work->winners);
    selective_decide(&out->by_class, work->thresholds, work->winners, held);
    decide_by_score(&out->by_score, &curve, work->winners, held);
}

/* ---- the rest ---- */

/* The interval of a class's F1: the bootstrap's, or Wilson's interval of its recall if all answers
 * of the class are right, or none. Then every draw gives the same value, and an interval without
 * width would be too certain for a few inputs. */
static struct interval f1_interval(const struct confusion_class *class, struct interval drawn)
{
    bool flawless = class->hits == class->support && class->hits == class->predicted;
    if (class->hits > 0 && !flawless)
        return drawn;
    size_t count = class->support > class->predicted ? class->support : class->predicted;
    return wilson_interval(class->hits, count);
}

static enum err_code measure_classes(struct findings *out, const struct confusion *confusion,
                                     uint64_t seed, struct err *err)
{
    unsigned count = confusion->class_count;
    struct interval *f1 = calloc(count, sizeof *f1);
    out->classes = calloc(count, sizeof *out->classes);
    if (f1 == NULL || out->classes == NULL)
        err_no_memory(err, count * sizeof *out->classes);
    else
        interval_bootstrap_f1(&out->macro_f1, f1, confusion, seed, err);
    for (unsigned i = 0; i < count && err->code == ERR_OK; i++) {
        const struct confusion_class *class = &confusion->classes[i];
        out->classes[i].precision = wilson_interval(class->hits, class->predicted);
        out->classes[i].recall = wilson_interval(class->hits, class->support);
        out->classes[i].f1 = f1_interval(class, f1[i]);
    }
    out->accuracy = wilson_interval(confusion->hits, confusion->count);
    free(f1);
    return err->code;
}

static enum err_code measure(struct findings *out, struct work *work,
                             const struct findings_options *options, struct err *err)
{
    struct selective_curve fitted;
    measure_at(&out->served, &out->curve, work, options->temperature);
    /* measure_at leaves the winners sorted by descending score */
    for (size_t i = 0; i < work->set.count && out->mistake_count < FINDINGS_MISTAKES_MAX; i++)
        if (!work->winners[i].right)
            out->mistakes[out->mistake_count++] = work->winners[i];
    const double temperature =
        calibration_temperature_within(&work->set, options->temperature, &out->temperature_bound);
    measure_at(&out->fitted, &fitted, work, temperature);
    for (unsigned i = 0; i < work->set.label_count; i++)
        out->classes[i].threshold = work->thresholds[i];
    out->has_crossed = work->set.count >= FINDINGS_CROSSED_MIN;
    if (!out->has_crossed || deal(work, options->seed, err))
        return err->code;
    const size_t each = calibration_verdicts_each(&work->set);
    for (unsigned i = 0; i < FINDINGS_FOLDS; i++)
        cross_fold(&out->crossed, work, i, options->temperature,
                   work->crossed + work->folds[i] * each);
    out->crossed.temperature = exp(out->crossed.temperature);
    measure_bins(&out->crossed, work->crossed, work->set.count * each);
    return ERR_OK;
}

enum err_code findings_open(struct findings *out, const struct evaluation *evaluation,
                            const unsigned *classes, const struct confusion *confusion,
                            const struct findings_options *options, struct err *err)
{
    struct work work;
    *out = (struct findings){.target_precision = options->target_precision};
    if (!open_work(&work, evaluation, classes, options, err) &&
        !measure_classes(out, confusion, options->seed, err))
        measure(out, &work, options, err);
    arena_deinit(&work.arena);
    return err->code;
}

void findings_close(struct findings *findings)
{
    free(findings->classes);
    *findings = (struct findings){0};
}
