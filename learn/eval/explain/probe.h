/* probe.h - a model's answers for many inputs with removed parts, run in packed batches.
 *
 *     probe_open(&probe, model, threads, &err);
 *     probe_take(&probe, &parts, label, &err);
 *     struct scorer scorer = probe_scorer(&probe);
 *     scorer.ask(scorer.context, kept, &score);       // any number of times
 *     scorer.flush(scorer.context);                   // now score is there
 *     probe_close(&probe);
 *
 * The model is called through struct scorer, so that a measure of explanations can be tested on a
 * function whose relevance is known.
 *
 * Threads: one at a time; the session has its own.
 */
#ifndef ATTND_LEARN_EVAL_EXPLAIN_PROBE_H
#define ATTND_LEARN_EVAL_EXPLAIN_PROBE_H

#include "engine/engine.h"
#include "learn/eval/explain/perturbation.h"

/* Scales for the score of one class. Probabilities saturate: if an answer is near 1, many parts can
 * be removed before it changes. Log-odds do not saturate. */
enum score_scale { SCORE_PROBABILITY, SCORE_LOG_ODDS, SCORE_SCALES };

struct score {
    double on[SCORE_SCALES];
};

struct scorer {
    /* *out is the score of what is kept, once flush has returned. kept is read at once. */
    void (*ask)(void *context, const bool *kept, struct score *out);
    void (*flush)(void *context);
    void *context;
};

enum { PROBE_ROWS = 64 };

struct probe {
    const struct engine_model *model;
    struct engine_session *session;
    unsigned tokens_max; /* of a batch */
    float *logits;       /* [PROBE_ROWS][labels] */
    float *scores;       /* [labels] */

    /* of the input taken */
    const struct perturbation *parts;
    unsigned label;

    /* asked and not yet run */
    char *rooms; /* [PROBE_ROWS][room_bytes] */
    size_t room_bytes, rooms_bytes;
    unsigned rows, tokens;
    struct engine_input inputs[PROBE_ROWS];
    struct score *out[PROBE_ROWS];
};

/* Close it in any case. */
enum err_code probe_open(struct probe *out, const struct engine_model *model, unsigned threads,
                         struct err *err);
void probe_close(struct probe *probe);

/* Sets the input and the class of the following requests; both are borrowed. ERR_NO_MEMORY. */
enum err_code probe_take(struct probe *probe, const struct perturbation *parts, unsigned label,
                         struct err *err);
struct scorer probe_scorer(struct probe *probe);

/* Runs the whole input alone and at once, with its capture if it has one. The result is the
 * encoder's, as for inputs with removed parts: the evidence of a table of n-grams is left out,
 * since it has explanations of its own. */
void probe_run(struct probe *probe, const struct engine_input *input, struct engine_result *result);

/* Log-odds of a class, after the temperature. logits [labels]. */
double probe_log_odds(const struct engine_model *model, const float *logits, unsigned label);

#endif
