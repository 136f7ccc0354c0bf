#include "learn/eval/explain/probe.h"

#include "engine/decide/class_prior.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_TOKENS = 1024 };

enum err_code probe_open(struct probe *out, const struct engine_model *model, unsigned threads,
                         struct err *err)
{
    const struct engine_info *info = engine_describe(model);
    unsigned longest = info->tokens_max;
    *out = (struct probe){.model = model};
    out->tokens_max = longest > BATCH_TOKENS ? longest : BATCH_TOKENS;
    out->logits = calloc(info->label_count, PROBE_ROWS * sizeof *out->logits);
    out->scores = calloc(info->label_count, sizeof *out->scores);
    if (out->logits == NULL || out->scores == NULL)
        return err_no_memory(err, info->label_count * PROBE_ROWS * sizeof *out->logits);
    return engine_session_open(&out->session, model, out->tokens_max, threads, err);
}

void probe_close(struct probe *probe)
{
    engine_session_close(probe->session);
    free(probe->logits);
    free(probe->scores);
    free(probe->rooms);
    *probe = (struct probe){0};
}

enum err_code probe_take(struct probe *probe, const struct perturbation *parts, unsigned label,
                         struct err *err)
{
    size_t bytes = (perturbation_bytes(parts) + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT;
    probe->parts = parts;
    probe->label = label;
    probe->room_bytes = bytes * ARENA_ALIGNMENT;
    if (PROBE_ROWS * probe->room_bytes <= probe->rooms_bytes)
        return ERR_OK;
    free(probe->rooms);
    probe->rooms_bytes = PROBE_ROWS * probe->room_bytes;
    probe->rooms = aligned_alloc(ARENA_ALIGNMENT, probe->rooms_bytes);
    if (probe->rooms != NULL)
        return ERR_OK;
    size_t wanted = probe->rooms_bytes;
    probe->rooms_bytes = 0;
    return err_no_memory(err, wanted);
}

/* ---- scores ---- */

/* The softmax exponent of a label: its logit over the temperature, plus the prior's shift. */
static double exponent_of(const struct engine_info *info, const float *logits, unsigned label)
{
    const float *shifts = info->class_prior->shifts;
    return (double)logits[label] / info->temperature + (shifts != NULL ? (double)shifts[label] : 0);
}

/* Softmax: log p - log (1 - p) = z_c - log sum_(i != c) e^(z_i), z the logits over the temperature
 * plus the shift of the class prior. Computing it from the probability would fail if that rounds to
 * 1. Sigmoid: z_c. */
double probe_log_odds(const struct engine_model *model, const float *logits, unsigned label)
{
    const struct engine_info *info = engine_describe(model);
    double largest = -INFINITY, sum = 0;
    if (strcmp(info->scores, "sigmoid") == 0 || info->label_count == 1)
        return (double)logits[label] / info->temperature;
    for (unsigned i = 0; i < info->label_count; i++)
        if (i != label)
            largest = fmax(largest, exponent_of(info, logits, i));
    for (unsigned i = 0; i < info->label_count; i++)
        sum += i != label ? exp(exponent_of(info, logits, i) - largest) : 0;
    return exponent_of(info, logits, label) - largest - log(sum);
}

/* ---- asking ---- */

static void flush(void *context)
{
    struct probe *probe = context;
    unsigned labels = engine_describe(probe->model)->label_count;
    const struct engine_input *inputs[PROBE_ROWS];
    struct engine_result results[PROBE_ROWS] = {0}, *listed[PROBE_ROWS];
    for (unsigned r = 0; r < probe->rows; r++) {
        inputs[r] = &probe->inputs[r];
        results[r].logits = probe->logits + (size_t)r * labels;
        listed[r] = &results[r];
    }
    if (probe->rows > 0)
        engine_run(probe->session, inputs, probe->rows, listed);
    for (unsigned r = 0; r < probe->rows; r++) {
        const float *logits = results[r].logits;
        engine_scores(probe->model, logits, probe->scores);
        probe->out[r]->on[SCORE_PROBABILITY] = (double)probe->scores[probe->label];
        probe->out[r]->on[SCORE_LOG_ODDS] = probe_log_odds(probe->model, logits, probe->label);
    }
    probe->rows = 0;
    probe->tokens = 0;
}

static void ask(void *context, const bool *kept, struct score *out)
{
    struct probe *probe = context;
    struct engine_input *input = &probe->inputs[probe->rows];
    if (probe->rows == PROBE_ROWS ||
        probe->tokens + probe->parts->input->tokens > probe->tokens_max) {
        flush(probe);
        input = &probe->inputs[0];
    }
    perturbation_keep(probe->parts, kept, probe->rooms + probe->rows * probe->room_bytes, input);
    probe->tokens += input->tokens;
    probe->out[probe->rows++] = out;
}

struct scorer probe_scorer(struct probe *probe)
{
    return (struct scorer){.ask = ask, .flush = flush, .context = probe};
}

void probe_run(struct probe *probe, const struct engine_input *input, struct engine_result *result)
{
    struct engine_input encoded = *input;
    encoded.evidence = NULL;
    engine_run(probe->session, (const struct engine_input *[]){&encoded}, 1, &result);
}
