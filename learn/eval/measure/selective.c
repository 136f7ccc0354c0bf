/* selective.c - see selective.h. All functions go through sorted scores, the highest first. A
 * threshold can only be between two different scores. */
#include "learn/eval/measure/selective.h"

#include "learn/eval/measure/interval.h"

#include <assert.h>
#include <stdlib.h>

/* ---- one score for all ---- */

static int compare_falling(const void *left, const void *right)
{
    const struct verdict *a = left, *b = right;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return (a->item > b->item) - (a->item < b->item);
}

/* Number of verdicts from `at` on that have the same score. */
static size_t equal_scores_from(const struct verdict *verdicts, size_t count, size_t at)
{
    size_t end = at + 1;
    while (end < count && verdicts[end].score == verdicts[at].score)
        end++;
    return end - at;
}

/* Adds a point if it is far enough from the last one for all points to fit; always adds the end.
 * The first point is above 0, and at most 253 more are below 1. */
static void add_point(struct selective_curve *out, size_t taken, size_t wrong)
{
    double coverage = (double)taken / (double)out->count, apart = 1.0 / (SELECTIVE_POINTS_MAX - 2);
    unsigned last = out->point_count;
    if (last > 0 && taken < out->count && coverage - out->points[last - 1].coverage < apart)
        return;
    assert(last < SELECTIVE_POINTS_MAX);
    out->points[last] =
        (struct selective_point){.coverage = coverage, .risk = (double)wrong / (double)taken};
    out->point_count = last + 1;
}

void selective_curve(struct selective_curve *out, struct verdict *verdicts, size_t count,
                     double target_precision)
{
    size_t wrong = 0, taken = 0;
    double risks = 0.0;
    *out = (struct selective_curve){.count = count};
    qsort(verdicts, count, sizeof *verdicts, compare_falling);
    while (taken < count) {
        size_t ties = equal_scores_from(verdicts, count, taken), wrong_ties = 0;
        for (size_t i = 0; i < ties; i++)
            wrong_ties += !verdicts[taken + i].right;
        double each = (double)wrong_ties / (double)ties;
        for (size_t i = 1; i <= ties; i++)
            risks += ((double)wrong + each * (double)i) / (double)(taken + i);
        taken += ties;
        wrong += wrong_ties;
        if ((double)(taken - wrong) >= target_precision * (double)taken) {
            out->coverage = (double)taken / (double)count;
            out->threshold = verdicts[taken - 1].score;
        }
        add_point(out, taken, wrong);
    }
    out->aurc = count > 0 ? risks / (double)count : 0.0;
}

/* ---- one score for each class ---- */

static int compare_label_falling(const void *left, const void *right)
{
    const struct verdict *a = left, *b = right;
    if (a->label != b->label)
        return a->label < b->label ? -1 : 1;
    return compare_falling(left, right);
}

/* Chooses the threshold of one label. Its verdicts are sorted by descending score. */
static struct selective_threshold choose(const struct verdict *verdicts, size_t count,
                                         const struct selective_goal *goal)
{
    struct selective_threshold chosen = {0};
    size_t taken = 0, right = 0;
    while (taken < count) {
        size_t ties = equal_scores_from(verdicts, count, taken);
        for (size_t i = 0; i < ties; i++)
            right += verdicts[taken + i].right;
        taken += ties;
        if (right > 0 && wilson_interval_at(right, taken, goal->z).low >= goal->target_precision)
            chosen = (struct selective_threshold){.reachable = true,
                                                  .score = verdicts[taken - 1].score,
                                                  .count = taken,
                                                  .right = right};
    }
    return chosen;
}

/* True if a label has too few answers to reach the goal, even if all were right. */
static bool is_small(size_t count, const struct selective_goal *goal)
{
    return count > 0 && wilson_interval_at(count, count, goal->z).low < goal->target_precision;
}

/* Wilson's bound of n right among n is n / (n + z^2). */
size_t selective_right_min(const struct selective_goal *goal)
{
    double t = goal->target_precision;
    size_t right = t < 1 ? (size_t)(goal->z * goal->z * t / (1 - t)) : 0;
    while (t < 1 && (right == 0 || is_small(right, goal)))
        right++;
    return right;
}

/* The small labels share one threshold: their verdicts are moved to the beginning, and those that
 * were there follow them. */
void selective_thresholds(struct selective_threshold *out, unsigned label_count,
                          struct verdict *verdicts, size_t count, const struct selective_goal *goal)
{
    size_t at = 0, small = 0;
    qsort(verdicts, count, sizeof *verdicts, compare_label_falling);
    for (unsigned label = 0; label < label_count; label++) {
        size_t first = at;
        while (at < count && verdicts[at].label == label)
            at++;
        out[label] = choose(verdicts + first, at - first, goal);
        const size_t end = is_small(at - first, goal) ? at : first;
        for (size_t i = first; i < end; i++) {
            struct verdict moved = verdicts[i];
            verdicts[i] = verdicts[small];
            verdicts[small++] = moved;
        }
    }
    qsort(verdicts, small, sizeof *verdicts, compare_falling);
    struct selective_threshold common = choose(verdicts, small, goal);
    for (size_t i = 0; common.reachable && i < small; i++) {
        struct selective_threshold *own = &out[verdicts[i].label];
        own->reachable = true;
        own->score = common.score;
        own->count += i < common.count;
        own->right += i < common.count && verdicts[i].right;
    }
}

void selective_decide(struct selective_decisions *sum, const struct selective_threshold *thresholds,
                      const struct verdict *verdicts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct selective_threshold *threshold = &thresholds[verdicts[i].label];
        bool automatic = threshold->reachable && verdicts[i].score >= threshold->score;
        sum->automatic += automatic;
        sum->right += automatic && verdicts[i].right;
        sum->review += !automatic;
    }
    sum->count += count;
}
