/* writing_assessment.h - how well a model writes texts: exact matches, edits, chrF and BLEU beside
 * the right texts of a data set.
 *
 *     writing_assessment_take(&texts, model, &dataset, "validation.jsonl", 0.95, &err);
 *     writing_assessment_run(&texts, &options, &err);
 *     ... texts.scores.exact, texts.intervals.chrf ...
 *     writing_assessment_close(&texts);
 *
 * The texts are those that the server gives. Where none obeys the rules of the options, the empty
 * text counts. Threads: one at a time. */
#ifndef ATTND_LEARN_EVAL_TEXTS_WRITING_ASSESSMENT_H
#define ATTND_LEARN_EVAL_TEXTS_WRITING_ASSESSMENT_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/decide/policy.h"
#include "engine/statistics/statistics.h"
#include "learn/eval/measure/evaluation.h"
#include "learn/eval/measure/selective.h"

#include <stddef.h>
#include <stdint.h>

/* ---- text scores ---- */

/* How near written texts are to the right ones: exact matches, edits, chrF, BLEU.
 *
 *     struct text_counts sum = {0}, one;
 *     text_counts_take(&one, written, written_len, right, right_len, &scratch, &err);
 *     text_counts_add(&sum, &one);                                  for each text
 *     struct text_scores scores = text_scores_of(&sum);
 *
 * chrF and BLEU are those of a whole set, from sums of counts, and equal sacrebleu's (2.6, its
 * defaults): Popovic 2015, "chrF: character n-gram F-score", with 1 to 6 characters, recall counted
 * beta = 2 times, no white space; Papineni et al. 2002, "BLEU", with 1 to 4 words (bleu_tokens.h),
 * a precision without a match smoothed as NIST does. Texts of fewer than four words in all have no
 * BLEU: it is 0. Threads: plain data; pure functions. */

#define TEXT_SCORES_CHRF "chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no"
#define TEXT_SCORES_BLEU "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp"

enum { CHRF_ORDERS = 6, BLEU_ORDERS = 4 };

/* Sequences of n characters or words: of the written text, of the right one, in both. */
struct ngram_count {
    size_t written, right, both;
};

/* All members are counts, so that those of several texts can be added. */
struct text_counts {
    size_t texts, exact;
    size_t edits;      /* characters put in, taken out or replaced to make the right text */
    size_t characters; /* of the right text */
    struct ngram_count characters_of[CHRF_ORDERS]; /* both 0 where the right text has none */
    struct ngram_count words_of[BLEU_ORDERS];
};

/* Compares two texts, UTF-8. ERR_NO_MEMORY. Cost: the product of the lengths of what differs, for
 * the edits. */
enum err_code text_counts_take(struct text_counts *out, const char *written, size_t written_len,
                               const char *right, size_t right_len, struct arena *scratch,
                               struct err *err);
void text_counts_add(struct text_counts *sum, const struct text_counts *one);

struct text_scores {
    double exact;         /* share of the texts that are the right ones */
    double edit_distance; /* mean edits of a text */
    double error_rate;    /* edits over the right texts' characters (CER); NaN: they have none */
    double chrf, bleu;    /* 0 to 100 */
};
struct text_scores text_scores_of(const struct text_counts *sum);

/* 95 % intervals: Wilson's of the share, the others by a percentile bootstrap over texts. */
struct text_intervals {
    struct interval exact, edit_distance, error_rate, chrf, bleu;
};

/* counts: [count] of each text. The same seed gives the same intervals. ERR_NO_MEMORY. */
enum err_code text_scores_intervals(struct text_intervals *out, const struct text_counts *counts,
                                    size_t count, uint64_t seed, struct err *err);

/* ---- text confidence ---- */

/* How often written texts are right, by their confidence: Platt's scaling, the threshold from which
 * on texts are automatic, and attnd.json with both.
 *
 *     struct text_findings findings = {.target_precision = 0.95};
 *     text_findings_measure(&findings, answers, count, unwritten, &err);
 *     text_findings_write(dir, &findings, NULL, &err);
 *
 * A text is right if it is the wanted one to the last character. Figures are measured three times,
 * as those of classes are (measure/findings.h): `served` by the checkpoint's own attnd.json;
 * `fitted` on the same texts, which is what is written; `crossed`, each fifth of the texts by what
 * the other four give, an estimate for new ones. Threads: plain data, pure functions. */

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

/* ---- the assessment ---- */

/* A text that is not the right one. */
struct writing_mistake {
    size_t item;
    const char *written; /* [len] */
    size_t len, edits;
};

enum { WRITING_MISTAKES_MAX = 50 };

struct writing_assessment {
    const struct engine_model *model; /* as the data set borrowed */
    const struct dataset *dataset;
    const char *data_path; /* name of the data in errors and reports */
    struct evaluation evaluation;
    struct text_counts *counts; /* [counted] of the texts that were written */
    size_t counted;
    struct text_scores scores;
    struct text_intervals intervals;
    struct text_answer *answers; /* [answer_count] of the inputs that have a text */
    size_t answer_count;
    struct text_findings findings;
    size_t truncated;                                      /* inputs that were cut */
    size_t unwritten;                                      /* of which no text obeys the rules */
    struct writing_mistake mistakes[WRITING_MISTAKES_MAX]; /* [mistake_count] the first ones */
    unsigned mistake_count;
    struct arena arena;
};

/* The data set's labels are the right texts. target_precision: of the texts that shall be
 * automatic, above 0 to 1. ERR_NO_MEMORY. Close it in any case. */
enum err_code writing_assessment_take(struct writing_assessment *out,
                                      const struct engine_model *model,
                                      const struct dataset *dataset, const char *data_path,
                                      double target_precision, struct err *err);
/* Runs the model and measures. As evaluation_run. */
enum err_code writing_assessment_run(struct writing_assessment *assessment,
                                     const struct evaluation_options *options, struct err *err);
void writing_assessment_close(struct writing_assessment *assessment);

#endif
