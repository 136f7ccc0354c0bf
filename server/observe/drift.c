#include "server/observe/drift.h"

#include "engine/base/clock.h"
#include "server/observe/drift_window.h"
#include "server/observe/version_table.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct drift {
    unsigned window;
    pthread_mutex_t lock;
    struct version_table windows; /* of the lock, as what lies in it */
};

enum err_code drift_open(struct drift **out, unsigned window, struct err *err)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return err_no_memory(err, sizeof **out);
    (*out)->window = window;
    (*out)->windows.bytes = drift_window_bytes(window);
    pthread_mutex_init(&(*out)->lock, NULL);
    return ERR_OK;
}

void drift_close(struct drift *drift)
{
    if (drift == NULL)
        return;
    version_table_clear(&drift->windows);
    pthread_mutex_destroy(&drift->lock);
    free(drift);
}

size_t drift_bytes(unsigned window)
{
    return sizeof(struct drift) + version_table_bytes(drift_window_bytes(window));
}

static uint32_t now_s(void)
{
    return (uint32_t)(clock_now_ns() / CLOCK_NS_PER_S);
}

/* Writes the bin of each kind; 0 of a kind that the reference lacks. */
static void find_bins(const struct drift_reference *reference, const struct answer_outcome *outcome,
                      uint8_t bins[DRIFT_KINDS])
{
    memset(bins, 0, DRIFT_KINDS * sizeof *bins);
    if (drift_reference_has(reference, DRIFT_VALUE)) {
        bins[DRIFT_VALUE] = (uint8_t)drift_reference_bin(reference, DRIFT_VALUE, outcome->number);
        return;
    }
    bins[DRIFT_LABEL] = (uint8_t)drift_reference_label_bin(reference, outcome->label_index);
    bins[DRIFT_SCORE] = (uint8_t)drift_reference_bin(reference, DRIFT_SCORE, outcome->number);
    bins[DRIFT_OOD] =
        (uint8_t)drift_reference_bin(reference, DRIFT_OOD, outcome->judgement->ood_score);
}

static void on_prediction(void *context, const struct prediction_record *record)
{
    struct drift *drift = context;
    if (record->err.code != ERR_OK || record->answer->info->reference == NULL)
        return;
    const struct answer *answer = record->answer;
    const struct drift_reference *reference = answer->info->reference;
    uint8_t bins[DRIFT_KINDS];
    const struct answer_outcome outcome = answer_outcome(answer->info, &answer->result);
    if (outcome.number_name == NULL)
        return;
    find_bins(reference, &outcome, bins);
    pthread_mutex_lock(&drift->lock);
    struct drift_window *window = version_table_take(&drift->windows, answer->model_name,
                                                     answer->model_version, reference->digest);
    if (window != NULL) { /* without memory the prediction is not counted */
        window->size = drift->window;
        drift_window_put(window, bins, now_s());
    }
    pthread_mutex_unlock(&drift->lock);
}

struct observer drift_observer(struct drift *drift)
{
    return (struct observer){.context = drift, .prediction = on_prediction};
}

bool drift_read(struct drift *drift, const char *model, const struct engine_info *info,
                struct drift_figures *out)
{
    const struct drift_reference *reference = info->reference;
    *out = (struct drift_figures){0};
    if (reference == NULL)
        return false;
    out->is_number = drift_reference_has(reference, DRIFT_VALUE);
    pthread_mutex_lock(&drift->lock);
    struct drift_window *window =
        version_table_find(&drift->windows, model, info->version, reference->digest);
    if (window != NULL) {
        drift_window_forget(window, now_s());
        out->count = window->count;
        out->has_psi = out->count >= DRIFT_LEAST;
        for (enum drift_kind kind = 0; out->has_psi && kind < DRIFT_KINDS; kind++)
            if (drift_reference_has(reference, kind))
                out->psi[kind] = psi_excess(window->counts[kind], &reference->psi[kind]);
    }
    pthread_mutex_unlock(&drift->lock);
    return true;
}
