#include "learn/eval/texts/writing_assessment.h"

#include "engine/base/rng.h"
#include "engine/model/decoder/pair_spec.h"
#include "learn/eval/fit/attnd_json.h"
#include "learn/eval/measure/findings.h"

#include <math.h>
#include <stdlib.h>

enum { SEED = 1, STEPS_MAX = 100, HALVINGS_MAX = 40 };

/* ---- Platt's scaling ---- */

/* The negative log-likelihood at a point, its gradient, and its second derivatives. */
struct slope {
    double loss, by_scale, by_shift, scale_scale, scale_shift, shift_shift;
};

static struct slope slope_at(const struct text_answer *answers, size_t count,
                             const double target[2], double scale, double shift)
{
    struct slope sum = {0};
    for (size_t i = 0; i < count; i++) {
        const double p = exp((double)answers[i].log_probability);
        if (!(p > 0 && p < 1))
            continue;
        const double x = log(p / (1 - p)), z = scale * x + shift, e = exp(-fabs(z));
        const double s = z >= 0 ? 1 / (1 + e) : e / (1 + e), t = target[answers[i].is_right];
        sum.loss += fmax(z, 0) + log1p(e) - t * z;
        sum.by_scale += (s - t) * x;
        sum.by_shift += s - t;
        sum.scale_scale += s * (1 - s) * x * x;
        sum.scale_shift += s * (1 - s) * x;
        sum.shift_shift += s * (1 - s);
    }
    return sum;
}

/* Newton's method with steps that are halved until the loss falls: Lin, Lin and Weng 2007, "A note
 * on Platt's probabilistic outputs for support vector machines". The loss is convex. */
bool text_confidence_fit(double *scale, double *shift, const struct text_answer *answers,
                         size_t count)
{
    size_t counts[2] = {0};
    for (size_t i = 0; i < count; i++) {
        const double p = exp((double)answers[i].log_probability);
        counts[answers[i].is_right] += p > 0 && p < 1;
    }
    if (counts[false] == 0 || counts[true] == 0)
        return false;
    const double wrong = (double)counts[false], right = (double)counts[true];
    const double target[2] = {1 / (wrong + 2), (right + 1) / (right + 2)};
    *scale = 0;
    *shift = log((right + 1) / (wrong + 1));
    struct slope at = slope_at(answers, count, target, *scale, *shift);
    for (unsigned step = 0; step < STEPS_MAX; step++) {
        const double least = 1e-12 * at.shift_shift; /* as if x were not the same for all */
        const double a = at.scale_scale + least, b = at.scale_shift, c = at.shift_shift + least;
        const double det = a * c - b * b, size = fabs(at.by_scale) + fabs(at.by_shift);
        if (!(det > 0) || size <= 1e-12 * (wrong + right))
            break;
        const double by_scale = (b * at.by_shift - c * at.by_scale) / det;
        const double by_shift = (b * at.by_scale - a * at.by_shift) / det;
        const double promised = at.by_scale * by_scale + at.by_shift * by_shift; /* below 0 */
        struct slope next = at;
        double part = 1;
        for (unsigned half = 0; half < HALVINGS_MAX; half++, part /= 2) {
            next = slope_at(answers, count, target, *scale + part * by_scale,
                            *shift + part * by_shift);
            /* a sum of losses is exact to some 1e-13 of it */
            if (next.loss <= at.loss + 1e-4 * part * promised + 1e-13 * at.loss)
                break;
        }
        *scale += part * by_scale;
        *shift += part * by_shift;
        at = next;
    }
    return *scale > 0 && *scale <= PAIR_CONFIDENCE_MAX && fabs(*shift) <= PAIR_CONFIDENCE_MAX;
}

/* ---- figures ---- */

struct work {
    struct selective_goal goal;
    struct text_answer *dealt, *rest, *held; /* [count] */
    struct verdict *verdicts, *crossed;      /* [count] */
};

/* verdicts <- the answers with their confidence as the server computes it. */
static void judge(struct verdict *verdicts, const struct text_answer *answers, size_t count,
                  const struct confidence *by)
{
    const struct policy policy = {.confidence = *by};
    for (size_t i = 0; i < count; i++)
        verdicts[i] =
            (struct verdict){.score = policy_confidence(&policy, answers[i].log_probability),
                             .right = answers[i].is_right,
                             .item = answers[i].item};
}

static double ece_of(const struct verdict *verdicts, size_t count)
{
    struct calibration_bin bins[CALIBRATION_BINS];
    calibration_bins(bins, verdicts, count);
    return calibration_ece(bins);
}

/* *by and *threshold <- those of the answers; leaves their verdicts in `work`. */
static void fit(struct confidence *by, struct selective_threshold *threshold,
                const struct work *work, const struct text_answer *answers, size_t count)
{
    double scale, shift;
    *by = text_confidence_fit(&scale, &shift, answers, count)
              ? (struct confidence){(float)scale, (float)shift}
              : (struct confidence){0};
    judge(work->verdicts, answers, count, by);
    selective_thresholds(threshold, 1, work->verdicts, count, &work->goal);
}

/* Sorted like this and dealt in turn, each fold has its share of the right texts. */
static int compare_cards(const void *left, const void *right)
{
    const struct text_answer *a = left, *b = right;
    const uint32_t key_a = rng_hash(SEED, (uint32_t)a->item);
    const uint32_t key_b = rng_hash(SEED, (uint32_t)b->item);
    if (a->is_right != b->is_right)
        return a->is_right ? -1 : 1;
    return key_a != key_b ? (key_a < key_b ? -1 : 1) : (a->item > b->item) - (a->item < b->item);
}

static void cross(struct text_figures *out, const struct work *work, size_t count)
{
    size_t crossed = 0;
    qsort(work->dealt, count, sizeof *work->dealt, compare_cards);
    for (unsigned fold = 0; fold < FINDINGS_FOLDS; fold++) {
        struct selective_threshold threshold;
        struct confidence by;
        size_t rest = 0, held = 0;
        for (size_t i = 0; i < count; i++)
            if (i % FINDINGS_FOLDS == fold)
                work->held[held++] = work->dealt[i];
            else
                work->rest[rest++] = work->dealt[i];
        fit(&by, &threshold, work, work->rest, rest);
        judge(work->crossed + crossed, work->held, held, &by);
        selective_decide(&out->decisions, &threshold, work->crossed + crossed, held);
        crossed += held;
    }
    out->ece = ece_of(work->crossed, count);
}

enum err_code text_findings_measure(struct text_findings *findings,
                                    const struct text_answer *answers, size_t count,
                                    size_t unwritten, struct err *err)
{
    const struct selective_decisions none = {.count = unwritten, .review = unwritten};
    struct arena arena;
    arena_init(&arena);
    const struct work work = {.goal = {findings->target_precision, SELECTIVE_Z},
                              .dealt = arena_alloc_array(&arena, count, sizeof *work.dealt),
                              .rest = arena_alloc_array(&arena, count, sizeof *work.rest),
                              .held = arena_alloc_array(&arena, count, sizeof *work.held),
                              .verdicts = arena_alloc_array(&arena, count, sizeof *work.verdicts),
                              .crossed = arena_alloc_array(&arena, count, sizeof *work.crossed)};
    findings->fitted = findings->crossed = (struct text_figures){.decisions = none};
    findings->has_crossed = count >= FINDINGS_CROSSED_MIN;
    if (arena.failed) {
        err_no_memory(err, count * sizeof *work.verdicts);
        goto out;
    }
    for (size_t i = 0; i < count; i++) {
        work.dealt[i] = answers[i];
        work.verdicts[i] =
            (struct verdict){.score = answers[i].confidence, .right = answers[i].is_right};
    }
    findings->served.ece = ece_of(work.verdicts, count);
    fit(&findings->fitted.by, &findings->threshold, &work, answers, count);
    findings->fitted.ece = ece_of(work.verdicts, count);
    selective_decide(&findings->fitted.decisions, &findings->threshold, work.verdicts, count);
    if (findings->has_crossed)
        cross(&findings->crossed, &work, count);
out:
    arena_deinit(&arena);
    return err->code;
}

/* ---- attnd.json ---- */

enum err_code text_findings_write(const char *dir, const struct text_findings *findings,
                                  const char *checksum, struct err *err)
{
    const float threshold = findings->threshold.reachable ? findings->threshold.score : NAN;
    struct spec source, target;
    struct arena arena;
    arena_init(&arena);
    if (!pair_spec_read(&source, &target, dir, err) &&
        !pair_spec_read_settings(&source, dir, &arena, err)) {
        source.policy.confidence = findings->fitted.by;
        source.policy.thresholds = &threshold;
        source.policy.target_precision = findings->target_precision;
        source.text_checksum = checksum != NULL ? checksum : source.text_checksum;
        attnd_json_write(dir, &source, err);
    }
    arena_deinit(&arena);
    return err->code;
}
