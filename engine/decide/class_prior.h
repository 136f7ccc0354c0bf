/* class_prior.h - how often each label is to be expected. Scores hold for the shares p of the
 * labels that they were fitted for; where a stream has the shares q,
 *
 *     q(c | x)  is proportional to  p(c | x) q_c / p_c       (Saerens, Latinne and Decaestecker
 *                                                             2002, equation 2.4)
 *
 * that is softmax(logits / T + log q_c / p_c): no weight changes, and neither do the logits, what
 * they say of strangeness, or the temperature.
 *
 *     "fitted_prior": {"none": 22206, "Scratch": 174}    inputs of each label, from a calibration
 *     "class_prior": "natural"                           as it was fitted; also without the member
 *                    "equal"                             all labels as often
 *                    {"none": 61, "Scratch": 39}         counts or shares, of any sum
 *
 * No label is impossible for not having been seen. Of n inputs that were fitted on, n_c of label c,
 * each label gets half an input more on either side (Jeffreys' prior): with s_c the expected share,
 * the shift is log(s_c n + 1/2) - log(n_c + 1/2). It does not depend on the unit of the expected
 * counts, is 0 where both are alike, and never beyond log(2 n + 1).
 *
 * Threads: immutable once read. Owned by the arena.
 */
#ifndef ATTND_ENGINE_DECIDE_CLASS_PRIOR_H
#define ATTND_ENGINE_DECIDE_CLASS_PRIOR_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stddef.h>

struct json_t;

#define CLASS_PRIOR_COUNT_MAX 1e15

enum class_prior_kind { CLASS_PRIOR_NATURAL, CLASS_PRIOR_EQUAL, CLASS_PRIOR_COUNTS };

/* All zeros: natural, of a model that does not say what it was fitted for. Arrays are
 * [label_count]. */
struct class_prior {
    enum class_prior_kind kind;
    const double *fitted;   /* counts; NULL: not known */
    const double *expected; /* shares, their sum is 1; NULL: not known, which only natural may be */
    const double *assumed;  /* shares that the scores go by, all above 0: the expected ones with
                               half an input of each label more; NULL as `expected` */
    const float *shifts;    /* of what softmax takes; NULL: natural, none */
};

/* Labels of a model, as the functions below take them. */
struct class_prior_labels {
    const char *const *names;
    unsigned count;
};

/* "natural", "equal", "counts". */
const char *class_prior_name(const struct class_prior *prior);

/* $.fitted_prior and $.class_prior of attnd.json's object. ERR_UNSUPPORTED names the member, what
 * is wrong with it and the limit: also for a class_prior of a model that has no fitted_prior. */
enum err_code class_prior_read(struct class_prior *out, const struct json_t *object,
                               const struct class_prior_labels *labels, struct arena *arena,
                               struct err *err);

/* Another choice for the same model: "natural", "equal", or the path of a file with one JSON
 * object, {label: count}. ERR_UNSUPPORTED without fitted counts, but for natural; of a file the
 * errors of class_prior_read_file. */
enum err_code class_prior_choose(struct class_prior *prior, const char *choice,
                                 const struct class_prior_labels *labels, struct arena *arena,
                                 struct err *err);

/* The same expectation over other counts [label_count], which are kept as they lie. */
enum err_code class_prior_refit(struct class_prior *prior, const double *fitted, unsigned count,
                                struct arena *arena, struct err *err);

/* counts [labels->count] of a file with one JSON object: a number of at least 0 for every label,
 * not all of them 0. ERR_UNUSABLE names file, label and limit. */
enum err_code class_prior_read_file(const char *path, const struct class_prior_labels *labels,
                                    double *counts, struct err *err);

#endif
