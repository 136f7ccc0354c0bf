#include "engine/decide/policy.h"

#include "engine/base/doc.h"
#include "engine/decide/argmax.h"
#include "engine/decide/label_map.h"

#include <math.h>
#include <string.h>

struct policy policy_default(enum spec_scores scores, unsigned label_count, unsigned hidden)
{
    return (struct policy){.scores = scores,
                           .label_count = label_count,
                           .ood = {.method = scores != SCORES_NONE ? OOD_ENERGY : OOD_NONE,
                                   .hidden = hidden,
                                   .label_count = label_count,
                                   .independent = scores == SCORES_SIGMOID}};
}

/* ---- attnd.json ---- */

/* label_map_read's visitor; context is the thresholds. */
static enum err_code read_threshold(void *context, unsigned label, const struct json_t *value,
                                    struct err *err)
{
    float *thresholds = context;
    double score;
    if (strcmp(doc_type_name(value), "null") == 0) {
        thresholds[label] = NAN;
        return ERR_OK;
    }
    if (!doc_as_number(value, &score))
        return err_set(err, ERR_UNSUPPORTED,
                       "$.thresholds: expected a number or null for label %u, found %s", label,
                       doc_type_name(value));
    if (!(score >= 0 && score <= 1))
        return err_set(err, ERR_UNSUPPORTED, "$.thresholds: label %u must be from 0 to 1, or null",
                       label);
    thresholds[label] = (float)score;
    return ERR_OK;
}

static enum err_code read_target_precision(struct policy *policy, const struct json_t *object,
                                           struct err *err)
{
    /* Models of 0.1.0 call it purity. */
    const char *key = doc_member(object, "purity") != NULL ? "purity" : "target_precision";
    if (doc_member(object, key) == NULL)
        return ERR_OK;
    if (doc_get_number(object, "$", key, &policy->target_precision, err))
        return err->code;
    if (!(policy->target_precision > 0 && policy->target_precision <= 1))
        return err_set(err, ERR_UNSUPPORTED, "$.%s must be above 0 and at most 1", key);
    if (doc_member(object, "thresholds") == NULL)
        return err_set(err, ERR_UNSUPPORTED, "$.%s is of no effect without $.thresholds", key);
    return ERR_OK;
}

/* Reads one of two words. *chosen is the index of the default, and becomes that of the word that
 * was read. */
static enum err_code read_word(const struct json_t *object, const char *key,
                               const char *const words[2], unsigned *chosen, struct err *err)
{
    const char *word = words[*chosen];
    if (doc_get_string(object, "$", key, &word, err))
        return err->code;
    *chosen = strcmp(word, words[1]) == 0;
    if (strcmp(word, words[*chosen]) != 0)
        return err_set(err, ERR_UNSUPPORTED, "$.%s must be \"%s\" or \"%s\"", key, words[0],
                       words[1]);
    return ERR_OK;
}

enum err_code policy_read(struct policy *policy, const struct json_t *object,
                          const char *const *labels, struct arena *arena, struct err *err)
{
    static const char *const truncations[] = {"review", "accept"};
    static const char *const uncalibrations[] = {"review", "auto"};
    static const char *const colours[] = {"grey", "any"};
    const struct json_t *thresholds = doc_member(object, "thresholds");
    const struct json_t *ood = doc_member(object, "ood");
    unsigned truncation = 0, uncalibrated = 0, colour = 1;
    if (policy->scores == SCORES_NONE && (thresholds != NULL || ood != NULL))
        return err_set(err, ERR_UNSUPPORTED, "$.%s is for classifiers; this model is a regression",
                       thresholds != NULL ? "thresholds" : "ood");
    if (read_target_precision(policy, object, err) ||
        read_word(object, "truncation", truncations, &truncation, err) ||
        read_word(object, "uncalibrated", uncalibrations, &uncalibrated, err) ||
        read_word(object, "colours", colours, &colour, err))
        return err->code;
    if (thresholds != NULL) {
        float *least = arena_alloc_array(arena, policy->label_count, sizeof *least);
        if (least == NULL)
            return err_no_memory(err, policy->label_count * sizeof *least);
        policy->thresholds = least;
        if (label_map_read(thresholds, "$.thresholds", labels, policy->label_count, read_threshold,
                           least, err))
            return err->code;
    }
    policy->accepts_truncated = truncation == 1;
    policy->says_uncalibrated = doc_member(object, "uncalibrated") != NULL;
    policy->takes_uncalibrated = uncalibrated == 1;
    policy->learnt_grey = colour == 0;
    return ood != NULL ? ood_read(&policy->ood, ood, labels, arena, err) : ERR_OK;
}

void policy_trust(struct policy *policy)
{
    if (!policy->says_uncalibrated)
        policy->takes_uncalibrated = true;
}

struct policy policy_unfitted(const struct policy *policy)
{
    return (struct policy){.accepts_truncated = policy->accepts_truncated,
                           .says_uncalibrated = policy->says_uncalibrated,
                           .takes_uncalibrated = policy->takes_uncalibrated,
                           .learnt_grey = policy->learnt_grey};
}

bool policy_is_uncalibrated(const struct policy *policy)
{
    return policy->thresholds == NULL && policy->scores != SCORES_NONE;
}

bool policy_reviews_all(const struct policy *policy)
{
    return policy_is_uncalibrated(policy) && !policy->takes_uncalibrated;
}

/* ---- judging ---- */

/* Because of a label that scores below its threshold, or has none. */
static void send_to_review(const struct policy *policy, unsigned label, float score,
                           struct judgement *out)
{
    out->decision = DECISION_REVIEW;
    out->label = label;
    out->score = score;
    out->never = isnan(policy->thresholds[label]);
    out->threshold = out->never ? 0 : policy->thresholds[label];
}

/* Makes the last checks, of an answer that is automatic so far. */
static void judge_rest(const struct policy *policy, enum input_doubt doubt, struct judgement *out)
{
    if (out->decision == DECISION_AUTO && policy_reviews_all(policy)) {
        out->decision = DECISION_REVIEW;
        out->uncalibrated = true;
    }
    if (out->decision == DECISION_AUTO && doubt == DOUBT_TRUNCATED && !policy->accepts_truncated) {
        out->decision = DECISION_REVIEW;
        out->truncated = true;
    }
    if (out->decision == DECISION_AUTO && doubt == DOUBT_CHECKSUM && policy->thresholds != NULL) {
        out->decision = DECISION_REVIEW;
        out->other_checksum = true;
    }
}

void policy_judge(const struct policy *policy, const float *logits, const float *scores,
                  const float *features, enum input_doubt doubt, struct judgement *out)
{
    const bool has_ood = policy->ood.method != OOD_NONE;
    policy_judge_by(policy, scores, has_ood ? ood_score(&policy->ood, logits, features) : 0, doubt,
                    out);
}

void policy_judge_by(const struct policy *policy, const float *scores, float ood,
                     enum input_doubt doubt, struct judgement *out)
{
    *out = (struct judgement){.decision = DECISION_AUTO};
    if (policy->ood.method != OOD_NONE) {
        const float threshold = ood_threshold(&policy->ood, argmax(scores, policy->label_count));
        out->has_ood = true;
        out->ood_score = ood;
        out->has_rank = policy->ood.quantile_count > 0;
        if (out->has_rank)
            out->ood_rank = ood_rank(&policy->ood, ood);
        if (policy->ood.has_threshold && ood > threshold) {
            out->decision = DECISION_UNKNOWN;
            out->threshold = threshold;
        }
    }
    if (out->decision == DECISION_AUTO && doubt == DOUBT_COLOURED && policy->learnt_grey) {
        out->decision = DECISION_REVIEW;
        out->coloured = true;
    }
    if (out->decision == DECISION_AUTO && policy->thresholds != NULL) {
        /* One label may make the answer go to review. */
        unsigned best = argmax(scores, policy->label_count), unsure = policy->label_count;
        for (unsigned i = 0; i < policy->label_count; i++) {
            bool given = i == best || (policy->scores == SCORES_SIGMOID && scores[i] >= 0.5f);
            bool sure = scores[i] >= policy->thresholds[i]; /* no for NaN */
            if (given && !sure && (unsure == policy->label_count || scores[i] > scores[unsure]))
                unsure = i;
        }
        if (unsure < policy->label_count)
            send_to_review(policy, unsure, scores[unsure], out);
    }
    judge_rest(policy, doubt, out);
}

void policy_judge_spans(const struct policy *policy, const struct span *spans, unsigned count,
                        enum input_doubt doubt, struct judgement *out)
{
    const struct span *unsure = NULL;
    *out = (struct judgement){.decision = DECISION_AUTO};
    for (unsigned i = 0; policy->thresholds != NULL && i < count; i++)
        if ((spans[i].name == NULL || strcmp(spans[i].name, "O") != 0) &&
            !(spans[i].score >= policy->thresholds[spans[i].label]) && /* so for NaN */
            (unsure == NULL || spans[i].score > unsure->score))
            unsure = &spans[i];
    if (unsure != NULL)
        send_to_review(policy, unsure->label, unsure->score, out);
    judge_rest(policy, doubt, out);
}

void policy_judge_text(const struct policy *policy, float confidence, enum input_doubt doubt,
                       struct judgement *out)
{
    *out = (struct judgement){.decision = DECISION_AUTO};
    if (doubt == DOUBT_COLOURED && policy->learnt_grey) {
        out->decision = DECISION_REVIEW;
        out->coloured = true;
    } else if (policy->thresholds != NULL && !(confidence >= policy->thresholds[0])) {
        send_to_review(policy, 0, confidence, out);
    }
    judge_rest(policy, doubt, out);
}

float policy_confidence(const struct policy *policy, float sum)
{
    const double p = exp((double)sum < 0 ? (double)sum : 0);
    const struct confidence *by = &policy->confidence;
    if (by->scale == 0)
        return (float)p;
    if (p <= 0 || p >= 1)
        return p > 0;
    return (float)(1 / (1 + exp(-((double)by->scale * log(p / (1 - p)) + (double)by->shift))));
}
