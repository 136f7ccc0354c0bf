/* text_confidence.h - how often written texts are right, by their confidence: Platt's scaling, the
 * threshold from which on texts are automatic, and attnd.json with both.
 *
 *     struct text_findings findings = {.target_precision = 0.95};
 *     text_findings_measure(&findings, answers, count, unwritten, &err);
 *     text_findings_write(dir, &findings, NULL, &err);
 *
 * A text is right if it is the wanted one to the last character. Figures are measured three times,
 * as those of classes are (measure/findings.h): `served` by the checkpoint's own attnd.json;
 * `fitted` on the same texts, which is what is written; `crossed`, each fifth of the texts by what
 * the other four give, an estimate for new ones. Threads: plain data, pure functions.
 */
#ifndef ATTND_LEARN_EVAL_TEXTS_TEXT_CONFIDENCE_H
#define ATTND_LEARN_EVAL_TEXTS_TEXT_CONFIDENCE_H

#include "engine/decide/policy.h"
#include "learn/eval/measure/selective.h"

/* A text that was written. */
struct text_answer {
    float log_probability, confidence; /* engine_text's; the second as served */
    bool is_right;
    size_t item;
};

/* *scale and *shift <- those of policy.h's struct confidence with the largest likelihood of
 * answers[count], by Platt's targets: (R + 1) / (R + 2) for each of R right texts, 1 / (W + 2) for
 * each of W wrong ones. Texts of probability 0 or 1, which no scaling moves, do not count. False:
 * there is none that attnd.json takes: all are right, or all wrong, or the likelier texts are the
 * wrong ones. Cost: some ten passes over the answers. */
bool text_confidence_fit(double *scale, double *shift, const struct text_answer *answers,
                         size_t count);

struct text_figures {
    struct confidence by;                 /* zeros: the probability itself; of `fitted` alone */
    double ece;                           /* of all texts */
    struct selective_decisions decisions; /* of all inputs */
};

struct text_findings {
    double target_precision;    /* above 0, at most 1 */
    struct text_figures served; /* its decisions are the caller's to count */
    struct text_figures fitted, crossed;
    struct selective_threshold threshold; /* of `fitted`: selective_thresholds */
    bool has_crossed;                     /* enough texts for folds */
};

/* answers: [count], in any order. unwritten: inputs without a text, which are never automatic.
 * ERR_NO_MEMORY. */
enum err_code text_findings_measure(struct text_findings *findings,
                                    const struct text_answer *answers, size_t count,
                                    size_t unwritten, struct err *err);

/* Replaces confidence, threshold and target_precision of DIR/attnd.json, and its checksum by the
 * name of the one that the texts were written by; NULL: it stays, as the rest does. Without a
 * reachable threshold it says that no text is automatic. As attnd_json_write and pair_spec_read. */
enum err_code text_findings_write(const char *dir, const struct text_findings *findings,
                                  const char *checksum, struct err *err);

#endif
