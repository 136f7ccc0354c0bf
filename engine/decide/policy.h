/* policy.h - which answers are automatic: attnd.json's "target_precision", "thresholds",
 * "truncation", "uncalibrated", "colours" and "ood".
 *
 * In this order: an input whose ood_score is above its threshold, which may be one for each label
 * that is given, is `unknown`; an image with colours goes to `review` if the model learnt grey
 * ones; so does an answer with a label that scores below the label's threshold, or that has none
 * (null); so does a text that is longer than the model reads, unless truncation is "accept"; the
 * rest is `auto`. Which labels an answer has does not depend on how many a client asks for: the
 * best one and, where labels are independent (sigmoid), each that scores at least 0.5. If several
 * score below their thresholds, the reason names the one that scores highest, of equals the first.
 *
 * A classifier without "thresholds" is not calibrated: nobody knows what its scores are worth. All
 * of its answers go to review, unless "uncalibrated" is "auto", or it says nothing and the program
 * was told so (policy_trust). A regression has no thresholds, and its answers are automatic.
 *
 * Without "ood" a classifier's OOD score is its energy, with no threshold; a regression has none.
 * Threads: immutable after policy_read.
 */
#ifndef ATTND_ENGINE_DECIDE_POLICY_H
#define ATTND_ENGINE_DECIDE_POLICY_H

#include "engine/decide/decision.h"
#include "engine/decide/ood.h"
#include "engine/decide/spans.h"

/* How logits become scores, as Hugging Face pipelines do it. */
enum spec_scores { SCORES_SOFTMAX, SCORES_SIGMOID, SCORES_NONE };

/* The worth of a text's probability p: 1 / (1 + exp(-(scale logit(p) + shift))). Platt 1999,
 * "Probabilistic outputs for support vector machines". Zeros: p itself. */
struct confidence {
    float scale, shift;
};

struct policy {
    struct confidence confidence; /* of a text that was written */
    enum spec_scores scores;
    unsigned label_count;
    double target_precision; /* what the thresholds were chosen for; 0: unknown */
    const float *thresholds; /* [label_count], NaN: never automatic; NULL: not calibrated */
    bool accepts_truncated;  /* the model was validated on truncated texts */
    bool says_uncalibrated;  /* attnd.json has the member */
    bool takes_uncalibrated; /* answers without thresholds are automatic */
    bool learnt_grey;        /* it has learnt grey images alone: one with colours is reviewed */
    struct ood ood;
};

/* Without attnd.json. */
struct policy policy_default(enum spec_scores scores, unsigned label_count, unsigned hidden);

/* Reads the members of attnd.json's object over the defaults in *policy. ERR_UNSUPPORTED. */
enum err_code policy_read(struct policy *policy, const struct json_t *object,
                          const char *const *labels, struct arena *arena, struct err *err);

/* The part that holds for another model too: how inputs are read and what a person wrote, without
 * what was fitted to the answers of this one. */
struct policy policy_unfitted(const struct policy *policy);

/* "uncalibrated" is "auto" where attnd.json says nothing of it. */
void policy_trust(struct policy *policy);

/* is_uncalibrated: the model is a classifier without thresholds. reviews_all: for that reason all
 * its answers go to review. */
bool policy_is_uncalibrated(const struct policy *policy);
bool policy_reviews_all(const struct policy *policy);

/* Judges finite logits, scores (each [label_count]) and features [hidden] of an input, of which
 * the model may not have read all, or which is not as those that it learnt. No allocation. */
void policy_judge(const struct policy *policy, const float *logits, const float *scores,
                  const float *features, enum input_doubt doubt, struct judgement *out);
/* The same for spans of a text: each is judged by the threshold of its label. If several score
 * below theirs, the reason names the one that scores highest, of equals the first. */
void policy_judge_spans(const struct policy *policy, const struct span *spans, unsigned count,
                        enum input_doubt doubt, struct judgement *out);
/* The same for a text that was written. */
void policy_judge_text(const struct policy *policy, float confidence, enum input_doubt doubt,
                       struct judgement *out);
/* The confidence of a text, from the sum of the logarithms of its tokens' probabilities: 0 to 1. */
float policy_confidence(const struct policy *policy, float sum);
/* The same by an OOD score that is known. */
void policy_judge_by(const struct policy *policy, const float *scores, float ood,
                     enum input_doubt doubt, struct judgement *out);

#endif
