/* label_shares.h - how often each label occurs among what a model is asked, estimated while it
 * answers: what a class_prior of the line's own would be (engine/decide/class_prior.h).
 *
 *     label_shares_open(&shares, &err);
 *     observers_add(&observers, label_shares_observer(shares));    predictions come in
 *     if (label_shares_read(shares, "wafer-vit", info, &figures)) ...
 *     label_shares_close(shares);
 *
 * Counting answers is biased: where scores are unsure, answers lean to what was frequent. This is
 * expectation maximisation (Saerens, Latinne and Decaestecker 2002) one input at a time (Cappé and
 * Moulines, "On-line expectation-maximization algorithm for latent data models", J. R. Stat. Soc. B
 * 71(3), 2009): with scores s of an input, e the shares that they expect and q the estimate,
 *
 *     r_c = s_c (q_c / e_c) / sum_j s_j (q_j / e_j)     goes into a mean that forgets, which is q
 *
 * with half an input of each label more, so that none becomes impossible. It begins with e, as
 * LABEL_SHARES_START inputs would have it, and remembers about LABEL_SHARES_WINDOW. What is unknown
 * does not count. Wrong in all (sum of |error| over nine labels) on wafer-vit's validation maps
 * drawn with 30 to 98 % `none` instead of 86 %: after 1000 inputs 0.011 to 0.054, after 10 000
 * 0.007 to 0.036; by ordinary EM over all of those 0.006 to 0.040; answers counted 0.013 to 0.095.
 * With a window of 10 000 it is no better, and follows a stream that turns a third as fast.
 * attnd-eval --estimate-prior, which has labelled inputs to correct the scores by, errs half as
 * much (learn/eval/prior_estimate.h).
 *
 * Models: those with fixed labels of which one is right, at most LABEL_SHARES_LABELS, whose
 * attnd.json says what their scores hold for (fitted_prior). A version that has other labels begins
 * anew.
 *
 * Threads: any, but for open and close. 0.1 us a prediction with its lock.
 */
#ifndef ATTND_SERVER_OBSERVE_LABEL_SHARES_H
#define ATTND_SERVER_OBSERVE_LABEL_SHARES_H

#include "engine/engine.h"
#include "server/observe/record.h"

enum {
    LABEL_SHARES_LABELS = 256,
    LABEL_SHARES_START = 20,
    LABEL_SHARES_LEAST = 100, /* inputs; with fewer there is no estimate */
    LABEL_SHARES_WINDOW = 3000
};

struct label_shares;

enum err_code label_shares_open(struct label_shares **out, struct err *err);
void label_shares_close(struct label_shares *shares); /* NULL is allowed */

/* Most bytes that it takes, for any number of models: 0.3 MB. */
size_t label_shares_bytes(void);

struct observer label_shares_observer(struct label_shares *shares);

struct label_shares_figures {
    uint64_t count;                        /* inputs so far, of which the last count most */
    bool has_estimate;                     /* they are LABEL_SHARES_LEAST at least */
    const double *expected;                /* [label_count] by the scores, their sum is 1; the
                                              model's */
    double estimated[LABEL_SHARES_LABELS]; /* [label_count], their sum is 1, if there is one */
};

/* Figures of a served model, found by its name and its info. False: it is none of the models that
 * are counted (see above). */
bool label_shares_read(struct label_shares *shares, const char *model,
                       const struct engine_info *info, struct label_shares_figures *out);

#endif
