#include "server/observe/drift.h"

#include "engine/base/clock.h"
#include "server/observe/drift_window.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 256 }; /* of a name and a version, about */

struct version {
    uint64_t digest; /* of its reference */
    uint64_t used;   /* the number of its last prediction */
    const char *model, *version;
    struct drift_window *window;
};

struct drift {
    unsigned window;
    pthread_mutex_t lock; /* of what follows */
    struct version *versions[DRIFT_MODELS_MAX];
    unsigned version_count;
    uint64_t predictions;
};

enum err_code drift_open(struct drift **out, unsigned window, struct err *err)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return err_no_memory(err, sizeof **out);
    (*out)->window = window;
    pthread_mutex_init(&(*out)->lock, NULL);
    return ERR_OK;
}

void drift_close(struct drift *drift)
{
    if (drift == NULL)
        return;
    for (unsigned i = 0; i < drift->version_count; i++)
        free(drift->versions[i]);
    pthread_mutex_destroy(&drift->lock);
    free(drift);
}

size_t drift_bytes(unsigned window)
{
    return sizeof(struct drift) +
           DRIFT_MODELS_MAX * (sizeof(struct version) + NAME_BYTES + drift_window_bytes(window));
}

/* ---- windows ---- */

static const char *version_text(const char *version)
{
    return version != NULL ? version : "";
}

static struct version *find_locked(const struct drift *drift, const char *model,
                                   const char *version, uint64_t digest)
{
    for (unsigned i = 0; i < drift->version_count; i++) {
        struct version *found = drift->versions[i];
        if (found->digest == digest && strcmp(found->model, model) == 0 &&
            strcmp(found->version, version_text(version)) == 0)
            return found;
    }
    return NULL;
}

/* A free place, or that of the version which was longest without a prediction. */
static struct version **place_locked(struct drift *drift)
{
    unsigned oldest = 0;
    if (drift->version_count < DRIFT_MODELS_MAX)
        return &drift->versions[drift->version_count++];
    for (unsigned i = 1; i < DRIFT_MODELS_MAX; i++)
        if (drift->versions[i]->used < drift->versions[oldest]->used)
            oldest = i;
    free(drift->versions[oldest]);
    return &drift->versions[oldest];
}

/* The version, its names and its window in one piece. NULL without memory: the prediction is not
 * counted. */
static struct version *add_locked(struct drift *drift, const char *model, const char *version,
                                  uint64_t digest)
{
    const size_t model_bytes = strlen(model) + 1, version_bytes = strlen(version_text(version)) + 1;
    const size_t window_bytes = drift_window_bytes(drift->window);
    struct version *added = calloc(1, sizeof *added + window_bytes + model_bytes + version_bytes);
    if (added == NULL)
        return NULL;
    char *names = (char *)(added + 1) + window_bytes;
    added->digest = digest;
    added->window = (struct drift_window *)(added + 1);
    added->window->size = drift->window;
    added->model = memcpy(names, model, model_bytes);
    added->version = memcpy(names + model_bytes, version_text(version), version_bytes);
    *place_locked(drift) = added;
    return added;
}

static uint32_t now_s(void)
{
    return (uint32_t)(clock_now_ns() / CLOCK_NS_PER_S);
}

static void on_prediction(void *context, const struct prediction_record *record)
{
    struct drift *drift = context;
    if (record->err.code != ERR_OK || record->answer->info->reference == NULL)
        return;
    const struct answer *answer = record->answer;
    const struct drift_reference *reference = answer->info->reference;
    const uint8_t bins[DRIFT_KINDS] = {
        [DRIFT_LABEL] = (uint8_t)drift_reference_label_bin(reference, record->label),
        [DRIFT_SCORE] =
            (uint8_t)drift_reference_bin(reference, DRIFT_SCORE, answer->scores[record->label]),
        [DRIFT_OOD] =
            (uint8_t)drift_reference_bin(reference, DRIFT_OOD, answer->judgement.ood_score)};
    pthread_mutex_lock(&drift->lock);
    struct version *version =
        find_locked(drift, answer->model_name, answer->model_version, reference->digest);
    if (version == NULL)
        version = add_locked(drift, answer->model_name, answer->model_version, reference->digest);
    if (version != NULL) {
        version->used = ++drift->predictions;
        drift_window_put(version->window, bins, now_s());
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
    pthread_mutex_lock(&drift->lock);
    struct version *version = find_locked(drift, model, info->version, reference->digest);
    if (version != NULL) {
        drift_window_forget(version->window, now_s());
        out->count = version->window->count;
        out->has_psi = out->count >= DRIFT_LEAST;
        for (int kind = 0; out->has_psi && kind < DRIFT_KINDS; kind++)
            out->psi[kind] = psi_excess(version->window->counts[kind], &reference->psi[kind]);
    }
    pthread_mutex_unlock(&drift->lock);
    return true;
}
