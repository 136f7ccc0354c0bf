#include "server/observe/label_shares.h"

#include "engine/decide/class_prior.h"
#include "server/observe/version_table.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define UNSEEN 0.5 /* an input of each label, as class_prior.h has it */

struct sums {
    uint64_t count;
    double mass; /* of what is in `of`; 0: nothing yet */
    double of[LABEL_SHARES_LABELS];
};

struct label_shares {
    pthread_mutex_t lock;
    struct version_table sums; /* of the lock, as what lies in it */
};

enum err_code label_shares_open(struct label_shares **out, struct err *err)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return err_no_memory(err, sizeof **out);
    (*out)->sums.bytes = sizeof(struct sums);
    pthread_mutex_init(&(*out)->lock, NULL);
    return ERR_OK;
}

void label_shares_close(struct label_shares *shares)
{
    if (shares == NULL)
        return;
    version_table_clear(&shares->sums);
    pthread_mutex_destroy(&shares->lock);
    free(shares);
}

size_t label_shares_bytes(void)
{
    return sizeof(struct label_shares) + version_table_bytes(sizeof(struct sums));
}

/* ---- which models ---- */

static bool is_estimated(const struct engine_info *info)
{
    const bool gives_one_of_its_own =
        strcmp(info->scores, "softmax") == 0 && !info->has_given_labels;
    return gives_one_of_its_own && info->label_count <= LABEL_SHARES_LABELS &&
           info->class_prior != NULL && info->class_prior->assumed != NULL;
}

/* FNV-1a over the labels, each with its end. */
static uint64_t digest_of(const struct engine_info *info)
{
    uint64_t digest = 0xcbf29ce484222325;
    for (unsigned c = 0; c < info->label_count; c++)
        for (const char *at = info->labels[c];; at++) {
            digest = (digest ^ (unsigned char)*at) * 0x100000001b3;
            if (*at == '\0')
                break;
        }
    return digest;
}

/* ---- the estimate ---- */

static double share_of(const struct sums *sums, unsigned label, unsigned labels)
{
    return (sums->of[label] + UNSEEN) / (sums->mass + UNSEEN * labels);
}

/* expected [labels], above 0. */
static void put(struct sums *sums, const float *scores, const double *expected, unsigned labels)
{
    const double kept = 1 - 1.0 / LABEL_SHARES_WINDOW;
    double parts[LABEL_SHARES_LABELS], sum = 0;
    if (sums->mass == 0)
        for (unsigned c = 0; c < labels; c++)
            sums->of[c] = LABEL_SHARES_START * expected[c];
    sums->mass += sums->mass == 0 ? LABEL_SHARES_START : 0;
    for (unsigned c = 0; c < labels; c++) {
        parts[c] = (double)scores[c] * share_of(sums, c, labels) / expected[c];
        sum += parts[c];
    }
    if (sums->mass >= LABEL_SHARES_WINDOW) { /* older inputs weigh less */
        sums->mass *= kept;
        for (unsigned c = 0; c < labels; c++)
            sums->of[c] *= kept;
    }
    for (unsigned c = 0; c < labels; c++)
        sums->of[c] += parts[c] / sum; /* scores are finite, and one is at least 1 / labels */
    sums->mass++;
    sums->count++;
}

static void on_prediction(void *context, const struct prediction_record *record)
{
    struct label_shares *shares = context;
    const struct answer *answer = record->answer;
    if (record->err.code != ERR_OK || !is_estimated(answer->info))
        return;
    const struct engine_info *info = answer->info;
    const struct answer_outcome outcome = answer_outcome(info, &answer->result);
    if (outcome.label == NULL || outcome.judgement->decision == DECISION_UNKNOWN)
        return;
    const uint64_t digest = digest_of(info);
    pthread_mutex_lock(&shares->lock);
    struct sums *sums =
        version_table_take(&shares->sums, answer->model_name, answer->model_version, digest);
    if (sums != NULL) /* without memory the prediction is not counted */
        put(sums, answer->result.scores, info->class_prior->assumed, info->label_count);
    pthread_mutex_unlock(&shares->lock);
}

struct observer label_shares_observer(struct label_shares *shares)
{
    return (struct observer){.context = shares, .prediction = on_prediction};
}

bool label_shares_read(struct label_shares *shares, const char *model,
                       const struct engine_info *info, struct label_shares_figures *out)
{
    *out = (struct label_shares_figures){0};
    if (!is_estimated(info))
        return false;
    out->expected = info->class_prior->assumed;
    pthread_mutex_lock(&shares->lock);
    const struct sums *sums =
        version_table_find(&shares->sums, model, info->version, digest_of(info));
    if (sums != NULL) {
        out->count = sums->count;
        out->has_estimate = out->count >= LABEL_SHARES_LEAST;
        for (unsigned c = 0; c < info->label_count; c++)
            out->estimated[c] = share_of(sums, c, info->label_count);
    }
    pthread_mutex_unlock(&shares->lock);
    return true;
}
